// Tags: full, user, embedded-release
/** What only the embedded engine must guarantee. It also runs the tests of all engines that send frames. */
import { once } from 'node:events';
import { appendFileSync, readFileSync, rmSync } from 'node:fs';
import { createServer } from 'node:net';
import { homedir, tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { describe, expect, it, onTestFinished } from 'vitest';
import type { BridgeError } from '../../../src/core/base/errors.ts';
import type { Engine } from '../../../src/core/session/engine.ts';
import { openPipe } from '../../../src/edges/engines/client.ts';
import { chooseSurroundings, readMachine } from '../../../src/edges/engines/embedded/layers.ts';
import { coverEngines } from '../../support/covered-engines.ts';
import {
  copyOfBuilt,
  coverSurroundings,
  embeddedEngine,
  folderWithProgram,
  nodeWith,
  pathWith,
  pathWithScript,
} from '../../support/embedded.ts';
import { processEnvironment, testEngine } from '../../support/engines.ts';
import { descendantsOf, isAlive } from '../../support/processes.ts';
import { clientsOf, firstOutput, startOwner } from '../../support/sandbox.ts';
import { createHarness, errorText } from '../../support/session-harness.ts';
import { expectAnswersWhenFull } from '../session/full-memory.ts';

const READY = 'process.stdout.write("ready\\n");';
const DEAF = `${READY} setInterval(() => undefined, 1000);`;

const embedded = (await coverEngines()).find(({ label }) => label === 'embedded');
const surroundings = await coverSurroundings();

/** Starts a sandbox and waits for its end. Returns its output and the engine's explanation. */
async function startToEnd(engine: Engine): Promise<{ said: string; error: BridgeError }> {
  const sandbox = await engine.start({ command: [], session: 'test' });
  sandbox.stdin.write('hello\n');
  const [said, stderr, exit] = await Promise.all([text(sandbox.stdout), text(sandbox.stderr), sandbox.exited]);
  return { said, error: engine.explainStartFailure(sandbox, exit, stderr) };
}

async function startDeaf(source = DEAF) {
  const engine = embeddedEngine({ folder: folderWithProgram(source) });
  const sandbox = await engine.start({ command: [], session: 'test' });
  await firstOutput(sandbox);
  const [client = 0] = clientsOf(sandbox.id);
  return { sandbox, processes: [client, ...descendantsOf(client)] };
}

describe('a child that does not start', () => {
  it('because of a damaged file is sent nothing, and the error names the file', async () => {
    const folder = folderWithProgram('process.stdin.pipe(process.stdout);');
    appendFileSync(join(folder, 'child.cjs'), '// damaged');
    const { said, error } = await startToEnd(embeddedEngine({ folder }));
    expect(said).toBe('');
    expect(error).toMatchObject({
      code: 'ENGINE_UNAVAILABLE',
      message: 'the files of the embedded engine are damaged: child.cjs differs from the build (SHA-256 mismatch)',
      data: { retryNow: false },
    });
  });

  it('because of missing files says how to get them', async () => {
    const folder = folderWithProgram('');
    rmSync(join(folder, 'manifest.json'));
    await expect(embeddedEngine({ folder }).start({ command: [], session: 'test' })).rejects.toMatchObject({
      code: 'ENGINE_UNAVAILABLE',
      hint: expect.stringContaining('npm run build'),
    });
  });

  it('because it dies is tried without each layer, and the error quotes its stderr', async () => {
    const engine = embeddedEngine({ folder: folderWithProgram('console.error("no luck"); process.exit(3);') });
    const rounds = [];
    for (let retryNow: unknown = true; retryNow === true; retryNow = rounds.at(-1)?.data['retryNow']) {
      rounds.push((await startToEnd(engine)).error);
    }
    expect(rounds.at(-1)?.message).toBe('the embedded engine did not start (exit code 3): no luck');
    expect(engine.isolation).toContain('without an operating-system sandbox around it');
    expect(engine.description).toContain('no luck');
  });

  it('because it hangs is killed, and the error says so', async () => {
    const folder = folderWithProgram('setInterval(() => undefined, 1000);');
    const { error } = await startToEnd(embeddedEngine({ folder, silenceLimitMs: 500 }));
    expect(error).toMatchObject({
      code: 'ENGINE_FAILED',
      message: 'the embedded engine did not respond for 0.5 s and was killed: no error output',
    });
  });

  it.runIf(embedded !== undefined)('because Node has no WebAssembly is reported as that', async () => {
    const engine = embeddedEngine({ node: nodeWith('--jitless'), isBare: true });
    const harness = await createHarness({ engine });
    onTestFinished(() => harness.close());
    await expect(harness.run('1')).rejects.toMatchObject({
      code: 'ENGINE_UNAVAILABLE',
      message: expect.stringMatching(/^the embedded engine needs WebAssembly/),
    });
  });

  it.runIf(embedded !== undefined)('because of a damaged interpreter is reported in the answer', async () => {
    const folder = copyOfBuilt();
    appendFileSync(join(folder, 'python.wasm'), 'damaged');
    const harness = await createHarness({ engine: embeddedEngine({ folder }) });
    onTestFinished(() => harness.close());
    await expect(harness.run('1')).rejects.toMatchObject({
      code: 'ENGINE_UNAVAILABLE',
      message: expect.stringContaining('python.wasm differs from the build'),
      hint: expect.stringContaining('npm run build'),
    });
  });
});

describe('a child that misbehaves later', () => {
  it.each([
    ['ignores the end of its input', DEAF],
    ['computes forever', `${READY} setImmediate(() => { for (;;); });`],
    ['floods stdout', `${READY} process.stdout._handle.setBlocking(true); for (;;) console.log("x".repeat(65536));`],
    ['floods stderr', `${READY} process.stderr._handle.setBlocking(true); for (;;) console.error("x".repeat(65536));`],
    [
      'closes its pipes',
      `${READY} process.stdout.end(() => process.stderr.end()); setInterval(() => undefined, 1000);`,
    ],
  ])('is killed if it %s', async (_what, source) => {
    const { sandbox, processes } = await startDeaf(source);
    sandbox.stdout.removeAllListeners('data').pause();
    await sandbox.kill();
    await expect.poll(() => processes.filter(isAlive)).toEqual([]);
  });

  it('is killed if it is stopped', async () => {
    const { sandbox, processes } = await startDeaf();
    processes.forEach((pid) => process.kill(pid, 'SIGSTOP'));
    await sandbox.kill();
    await expect.poll(() => processes.filter(isAlive)).toEqual([]);
  });

  it('is killed if it is still starting', async () => {
    const engine = embeddedEngine({ folder: folderWithProgram(DEAF) });
    const sandbox = await engine.start({ command: [], session: 'test' });
    await sandbox.kill();
    // Processes of a layer end with it, but the kernel needs a moment.
    await expect.poll(() => clientsOf(sandbox.id)).toEqual([]);
  });
});

describe.runIf(process.platform === 'linux')('a layer that does not work', () => {
  it('is reported with the first line that its tool printed', async () => {
    const script = 'echo "unshare: unshare failed: Operation not permitted." >&2; echo "ask dmesg" >&2; exit 1';
    const env = { PATH: pathWithScript('unshare', script) };
    const engine = embeddedEngine({ folder: folderWithProgram(DEAF), env });
    await firstOutput(await engine.start({ command: [], session: 'test' }));
    expect(engine.description).toMatch(
      /, without an operating-system sandbox .* \(bubblewrap not used: bwrap is not on PATH; unshare not used: unshare failed: Operation not permitted[^\n]*\)$/,
    );
    expect(engine.description).not.toContain('dmesg');
  });
});

describe.each(surroundings)('a child $label', ({ commands, layer, userId, words }) => {
  const hostEnv = () => ({ PATH: pathWith(commands, userId) });

  /** The output of Node in these surroundings, without its permission model, so only the layer protects the host. */
  async function runInside(code: string): Promise<unknown> {
    const chosen = await chooseSurroundings(readMachine(folderWithProgram(''), hostEnv()), []);
    expect(chosen.layer).toBe(layer);
    const { arguments: launchArguments, executable, input } = chosen.launch(['-e', code]);
    const child = await openPipe({ executable, env: {} }, launchArguments, { inputs: [input] });
    child.stderr.pipe(process.stderr);
    return JSON.parse(await text(child.stdout));
  }

  // Code that uses up the memory of the machine must not take the layer from sandboxes that start later.
  it('that something kills at its start costs no layer', async () => {
    const engine = embeddedEngine({ folder: folderWithProgram(DEAF), env: hostEnv() });
    const sandbox = await engine.start({ command: [], session: 'test' });
    await firstOutput(sandbox);
    const { description } = engine;
    const [client = 0] = clientsOf(sandbox.id);
    process.kill([client, ...descendantsOf(client)].at(-1) ?? 0, 'SIGKILL');
    const [stderr, exit] = await Promise.all([text(sandbox.stderr), sandbox.exited]);
    const error = engine.explainStartFailure(sandbox, exit, stderr);
    expect(error).toMatchObject({ code: 'ENGINE_FAILED', data: { retryNow: false } });
    expect(engine.description).toBe(description);
  });

  it('that fails in a layer where one has started costs no layer', async () => {
    const program = `${READY} process.stdin.once('data', () => process.exit(3));`;
    const engine = embeddedEngine({ folder: folderWithProgram(program), env: hostEnv() });
    const sandbox = await engine.start({ command: [], session: 'test' });
    await firstOutput(sandbox);
    engine.noteReady?.(sandbox);
    const { description } = engine;
    const { error } = await startToEnd(engine);
    expect(error.data['retryNow']).toBe(false);
    expect(engine.description).toBe(description);
  });

  it('is chosen, and the description says so', async () => {
    const engine = embeddedEngine({ folder: folderWithProgram(DEAF), env: hostEnv() });
    await firstOutput(await engine.start({ command: [], session: 'test' }));
    expect(engine.description).toContain(`Python in WebAssembly, in a separate process, ${words}`);
    expect(engine.isolation).toBe(`Python in WebAssembly, in a separate process, ${words}`);
  });

  it.runIf(commands.length > 0)('sees only its own files, and cannot write any', async () => {
    const seen = await runInside(`
      const fs = require('fs');
      const attempt = (action) => { try { return action(); } catch (error) { return error.code; } };
      console.log(JSON.stringify({
        root: fs.readdirSync('/'), folders: ${JSON.stringify(['/root', homedir(), tmpdir()])}.map((path) => attempt(() => fs.readdirSync(path))),
        etc: attempt(() => fs.readdirSync('/etc')),
        written: ['/x', '/embedded/x', '/node'].map((path) => attempt(() => fs.writeFileSync(path, ''))),
        user: process.getuid(), pid: process.pid, env: Object.keys(process.env), shell: fs.existsSync('/bin/sh'),
      }));`);
    expect(seen).toMatchObject({ folders: ['ENOENT', 'ENOENT', 'ENOENT'], user: 65534, shell: false });
    const { env, etc, pid, root, written } = seen as Record<string, never> & { root: string[]; env: string[] };
    expect(
      root.filter((name) => !['embedded', 'etc', 'lib', 'lib64', 'node', 'usr', 'nix', 'opt'].includes(name)),
    ).toEqual([]);
    expect(['ENOENT', ['ld.so.cache']]).toContainEqual(etc);
    expect(written).toEqual([
      expect.stringMatching(/EROFS|EACCES/),
      expect.stringMatching(/EROFS/),
      expect.stringMatching(/EROFS|ETXTBSY/),
    ]);
    expect(pid).toBeLessThan(10);
    expect(env.filter((name) => name !== 'PWD')).toEqual([]);
  });

  it.runIf(commands.length > 0)('cannot reach the network or processes of the host', async () => {
    const server = createServer().listen(0, '127.0.0.1');
    onTestFinished(() => void server.close());
    await once(server, 'listening');
    const { port } = server.address() as { port: number };
    const seen = await runInside(`
      const attempt = (action) => { try { return action(); } catch (error) { return error.code; } };
      const signalled = attempt(() => process.kill(${process.pid}, 0));
      require('net').connect(${port}, '127.0.0.1').on('error', ({ code }) =>
        console.log(JSON.stringify({ signalled, connected: code }))).on('connect', () => console.log('"connected"'));`);
    expect(seen).toEqual({ signalled: 'ESRCH', connected: expect.stringMatching(/ECONNREFUSED|ENETUNREACH/) });
  });

  it.runIf(layer !== undefined)('starts with files from a file system with all mount restrictions', async () => {
    const folder = folderWithProgram('');
    const chosen = await chooseSurroundings(readMachine(folder, { PATH: pathWith(commands) }), []);
    // Mounts of the host keep these flags in a namespace, so a remount that omits one is refused.
    const script = [
      'mount -t tmpfs -o noexec,nosuid,nodev,noatime restricted "$1"',
      'echo found > "$1/child.js"',
      'shift',
      'exec "$@"',
    ].join(' && ');
    const outer = ['--user', '--map-root-user', '--mount', '--', '/bin/sh', '-c', script, 'sh', folder];
    const program = 'process.stdout.write(require("fs").readFileSync("/embedded/child.js", "utf8"))';
    const { arguments: inner, executable, input } = chosen.launch(['-e', program]);
    const unshare = join(pathWith(['unshare'], userId), 'unshare');
    const child = await openPipe({ executable: unshare, env: {} }, [...outer, executable, ...inner], {
      inputs: [input],
    });
    child.stderr.pipe(process.stderr);
    expect([chosen.layer, await text(child.stdout)]).toEqual([layer, 'found\n']);
  });

  it.runIf(layer === 'unshare')('starts if there is no /sys', async () => {
    const chosen = await chooseSurroundings(readMachine(folderWithProgram(''), hostEnv()), []);
    const { arguments: launchArguments, executable } = chosen.launch(['-p', '6 * 7']);
    const elsewhere = launchArguments.map((word) => word.replace(/^\/sys /, '/nowhere '));
    expect(elsewhere).not.toEqual(launchArguments);
    const child = await openPipe({ executable, env: {} }, elsewhere);
    child.stderr.pipe(process.stderr);
    expect(await text(child.stdout)).toBe('42\n');
  });

  it.runIf(layer !== undefined)('has no capabilities, and our filter with bubblewrap', async () => {
    const engine = embeddedEngine({ folder: folderWithProgram(DEAF), env: hostEnv() });
    const sandbox = await engine.start({ command: [], session: 'test' });
    await firstOutput(sandbox);
    const [client = 0] = clientsOf(sandbox.id);
    const status = readFileSync(`/proc/${descendantsOf(client).at(-1)}/status`, 'utf8');
    expect(status).toMatch(/^CapEff:\t0+$/m);
    expect(status).toMatch(/^CapPrm:\t0+$/m);
    expect(status).toMatch(/^NoNewPrivs:\t1$/m);
    expect(status).toMatch(new RegExp(`^Uid:\t${userId ?? process.getuid?.()}\t`, 'm'));
    if (layer === 'bubblewrap') {
      expect(status).toMatch(/^Seccomp:\t2$/m);
    }
  });

  it.runIf(layer !== undefined)('ends if its bridge is killed, even if it ignores the end of its input', async () => {
    const engine = testEngine('embedded', 'embedded', { ...processEnvironment(), ...hostEnv() }, false);
    const owner = await startOwner(engine, folderWithProgram(DEAF));
    const processes = clientsOf(owner.sandboxId).flatMap((pid) => [pid, ...descendantsOf(pid)]);
    expect(processes.length).toBeGreaterThanOrEqual(2);
    await owner.kill();
    await expect.poll(() => processes.filter(isAlive)).toEqual([]);
  });

  it.runIf(embedded !== undefined)('runs cells, and ends if its bridge is killed', async () => {
    const folder = userId === undefined ? undefined : copyOfBuilt();
    const harness = await createHarness({ engine: embeddedEngine({ env: hostEnv(), folder }) });
    onTestFinished(() => harness.close());
    expect(await harness.run('2 ** 10')).toMatchObject({ value: '1024', engine: { name: 'embedded' } });
    const around = embedded ?? expect.fail();
    const owner = await startOwner({ ...around, env: { ...around.env, ...hostEnv() } }, folder);
    const processes = clientsOf(owner.sandboxId).flatMap((pid) => [pid, ...descendantsOf(pid)]);
    expect(processes.length).toBeGreaterThanOrEqual(1);
    await owner.kill();
    await expect.poll(() => processes.filter(isAlive), { timeout: 5_000 }).toEqual([]);
  });
});

describe.runIf(embedded !== undefined)('a session on it', () => {
  it('keeps its state if it hits the memory limit, which raises MemoryError', async () => {
    const harness = await createHarness({ engine: embeddedEngine() });
    onTestFinished(() => harness.close());
    await harness.run('kept = 42');
    const answer = await harness.run('b = []\nwhile True: b.append(bytearray(10_000_000))', { timeoutMs: 60_000 });
    expect(errorText(answer)).toContain('MemoryError');
    expect((await harness.run('b = None\nkept')).value).toBe('42');
  });

  it('answers later cells if variables fill the memory', async () => {
    const harness = await createHarness({ engine: embeddedEngine() });
    onTestFinished(() => harness.close());
    await expectAnswersWhenFull(harness);
  });

  it('reports that its child was killed, and what was lost', async () => {
    const harness = await createHarness({ engine: embeddedEngine({ isBare: true, instanceId: 'to-kill' }) });
    onTestFinished(() => harness.close());
    await harness.run('gone = 1');
    clientsOf('mcp-bridge-to-kill-1').forEach((pid) => process.kill(pid, 'SIGKILL'));
    await expect.poll(async () => (await harness.run('1')).notices[0]).toContain('variables gone');
  });

  it('answers at the deadline if its child is stopped, and starts again', async () => {
    const harness = await createHarness({ engine: embeddedEngine({ isBare: true, instanceId: 'to-stop' }) });
    onTestFinished(() => harness.close());
    await harness.run('1');
    clientsOf('mcp-bridge-to-stop-1').forEach((pid) => process.kill(pid, 'SIGSTOP'));
    const answer = await harness.run('2', { timeoutMs: 1_000 });
    expect(answer.status).toBe('timeout');
    expect((await harness.run('3')).value).toBe('3');
  });

  it('works regardless of NODE_OPTIONS of the bridge', async () => {
    const env = { ...processEnvironment(), NODE_OPTIONS: '--jitless' };
    const harness = await createHarness({ engine: embeddedEngine({ env }) });
    onTestFinished(() => harness.close());
    expect((await harness.run('1 + 1')).value).toBe('2');
  });
});
