// Tags: full, embedded-release
/** JavaScript programs on the embedded engine, in the real child process, in every layer that this machine has. */
import { once } from 'node:events';
import { readdirSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { text } from 'node:stream/consumers';
import { describe, expect, it } from 'vitest';
import type { Engine, SandboxLimits } from '../../../../src/core/session/engine.ts';
import { coverEngines } from '../../../support/covered-engines.ts';
import { coverSurroundings, embeddedEngine, pathWith } from '../../../support/embedded.ts';
import { processEnvironment, TEST_LIMITS } from '../../../support/engines.ts';
import { createCollector, jobLine, type ProgramOptions } from '../../../support/javascript-job.ts';
import { isAlive } from '../../../support/processes.ts';
import { clientsOf } from '../../../support/sandbox.ts';

const MEBIBYTE = 1024 * 1024;
const embedded = (await coverEngines()).find(({ label }) => label === 'embedded');
const surroundings = await coverSurroundings();

interface RunOptions extends ProgramOptions {
  readonly limits?: SandboxLimits;
}

function startProgram(engine: Engine, { limits }: RunOptions = {}) {
  return engine.start({ command: ['javascript'], session: 'test', program: { limits } });
}

/** Runs a program and waits until its sandbox has ended by itself. */
async function runProgram(engine: Engine, code: string, options: RunOptions = {}) {
  const sandbox = await startProgram(engine, options);
  const collector = createCollector((line) => sandbox.stdin.write(`${line}\n`), options);
  createInterface({ input: sandbox.stdout }).on('line', (line) => collector.add(line));
  sandbox.stdin.write(`${jobLine(code, options)}\n`);
  const [reports, exit] = await Promise.all([text(sandbox.stderr), sandbox.exited]);
  return { ...collector.output(), reports, exit };
}

describe.runIf(embedded !== undefined).each(surroundings)(
  'a JavaScript program $label',
  ({ commands, userId, words }) => {
    const start = () =>
      embeddedEngine({
        isBare: commands.length === 0,
        env: { ...processEnvironment(), ...(commands.length > 0 && { PATH: pathWith(commands, userId) }) },
      });

    it('runs with its files, arguments, stdin and servers, and leaves its files', async () => {
      const engine = start();
      const code = `
      import { readFileSync, writeFileSync } from 'node:fs';
      import { double } from './lib.mjs';
      const rows = JSON.parse(readFileSync('rows.json', 'utf8'));
      writeFileSync('sum.txt', String(rows.reduce((sum, row) => sum + double(row), 0)));
      console.log(process.argv.slice(2), readFileSync(0, 'utf8'), await mcp.github.createIssue({ title: 'x' }));
      console.error('to stderr');
      process.exitCode = 4;`;
      const files = { 'lib.mjs': 'export const double = (n) => 2 * n;', 'rows.json': '[1, 2, 3]' };
      const options = { files, args: ['a', 'b'], stdin: 'input', servers: ['github'], wantsFiles: true };
      expect(await runProgram(engine, code, options)).toMatchObject({
        stdout: "[ 'a', 'b' ] input { title: 'x' }\n",
        stderr: 'to stderr\n',
        exitCode: 4,
        files: { 'sum.txt': '12' },
        exit: { exitCode: 0 },
        reports: expect.stringMatching(
          /^\{"report":"started","memory_limit_bytes":\d+,"pids_limit":null,"seccomp":false\}\n$/,
        ),
      });
      expect(engine.isolation).toContain(words);
    });

    it('makes 1,000 calls at once, and 10 MB of output', async () => {
      const code = `
      const numbers = await Promise.all(Array.from({ length: 1000 }, (_, id) => mcp.a.echo({ id })));
      process.stdout.write('x'.repeat(1e7));
      console.log(numbers.reduce((sum, { id }) => sum + id, 0));`;
      const { calls, exitCode, stdout } = await runProgram(start(), code, { servers: ['a'] });
      expect([calls.length, exitCode, stdout.length, stdout.slice(1e7)]).toEqual([1000, 0, 1e7 + 7, '499500\n']);
    });

    it('gets an error from deep recursion, native or not, and goes on', async () => {
      const code = `
      const direct = () => direct() + 1;
      const native = (value) => [value].map(native);
      const replaced = (value) => 'x'.replace('x', replaced);
      for (const recurse of [direct, native, replaced]) {
        try { recurse(1); } catch (error) { console.log(error.name); }
      }
      let nested = [];
      for (let level = 0; level < 100_000; level += 1) nested = [nested];
      try { JSON.stringify(nested); } catch (error) { console.log(error.name); }
      try { JSON.parse('['.repeat(1e6)); } catch (error) { console.log(error.name); }
      console.log('still here');`;
      const { stderr, stdout } = await runProgram(start(), code);
      expect(stderr).toBe('');
      expect(stdout).toMatch(/^(?:(?:Range|Internal|Syntax)Error\n){5}still here\n$/);
    });

    it('gets an error when its memory is used up', async () => {
      const code = `
      const kept = [];
      try { for (;;) kept.push(new Uint8Array(1e6).fill(1)); } catch (error) { console.log(error.message, kept.length); }`;
      const { stdout } = await runProgram(start(), code, { limits: { ...TEST_LIMITS, memoryBytes: 64 * MEBIBYTE } });
      const [, kept] = /^out of memory (\d+)\n$/.exec(stdout) ?? [];
      expect(Number(kept)).toBeGreaterThan(20);
      expect(Number(kept)).toBeLessThan(64);
    });

    it('finds nothing of Node, and nothing of this machine', async () => {
      const code = `
      import fs from 'node:fs';
      const probes = {
        constructor: () => (async () => {}).constructor('return typeof process.binding + typeof require.main')(),
        global: () => Function('return this')() === globalThis && typeof globalThis.WebAssembly,
        main: () => [typeof process.binding, typeof process.mainModule, typeof process.dlopen, process.pid],
        passwd: () => fs.readFileSync('/etc/passwd'),
        above: () => fs.readFileSync('../../../../etc/passwd'),
        built: () => fs.readFileSync('/embedded/javascript.cjs'),
        list: () => fs.readdirSync('/'),
        env: () => Object.keys(process.env),
        process: () => import('node:child_process'),
        threads: () => import('node:worker_threads'),
        host: () => import('/embedded/javascript.cjs'),
        data: () => import('data:text/javascript,export default 1'),
        fetch: () => fetch('http://127.0.0.1/'),
      };
      for (const [name, probe] of Object.entries(probes)) {
        try { console.log(name, await probe()); } catch (error) { console.log(name, 'failed:', error.message.slice(0, 40)); }
      }`;
      const { stdout } = await runProgram(start(), code);
      expect(stdout.split('\n')).toEqual([
        'constructor undefinedundefined',
        'global undefined',
        "main [ 'undefined', 'undefined', 'undefined', 1 ]",
        'passwd failed: ENOENT: no such file or directory, open ',
        'above failed: ENOENT: no such file or directory, open ',
        'built failed: ENOENT: no such file or directory, open ',
        "list [ 'tmp', 'workspace' ]",
        'env []',
        'process failed: The module node:child_process is not ava',
        'threads failed: The module node:worker_threads is not av',
        "host failed: Cannot find module '/embedded/javascript",
        'data failed: The package data:text/javascript,export ',
        'fetch failed: fetch is not available: a sandbox has no',
        '',
      ]);
    });

    it.each([
      ['computes forever', 'console.log("ready"); for (;;);'],
      ['computes forever in microtasks', 'console.log("ready"); const next = () => queueMicrotask(next); next();'],
      ['waits forever', 'console.log("ready"); setInterval(() => undefined, 1000);'],
      ['floods its output', 'for (;;) console.log("x".repeat(65536));'],
    ])('that %s ends at once when it is killed', async (_what, code) => {
      const sandbox = await startProgram(start());
      sandbox.stdin.write(`${jobLine(code)}\n`);
      await once(sandbox.stdout, 'readable');
      const clients = clientsOf(sandbox.id);
      await sandbox.kill();
      expect(clients.length).toBeGreaterThan(0);
      expect(clients.filter(isAlive)).toEqual([]);
    });

    it('that computes forever ends when the bridge is gone', async () => {
      const sandbox = await startProgram(start());
      sandbox.stdin.write(`${jobLine('console.log("ready"); for (;;);')}\n`);
      await once(sandbox.stdout, 'readable');
      sandbox.stdin.end();
      sandbox.stdout.resume();
      sandbox.stderr.resume();
      expect(await sandbox.exited).toEqual({ exitCode: 0, signal: undefined });
    });
  },
);

describe.runIf(embedded !== undefined)('the child for JavaScript', () => {
  it('reports why it cannot run, and sends no line', async () => {
    const sandbox = await startProgram(embeddedEngine({ isBare: true }));
    sandbox.stdin.write('{"type":"hello"}\n');
    const [stdout, stderr, exit] = await Promise.all([text(sandbox.stdout), text(sandbox.stderr), sandbox.exited]);
    expect([stdout, exit.exitCode]).toEqual(['', 70]);
    expect(stderr).toContain('"cause":"failed","exit_code":null,"signal":null,"detail":"the first line is not a job"');
  });

  it('leaves nothing in its folder', () => {
    const folder = new URL('../../../../dist/embedded/', import.meta.url);
    expect(readdirSync(folder).filter((name) => /javascript|quickjs/.test(name))).toEqual([
      'javascript-guest.bytecode',
      'javascript.cjs',
      'quickjs.wasm',
    ]);
  });
});
