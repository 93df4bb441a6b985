/** Index servers that companies run, from PyPI, on loopback. Each is installed once on each machine. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { createServer } from 'node:net';
import { onTestFinished } from 'vitest';
import { findPython } from '../tools/python.mjs';
import { pause } from './pause.ts';
import { installPythonPackages } from './python-packages.ts';

/** Pinned, so that a newer one is tried when someone asks for it. */
const REQUIREMENTS = {
  devpi: ['devpi-server==6.20.3'],
  pypiserver: ['pypiserver[passlib]==2.4.2'],
  proxpi: ['proxpi==1.3.1'],
  simpleindex: ['simpleindex==0.6.3'],
  'dumb-pypi': ['dumb-pypi==1.15.0'],
  /** The plain web server of Python. */
  none: [],
} as const;

export type IndexServer = keyof typeof REQUIREMENTS;

const START_TIMEOUT_MS = 60_000;

/** Runs a program of the server until it ends. Throws what it wrote if it fails. */
export async function runServerTool(server: IndexServer, args: readonly string[]): Promise<void> {
  const child = await begin(server, args, {});
  await once(child.process, 'close');
  if (child.process.exitCode !== 0) {
    throw new Error(`${server} ended with ${child.process.exitCode}: ${child.output()}`);
  }
}

/** Starts the server, with `PORT` in its arguments replaced. Returns its address. It ends with the test. */
export async function startIndexServer(
  server: IndexServer,
  args: readonly string[],
  env: Readonly<Record<string, string>> = {},
): Promise<string> {
  const port = await freePort();
  const { output, process: child } = await begin(
    server,
    args.map((one) => one.replace('PORT', String(port))),
    env,
  );
  onTestFinished(async () => {
    if (child.exitCode === null && child.signalCode === null) {
      child.kill('SIGKILL');
      await once(child, 'close');
    }
  });
  const place = `http://127.0.0.1:${port}`;
  for (const deadline = Date.now() + START_TIMEOUT_MS; ; ) {
    // biome-ignore lint/performance/noAwaitInLoops: until it answers.
    const answer = await fetch(`${place}/`).catch(() => undefined);
    if (answer !== undefined) {
      return place;
    }
    if (child.exitCode !== null || Date.now() > deadline) {
      throw new Error(`${server} did not start: ${output()}`);
    }
    await pause(100, 'a server in another language says nothing when it is ready');
  }
}

async function begin(server: IndexServer, args: readonly string[], env: Readonly<Record<string, string>>) {
  const requirements = REQUIREMENTS[server];
  const folder = requirements.length === 0 ? '' : await installPythonPackages(requirements);
  const child = spawn((await findPython()) ?? 'python3', [...args], {
    env: { ...process.env, PYTHONPATH: folder, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let text = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream.on('data', (chunk: Buffer) => {
      text = `${text}${chunk.toString('utf8')}`.slice(-4_000);
    });
  }
  return { process: child, output: () => text };
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  server.close();
  return port;
}
