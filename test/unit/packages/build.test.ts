import { Readable, Writable } from 'node:stream';
import { expect, it } from 'vitest';
import { createDeferred } from '../../../src/core/base/deferred.ts';
import { BridgeError } from '../../../src/core/base/errors.ts';
import type { Engine, Sandbox, SandboxExit } from '../../../src/core/session/engine.ts';
import { runBuilder } from '../../../src/features/packages/build.ts';

/** An engine whose builder writes these lines, and then waits until it is killed. */
function engineThatWrites(...lines: readonly string[]): Engine {
  const exit = createDeferred<SandboxExit>();
  const sandbox: Sandbox = {
    id: 'builder',
    stdin: new Writable({ write: (_chunk, _encoding, done) => done() }),
    stdout: Readable.from(lines.map((line) => `${line}\n`)),
    stderr: new Readable({ read: () => undefined }),
    exited: exit.promise,
    kill: async () => exit.resolve({ exitCode: undefined, signal: 'SIGKILL' }),
  };
  return {
    name: 'podman',
    description: '',
    isolation: '',
    canBuild: true,
    prepare: async () => undefined,
    start: async () => sandbox,
    explainStartFailure: () => new BridgeError('ENGINE_FAILED', 'it did not start', {}),
    sweep: async () => 0,
  };
}

it.each([
  ['text', 'Traceback (most recent call last):'],
  ['a report of an unknown type', '{"type":"install","packages":[]}'],
  ['a choice of more packages than a set may have', JSON.stringify({ type: 'resolved', packages: tooMany() })],
  ['a path in the place of the id of a set', JSON.stringify({ ...doneReport(), set: '../../etc' })],
  [
    'a wheel whose name has an escape sequence',
    JSON.stringify({ ...doneReport(), packages: [wheel('\u001b[2J.whl')] }),
  ],
  ['a frame of a session', '{"type":"call","call":1,"method":"call_tool","params":{}}'],
])('ends a builder that writes %s, instead of waiting for it', async (_, line) => {
  const engine = engineThatWrites('{"type":"progress","stage":"resolve"}', line, JSON.stringify(doneReport()));
  await expect(runBuilder({ do: 'build' }, { engine, program: '', ending: 'done' })).rejects.toMatchObject({
    code: 'PACKAGE_UNAVAILABLE',
    message: 'the builder sent something that is not a report',
  });
});

function doneReport() {
  return { type: 'done', set: null, packages: [], fetched_bytes: 0, python: 'cpython-314 linux x86_64' };
}

function wheel(file: string) {
  return { name: 'a', version: '1', file, url: 'https://index.example/a.whl', sha256: 'a'.repeat(64) };
}

function tooMany() {
  return Array.from({ length: 501 }, (_, number) => ({ name: `a${number}`, version: '1', needed_by: [] }));
}
