/** The command `ui` as a user starts it, and requests to its API. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { CLI } from './bridge-client.ts';
import { PATIENCE } from './patience.ts';

const START_MS = 20_000 * PATIENCE;

export interface UiCommandRun {
  readonly address: string;
  /** The JSON of an answer; rejects for a status other than 200. */
  get(path: string): Promise<unknown>;
  post(path: string, body?: unknown): Promise<unknown>;
  remove(path: string): Promise<unknown>;
  /** Events from now on. */
  events(signal: AbortSignal): Promise<AsyncGenerator<Record<string, unknown>>>;
  /** Resolves with the exit code. */
  close(): Promise<number | null>;
}

/** Resolves when it listens. */
export async function startUiCommand(env: Readonly<Record<string, string>>): Promise<UiCommandRun> {
  const child = spawn(process.execPath, [CLI, 'ui', '--no-open'], { env: { PATH: process.env['PATH'], ...env } });
  const exited = once(child, 'exit') as Promise<[number | null]>;
  const address = await firstLine(child);
  const { hash, origin } = new URL(address);
  const headers = { Authorization: `Bearer ${hash.slice('#token='.length)}`, 'Content-Type': 'application/json' };
  const ask = async (method: string, path: string, body?: unknown): Promise<unknown> => {
    const init = { method, headers, ...(body !== undefined && { body: JSON.stringify(body) }) };
    const response = await fetch(origin + path, init);
    const json: unknown = await response.json();
    if (!response.ok) {
      throw new Error(`${response.status} ${JSON.stringify(json)}`);
    }
    return json;
  };
  return {
    address,
    get: (path) => ask('GET', path),
    post: (path, body) => ask('POST', path, body),
    remove: (path) => ask('DELETE', path),
    async events(signal) {
      const { body } = await fetch(`${origin}/api/events`, { headers, signal });
      return readEvents(body ?? new ReadableStream());
    },
    async close() {
      child.kill('SIGTERM');
      return (await exited)[0];
    },
  };
}

async function firstLine(child: ChildProcess): Promise<string> {
  let errors = '';
  child.stderr?.on('data', (chunk: Buffer) => {
    errors += chunk.toString();
  });
  const limit = AbortSignal.timeout(START_MS);
  return new Promise((resolve, reject) => {
    let out = '';
    child.stdout?.on('data', (chunk: Buffer) => {
      out += chunk.toString();
      if (out.includes('\n')) {
        resolve(out.split('\n')[0] ?? '');
      }
    });
    limit.addEventListener('abort', () => reject(new Error(`ui printed no address: ${errors}`)));
    child.once('exit', () => reject(new Error(`ui ended: ${errors}`)));
  });
}

async function* readEvents(body: ReadableStream<Uint8Array>): AsyncGenerator<Record<string, unknown>> {
  const decoder = new TextDecoder();
  let text = '';
  for await (const chunk of body as unknown as AsyncIterable<Uint8Array>) {
    const parts = (text + decoder.decode(chunk, { stream: true })).split('\n\n');
    text = parts.pop() ?? '';
    for (const part of parts.filter((each) => each.startsWith('data: '))) {
      yield JSON.parse(part.slice('data: '.length));
    }
  }
}
