// Tags: full, docker-release
/** Bad input to the embedded engine, through the built command and a real client: each gets a clear answer, and the session continues. */
import { execFile } from 'node:child_process';
import { appendFileSync, cpSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { type BridgeClient, CLI, fixtureServer, ROOT, startBridge } from '../support/bridge-client.ts';
import { coverEngines } from '../support/covered-engines.ts';
import type { TestEngine } from '../support/engines.ts';

const SECRET = 'bait-token-4d1c';
const embedded = (await coverEngines()).find(({ name }) => name === 'embedded');

function start(env: Readonly<Record<string, string>> = {}): Promise<BridgeClient> {
  const engine: TestEngine = embedded ?? expect.fail();
  const servers = () => ({ echo: fixtureServer('echo.mjs') });
  return startBridge({ engine, servers, env: { BRIDGE_SECRET: SECRET, ...env } });
}

describe.runIf(embedded !== undefined)('hostile and faulty code on the embedded engine', () => {
  let bridge: BridgeClient;
  beforeAll(async () => {
    bridge = await start();
  });
  afterAll(() => bridge.close());

  it.each([
    ['os.system', 'import os\nos.system("id")'],
    ['a child process', 'import subprocess\nsubprocess.run(["id"])'],
    ['a thread', 'import threading\nthreading.Thread(target=print).start()'],
    ['a socket', 'import socket\nsocket.create_connection(("1.1.1.1", 443))'],
    ['ctypes', 'import ctypes'],
    ['an address', 'import urllib.request\nurllib.request.urlopen("http://127.0.0.1:1/")'],
  ])('%s fails with the reason and an alternative', async (_what, code) => {
    const answer = await bridge.runPython(code);
    expect(answer.isError).toBe(true);
    expect(answer.text).toMatch(/container engine/);
  });

  it.each([
    ['JavaScript', 'import js', /ModuleNotFoundError/],
    ['a package of Pyodide', 'import pyodide_js', /ModuleNotFoundError/],
    ['a file of the host', `open(${JSON.stringify(join(ROOT, 'package.json'))}).read()`, /FileNotFoundError/],
    ['/etc/passwd', 'open("/etc/passwd").read()', /FileNotFoundError/],
    ['/proc', 'open("/proc/self/environ").read()', /FileNotFoundError/],
    ['a path that leads up', 'open("/workspace/../../../../etc/passwd").read()', /FileNotFoundError/],
    ['a link that leads up', 'import os\nos.symlink("../../..", "/tmp/up")\nopen("/tmp/up/etc/passwd")', /Error/],
    ['writing to the standard library', 'import json\nopen(json.__file__, "w")', /Error: \[Errno/],
  ])('%s is not accessible', async (_what, code, error) => {
    const answer = await bridge.runPython(code);
    expect(answer.isError).toBe(true);
    expect(answer.text).toMatch(error);
  });

  // The package that removes types is an ES module in the bundle and CommonJS outside, where all other tests run it.
  it('the built program runs TypeScript', async () => {
    const code = 'print((await runtime.run("typescript", "const x: number = 3; console.log(x)")).stdout)';
    expect((await bridge.runPython(code)).text).toBe('3');
  });

  it('sees no variables of the bridge', async () => {
    const { structured } = await bridge.runPython('import os\n[sorted(os.environ), os.getcwd(), os.listdir("/")]');
    expect(structured['result']).not.toContain(SECRET);
    expect(structured['result']).not.toMatch(/BRIDGE_SECRET|MCP_BRIDGE/);
    expect(structured['result']).toContain("'/workspace'");
  });

  it.each([
    [
      '10,000 files',
      'import os\nfor i in range(10_000): open(f"/workspace/{i}", "w").close()\nassert len(os.listdir("/workspace")) == 10_000',
      /^$/,
    ],
    [
      'a file of 1 GB',
      'with open("/workspace/huge", "wb") as f:\n    for _ in range(1024): f.write(bytes(1 << 20))',
      /No space left/,
    ],
    ['a hole of 1 GB', 'import os\nos.truncate(os.open("/tmp/hole", os.O_CREAT | os.O_RDWR), 1 << 30)', /Error/],
    ['deep recursion', 'def f(): f()\nf()', /RecursionError/],
    ['a deep expression', 'eval("(" * 5000 + ")" * 5000)', /Error/],
    ['an endless regular expression', 'import re\nre.match(r"(a+)+$", "a" * 64 + "b")', /CELL_DEADLINE/],
    ['an endless loop', 'while True: pass', /CELL_DEADLINE/],
    ['a sleep', 'import time\ntime.sleep(60)', /CELL_DEADLINE/],
    ['too much memory', 'b"x" * (1 << 31)', /MemoryError|OverflowError/],
  ])('%s gets an answer, and variables survive', async (what, code, error) => {
    const session = what.replaceAll(/\W/g, '-');
    await bridge.runPython('kept = 42', { session });
    // Writing 1 GB may take long on a busy machine.
    const answer = await bridge.runPython(code, { session, timeout: what === 'a file of 1 GB' ? 60 : 5 });
    expect(answer.isError ? answer.text : '').toMatch(error);
    expect((await bridge.runPython('kept\nruntime.reset()\nkept', { session })).structured['result']).toBe('42');
  });

  it.each([
    ['garbage as compiled code', 'import marshal\nmarshal.loads(bytes(range(256)) * 100)'],
    [
      'a module whose compiled file is garbage',
      [
        'import importlib.util, os, sys',
        'os.makedirs("/tmp/m/__pycache__"); open("/tmp/m/crafted.py", "w").write("x = 1")',
        'open(importlib.util.cache_from_source("/tmp/m/crafted.py"), "wb").write(importlib.util.MAGIC_NUMBER + b"\\xff" * 999)',
        'sys.path.insert(0, "/tmp/m"); import crafted; crafted.x',
      ].join('\n'),
    ],
    [
      'a module that takes the place of another',
      'open("/workspace/json.py", "w").write("1/0")\nimport json; json.dumps(1)',
    ],
    [
      'code made of bytes',
      '(lambda: 0).__code__.replace(co_code=b"\\xff\\x00" * 50)\nexec((lambda: 0).__code__.replace(co_code=b"\\x64\\xff" * 50, co_consts=()))',
    ],
    ['data of 100,000 levels', 'import json\njson.loads("[" * 100_000)'],
    ['ending its own process', 'import os\nos._exit(7)'],
    ['an abort', 'import os\nos.abort()'],
  ])('%s costs at most the session, and the answer says so', async (what, code) => {
    const session = what.replaceAll(/\W/g, '-');
    await bridge.runPython('kept = 42', { session });
    const answer = await bridge.runPython(code, { session, timeout: 10 });
    const next = await bridge.runPython('globals().get("kept")', { session });
    if (answer.text.includes('SESSION_LOST')) {
      expect(next.text).toMatch(/State was lost|Restored \d/);
    } else {
      expect(next.structured['result']).toBe('42');
    }
    await bridge.runPython('runtime.reset()', { session });
  });

  it('ends a session that ignores its interrupt, and says so', async () => {
    const session = 'deaf';
    await bridge.runPython('gone = 1', { session });
    const answer = await bridge.runPython('import itertools\nsum(itertools.count())', { session, timeout: 1 });
    expect(answer.structured['status']).toBe('timeout');
    expect((await bridge.runPython('1', { session })).text).toContain('variables gone');
  });

  it('makes concurrent calls to servers', async () => {
    const code = 'import asyncio\nlen(await asyncio.gather(*[mcp_echo.echo(text=str(i)) for i in range(500)]))';
    expect((await bridge.runPython(code, { servers: ['echo'] })).structured['result']).toBe('500');
  });
});

describe.runIf(embedded !== undefined)('the embedded engine on an unusual machine', () => {
  async function firstCell(env: Readonly<Record<string, string>>): Promise<unknown> {
    const bridge = await start(env);
    onTestFinished(() => bridge.close());
    return (await bridge.runPython('6 * 7')).structured['result'];
  }

  it('starts in two bridges at once', async () => {
    expect(await Promise.all([firstCell({}), firstCell({}), firstCell({})])).toEqual(['42', '42', '42']);
  });

  it.each([
    // Not even root can create a file there.
    ['a read-only temporary folder', { TMPDIR: '/proc' }],
    ['a missing temporary folder', { TMPDIR: '/nowhere' }],
    ['a bridge without WebAssembly', { NODE_OPTIONS: '--jitless' }],
    ['no PATH', { PATH: '' }],
  ])('starts with %s', async (_what, env) => {
    expect(await firstCell(env)).toBe('42');
  });

  it('names a damaged file, and the step that fixes it', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'bridge-damaged-'));
    onTestFinished(() => rmSync(folder, { recursive: true }));
    cpSync(join(CLI, '..'), join(folder, 'dist'), { recursive: true });
    cpSync(join(ROOT, 'sandbox-runtime'), join(folder, 'sandbox-runtime'), { recursive: true });
    writeFileSync(join(folder, 'package.json'), '{"type":"module","version":"0.0.0"}');
    appendFileSync(join(folder, 'dist/embedded/memory.snapshot'), 'damaged');
    const env = { PATH: '', MCP_BRIDGE_STATE_DIR: folder, MCP_BRIDGE_RUNTIME: 'embedded' };
    const failed = await promisify(execFile)(process.execPath, [join(folder, 'dist/cli.js'), 'exec', '-c', '1'], {
      env,
    }).catch((error: unknown) => error as { code: number; stderr: string });
    expect(failed).toMatchObject({
      code: 69,
      stderr: expect.stringMatching(
        /ENGINE_UNAVAILABLE: .*memory\.snapshot differs from the build[^]*Hint: Install .* again; in a checkout, run: npm run build/,
      ),
    });
  });
});
