// Tags: full, bubblewrap, docker, user
/** Programs in each language on each engine of this machine that runs them, and what they cannot do there. */
import { writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { CancelSource } from '../../../src/core/base/cancel.ts';
import { silentLogger } from '../../../src/core/base/log.ts';
import type { ProgramRequest } from '../../../src/core/base/program.ts';
import { findExecutable } from '../../../src/edges/engines/executable.ts';
import { readLanguages, runProgram } from '../../../src/features/languages/index.ts';
import { packageServer, startBridge } from '../../support/bridge-client.ts';
import { coverEngines } from '../../support/covered-engines.ts';
import { TEST_LIMITS, type TestEngine } from '../../support/engines.ts';
import { createSuiteEngine } from '../engines/suite-engine.ts';

const languages = await readLanguages(join(tmpdir(), 'no-state-directory'));
const bytes = (text: string): Uint8Array => Buffer.from(text);

type Wanted = Partial<Omit<ProgramRequest, 'source' | 'stdin'>> & { readonly stdin?: string };

/** Runs a program in a new sandbox. */
function createRun(testEngine: TestEngine, image?: string) {
  const { engine, instanceId } = createSuiteEngine(testEngine);
  const changed = {
    ...languages,
    find: (name: string) => {
      const found = languages.find(name);
      return found && (image === undefined ? found : { ...found, image });
    },
  };
  const run = async (language: string, code: string, { stdin = '', ...wanted }: Wanted = {}, signal?: CancelSource) =>
    runProgram(
      {
        source: { kind: 'code', language, code },
        files: [],
        args: [],
        timeoutMs: undefined,
        wantsFiles: false,
        ...wanted,
        stdin: bytes(stdin),
      },
      {
        engine,
        languages: changed,
        defaultTimeoutMs: 60_000,
        maxTimeoutMs: 180_000,
        limits: TEST_LIMITS,
        env: testEngine.env,
        logger: silentLogger,
        signal,
      },
    );
  const left = async () => ((await engine.list?.()) ?? []).filter(({ id }) => id.includes(instanceId));
  return { run, left };
}

/** Escapes that code in a sandbox of ours must not have, by system call; `-1 1` is EPERM. */
const PROBES = `
import ctypes, os, platform
libc = ctypes.CDLL(None, use_errno=True)
arm = platform.machine() == "aarch64"
def call(x86, arm64, *arguments):
    return libc.syscall(arm64 if arm else x86, *arguments) == -1 and ctypes.get_errno()
print("unshare", call(272, 97, 0x10000000))
print("mount", call(165, 40, b"x", b"/tmp", b"tmpfs", 0, 0))
print("keyctl", call(250, 219, 0, -3, 0))
print("bpf", call(321, 280, 0, 0, 0))
print("ptrace", call(101, 117, 0, 0, 0, 0))
print("vsock", call(41, 198, 40, 1, 0))
print("io_uring", call(425, 425, 1, 0))
print("clone", call(56, 220, 0x10000011, 0, 0, 0, 0))
status = open("/proc/self/status").read()
print("capabilities", [line.split()[1] for line in status.splitlines() if line.startswith("Cap")])
print("no_new_privs", "NoNewPrivs:\\t1" in status)
def can(path, mode):
    try:
        open(path, mode).close()
        return path
    except OSError:
        return None
print("files", [one for one in (can("/etc/shadow", "r"), can("/usr/x", "w"), can("/x", "w"), can("/dev/kmsg", "r")) if one])
print("root", os.getuid() == 0, os.path.exists("/root/.ssh"), os.path.exists("/var/run/docker.sock"))
`;
const CLOSED = [
  ...['unshare', 'mount', 'keyctl', 'bpf', 'ptrace'].map((name) => `${name} 1`),
  'vsock 97',
  'io_uring 1',
  'clone 1',
  `capabilities ${JSON.stringify(Array(5).fill('0'.repeat(16)))
    .replaceAll('"', "'")
    .replaceAll(',', ', ')}`,
  'no_new_privs True',
  'files []',
  'root False False False',
  '',
].join('\n');

async function lacksImage(engine: TestEngine): Promise<boolean> {
  return engine.isContainer && (await engine.run('image', 'inspect', 'node:24-slim')).exitCode !== 0;
}

for (const engine of (await coverEngines()).filter((one) => one.create().programs !== undefined && one.runsCommands)) {
  if (await lacksImage(engine)) {
    // A contributor may lack the image; CI builds it.
    if (process.env['MCP_BRIDGE_TEST_REQUIRE_ENGINES'] === '1') {
      it(`${engine.label} has the image node:24-slim`, () => expect.fail('run .ci/build-images.sh'));
    } else {
      it.skip(`not covered: ${engine.label} has no image node:24-slim`, () => undefined);
    }
    continue;
  }
  const hasGo = engine.isContainer || findExecutable('go', engine.env) !== undefined;

  describe(`programs on ${engine.label}`, () => {
    it('run in JavaScript, TypeScript, bash and Python, with files, arguments and input', async () => {
      const { left, run } = createRun(engine);
      const files = [
        { name: 'lib/add.mjs', content: bytes('export const add = (a, b) => a + b;') },
        { name: 'in.txt', content: bytes('in') },
      ];
      const javascript = `
import { add } from './lib/add.mjs';
import { readFileSync, writeFileSync } from 'node:fs';
writeFileSync('out.txt', readFileSync('in.txt', 'utf8') + add(1, 2));
for await (const chunk of process.stdin) console.log(String(chunk), process.argv.slice(2));
console.error('err');`;
      const shared = { files, args: ['a', 'b c'], stdin: 'input', wantsFiles: true };
      const outcomes = await Promise.all([
        run('js', javascript, shared),
        run('typescript', 'enum E { A = 3 }\nconst x: number = E.A;\nconsole.log(x);'),
        run('bash', 'cat in.txt; cat; echo "$2"; printf 1 > out.txt', shared),
        run('python', 'import sys\nprint(sys.stdin.read(), sys.argv[1:])', shared),
      ]);
      const shown = outcomes.map((one) => [
        one.status,
        one.exitCode,
        one.stdout,
        one.stderr,
        one.files.map(({ name, content }) => `${name}=${Buffer.from(content).toString()}`),
      ]);
      expect(shown).toEqual([
        ['success', 0, "input [ 'a', 'b c' ]\n", 'err\n', ['out.txt=in3']],
        ['success', 0, '3\n', '', []],
        ['success', 0, 'ininputb c\n', '', ['out.txt=1']],
        ['success', 0, "input ['a', 'b c']\n", '', []],
      ]);
      expect(await left()).toEqual([]);
    });

    it.runIf(hasGo)('run in Go, which is compiled in the sandbox', async () => {
      const { run } = createRun(engine);
      const code = 'package main\nfunc main() { println(add(1, 2)) }';
      const files = [{ name: 'add.go', content: bytes('package main\nfunc add(a, b int) int { return a + b }') }];
      expect(await run('go', code, { files, timeoutMs: 170_000 })).toMatchObject({ status: 'success', stderr: '3\n' });
    });

    it.runIf(!hasGo)('say what is missing on this machine', async () => {
      await expect(createRun(engine).run('go', '')).rejects.toMatchObject({
        code: 'IMAGE_UNSUITABLE',
        message: "go needs go, which is not on this machine's PATH",
      });
    });

    it('end with an exit code, at their deadline, or when they are cancelled', async () => {
      const { left, run } = createRun(engine);
      const cancel = new CancelSource();
      const never = run('bash', 'sleep 1000', {}, cancel).catch((error: unknown) => error);
      const [failed, javascript, late, lateNode] = await Promise.all([
        run('bash', 'sleep 1000 & exit 7'),
        run('js', 'throw new Error("boom")'),
        run('bash', 'echo begun; sleep 1000', { timeoutMs: 3_000 }),
        run('js', 'console.log("begun"); setInterval(() => {}, 1000)', { timeoutMs: 5_000 }),
      ]);
      cancel.abort();
      expect(await never).toMatchObject({ code: 'CALL_CANCELLED' });
      expect(failed).toMatchObject({ status: 'error', exitCode: 7 });
      expect(javascript).toMatchObject({ status: 'error', exitCode: 1, stderr: expect.stringContaining('boom') });
      expect(late).toMatchObject({ status: 'timeout', exitCode: undefined, stdout: 'begun\n', stderr: '' });
      expect(lateNode).toMatchObject({ status: 'timeout', exitCode: undefined, stdout: 'begun\n' });
      expect(await left()).toEqual([]);
    });

    it('may print 10 MB', async () => {
      const { run } = createRun(engine);
      const outcomes = await Promise.all([
        run('js', 'process.stdout.write("x".repeat(10_000_000))'),
        run('bash', 'head -c 10000000 /dev/zero | tr "\\\\0" x'),
      ]);
      expect(outcomes.map(({ status, stdout }) => [status, stdout.length])).toEqual([
        ['success', 10_000_000],
        ['success', 10_000_000],
      ]);
    });

    it('end with everything that they have started, even a fork bomb', async () => {
      const { left, run } = createRun(engine);
      const bomb = await run('bash', 'f() { f | f & }; f; sleep 1000', { timeoutMs: 2_000 });
      expect(bomb.status).toBe('timeout');
      expect(await left()).toEqual([]);
    });

    it('have no network', async () => {
      const { run } = createRun(engine);
      const code = `
import { networkInterfaces } from 'node:os';
await fetch('http://192.0.2.1/').catch((error) => console.log(error.cause.code));
console.log(Object.keys(networkInterfaces()).filter((name) => name !== 'lo'));`;
      expect((await run('js', code)).stdout).toBe('ENETUNREACH\n[]\n');
    });

    it('cannot leave their sandbox', async () => {
      const { run } = createRun(engine);
      const { stdout } = await run('python', PROBES);
      expect(stdout).toBe(CLOSED);
      const escapes = `
import { readFileSync, writeFileSync, readdirSync } from 'node:fs';
const attempt = (work) => { try { return work() ?? 'done'; } catch (error) { return error.code; } };
console.log(attempt(() => writeFileSync('/usr/x', '')), attempt(() => readFileSync('/etc/shadow')), attempt(() => readdirSync(${JSON.stringify(import.meta.dirname)})));
const status = readFileSync('/proc/self/status', 'utf8');
console.log(/Seccomp:\\t2/.test(status), /CapInh:\\t0{16}\\nCapPrm:\\t0{16}\\nCapEff:\\t0{16}/.test(status), attempt(() => process.setuid(0)));
console.log(/Uid:(\\t65534){4}\\nGid:(\\t65534){4}/.test(status), /Groups:\\t(65534)? *\\n/.test(status), 'BRIDGE_UID' in process.env);`;
      const inNode = (await run('js', escapes)).stdout.split('\n');
      expect(inNode[0]).toMatch(/^(EROFS|EACCES) (EACCES|ENOENT) ENOENT$/);
      expect(inNode[1]).toMatch(/^true true (EPERM|EINVAL)$/);
      expect(inNode[2]).toBe('true true false');
    });

    it.runIf(engine.isContainer)('say how to get a missing image', async () => {
      const { run } = createRun(engine, 'localhost/no-such-image:1');
      await expect(run('js', '')).rejects.toMatchObject({
        code: 'IMAGE_MISSING',
        message: expect.stringContaining('localhost/no-such-image:1'),
        hint: expect.stringContaining(`${engine.name} pull`),
      });
    });

    it('call servers from JavaScript through the gates of the cell', async () => {
      const bridge = await startBridge({
        engine,
        servers: () => ({ everything: packageServer('@modelcontextprotocol/server-everything', ['stdio']) }),
      });
      onTestFinished(() => bridge.close());
      writeFileSync(
        join(bridge.folder, 'policy.json'),
        JSON.stringify({ default: 'allow', rules: [{ effect: 'deny', server: 'everything', tool: 'echo' }] }),
      );
      const code = `
result = await runtime.run("javascript", '''
console.log(await mcp.everything.getSum({ a: 19, b: 23 }));
try { await mcp.everything.echo({ message: "x" }); } catch (error) { console.log(error.name, error.code); }
try { await mcp.other.tool(); } catch (error) { console.log(error.code); }
''')
print(result)
print((await runtime.run("cobol", "x")).status)`;
      const { text } = await bridge.runPython(code, { servers: ['everything'], timeout: 60 });
      expect(text).toMatch(/42/);
      expect(text).toContain('MCPError POLICY_DENIED');
      expect(text).toContain('SERVER_UNKNOWN');
      expect(text).toContain('there is no language "cobol"');
    });
  });
}
