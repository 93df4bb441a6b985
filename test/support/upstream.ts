/** Pools of real servers for tests: the fixtures, servers from npm, and ways to find what is left of them. */

import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { onTestFinished } from 'vitest';
import { type BridgeError, toBridgeError } from '../../src/core/base/errors.ts';
import { silentLogger } from '../../src/core/base/log.ts';
import {
  createUpstreamPool,
  type JsonObject,
  type ProcessDefinition,
  type RemoteDefinition,
  type UpstreamDefinition,
  type UpstreamPool,
  type UpstreamPoolOptions,
} from '../../src/edges/upstream/pool.ts';
import { pause } from './pause.ts';

const FIXTURES = join(import.meta.dirname, '..', 'fixtures', 'servers');
const require = createRequire(import.meta.url);
const FILE = '/home/me/MCPs/test.json';
const POLL_MS = 10;

/** A server of `test/fixtures/servers`. */
export function fixtureServer(file: string, ...args: string[]): Partial<ProcessDefinition> {
  return { command: process.execPath, args: [join(FIXTURES, `${file}.mjs`), ...args] };
}

/** A server among the devDependencies, for example `@modelcontextprotocol/server-memory`. */
export function npmServer(name: string, ...args: string[]): Partial<ProcessDefinition> {
  const manifest = require.resolve(`${name}/package.json`);
  const { bin } = JSON.parse(readFileSync(manifest, 'utf8')) as { bin: Record<string, string> };
  return { command: process.execPath, args: [join(dirname(manifest), Object.values(bin)[0] ?? ''), ...args] };
}

/** A definition without the members that all share. */
export type ServerSketch = Partial<ProcessDefinition> | RemoteSketch;
type RemoteSketch = Partial<RemoteDefinition> & { readonly url: string };

/** Definitions by name, as the configuration would contain them. */
export function definitions(servers: Readonly<Record<string, ServerSketch>>): Map<string, UpstreamDefinition> {
  return new Map(
    Object.entries(servers).map(([name, sketch]) => {
      const common = { name, timeoutMs: undefined, definitionHash: JSON.stringify(sketch), file: FILE };
      const definition: UpstreamDefinition = isRemote(sketch)
        ? { ...common, transport: 'auto' as const, headers: {}, ...sketch }
        : { ...common, command: '', args: [], env: {}, cwd: undefined, ...sketch };
      return [name, definition];
    }),
  );
}

function isRemote(sketch: ServerSketch): sketch is RemoteSketch {
  return sketch.url !== undefined;
}

/** A pool of these servers, closed when the test ends. */
export function startPool(
  servers: Readonly<Record<string, ServerSketch>>,
  options: Partial<UpstreamPoolOptions> = {},
): UpstreamPool {
  const pool = createUpstreamPool({ logger: silentLogger, ...options });
  pool.update(definitions(servers));
  onTestFinished(() => pool.close());
  return pool;
}

/** The first text in the result of a call. */
export async function callText(
  pool: UpstreamPool,
  server: string,
  tool: string,
  args: JsonObject = {},
): Promise<string> {
  const result = (await pool.callTool({ server, tool, arguments: args })) as { content: { text: string }[] };
  return result.content[0]?.text ?? '';
}

/** What a promise rejects with; fails if it resolves. The rejection counts as handled at once, so you may await it later. */
export function rejectionOf(promise: Promise<unknown>): Promise<unknown> {
  return promise.then(
    () => {
      throw new Error('expected a rejection');
    },
    (error: unknown) => error,
  );
}

/** Same, as a `BridgeError`. */
export async function failureOf(promise: Promise<unknown>): Promise<BridgeError> {
  return toBridgeError(await rejectionOf(promise));
}

/** Whether a process runs. A zombie does not. */
export function isRunning(pid: number): boolean {
  try {
    return !/^\d+ \(.*\) [ZX]/s.test(readFileSync(`/proc/${pid}/stat`, 'utf8'));
  } catch {
    return false;
  }
}

/** Resolves when `condition` holds. Only the timeout of the test limits the wait. */
export async function until(condition: () => boolean): Promise<void> {
  while (!condition()) {
    await pause(POLL_MS, 'poll interval');
  }
}
