/**
 * Runs the clients of the suite's scenarios: each in a separate process, a few at a time, each with the full time limit from
 * its start. Records how each one ended, which the suite does not report.
 */
import { spawn } from 'node:child_process';
import { createServer, type IncomingMessage } from 'node:http';
import { join } from 'node:path';
import { json, text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { limitConcurrency } from '../../src/core/base/limit-concurrency.ts';
import type { ClientEnd } from './judge.ts';

/** A client needs about a second, a login three. This limits one that hangs. */
const LIMIT_MS = 30_000;

interface ClientRunnerOptions {
  /** Folder for the socket of the runner. */
  readonly folder: string;
  /** The client program for Node. */
  readonly script: string;
  /** Maximum number of concurrent clients. */
  readonly parallel: number;
  /** How long one client may run; 30 s by default. */
  readonly limitMs?: number;
}

interface Request {
  readonly url: string;
  readonly scenario: string;
  readonly revision: string;
  readonly context?: string;
}

export interface ClientOutcome {
  readonly end: ClientEnd;
  readonly stderr: string;
}

export interface ClientRunner {
  /** A shell command. The suite appends the URL of its server. */
  readonly command: string;
  /** By revision and scenario, for example `2025-11-25 initialize`. */
  readonly outcomes: ReadonlyMap<string, ClientOutcome>;
  close(): void;
}

export async function createClientRunner(options: ClientRunnerOptions): Promise<ClientRunner> {
  const { folder, script, parallel, limitMs = LIMIT_MS } = options;
  const socketPath = join(folder, 'runner.sock');
  const outcomes = new Map<string, ClientOutcome>();
  const takeTurn = limitConcurrency(parallel);
  async function answer(request: IncomingMessage): Promise<number> {
    const asked = (await json(request)) as Request;
    const outcome = await takeTurn(() => runClient(script, asked, limitMs));
    outcomes.set(`${asked.revision} ${asked.scenario}`, outcome);
    return outcome.end.how === 'exited' ? outcome.end.exitCode : 1;
  }
  const server = createServer((request, response) => {
    answer(request).then(
      (exitCode) => response.end(String(exitCode)),
      (error: unknown) => response.destroy(error as Error),
    );
  });
  await new Promise<void>((resolve) => server.listen(socketPath, resolve));
  return {
    command: `${process.execPath} ${fileURLToPath(new URL('launch-client.mjs', import.meta.url))} ${socketPath}`,
    outcomes,
    close: () => server.close(),
  };
}

async function runClient(script: string, { url, scenario, context }: Request, limitMs: number): Promise<ClientOutcome> {
  const child = spawn(process.execPath, [script, url], {
    env: {
      ...process.env,
      MCP_CONFORMANCE_SCENARIO: scenario,
      ...(context === undefined ? {} : { MCP_CONFORMANCE_CONTEXT: context }),
    },
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  let timedOut = false;
  // oxlint-disable-next-line eslint/no-restricted-globals -- a time limit.
  const timer = setTimeout(() => {
    timedOut = true;
    child.kill('SIGKILL');
  }, limitMs);
  const [end, stderr] = await Promise.all([
    new Promise<ClientEnd>((resolve, reject) => {
      child.once('error', reject);
      child.once('close', (exitCode, signal) => {
        resolve(exitCode === null ? { how: 'killed', signal: String(signal) } : { how: 'exited', exitCode });
      });
    }),
    text(child.stderr),
  ]);
  clearTimeout(timer);
  return { end: timedOut ? { how: 'timed out', limitMs } : end, stderr };
}
