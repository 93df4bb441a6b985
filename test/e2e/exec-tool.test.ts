// Tags: anywhere, full
/** Saved functions run from the shell, and runs that go on after an interruption. */
import { execFile, spawn } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync, watch, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { CLI, fixtureServer } from '../support/bridge-client.ts';
import { coverEngines } from '../support/covered-engines.ts';

const [engine] = await coverEngines();
const KEEP = `
def scale(factor: float, values: list[float], note: str | None = None) -> dict:
    """Multiplies values."""
    return {"scaled": [factor * value for value in values], "note": note}
save_tool(scale)
async def book(day: str, slow: bool = False) -> str:
    await mcp_ledger.record(day=day)
    if slow:
        await mcp_ledger.record_slowly(seconds=600)
    return await mcp_ledger.record(day=day + " again")
save_tool(book)
def boom(a, /):
    raise ValueError(a)
save_tool(boom)`;

describe.runIf(engine !== undefined)('exec', () => {
  let stateDir: string;
  let ledger: string;
  let env: Record<string, string>;

  beforeEach(() => {
    stateDir = mkdtempSync(join(tmpdir(), 'bridge-exec-tool-'));
    ledger = join(stateDir, 'ledger');
    writeFileSync(ledger, '');
    const servers = { mcpServers: { ledger: fixtureServer('ledger.mjs', ledger) } };
    writeFileSync(join(stateDir, 'servers.json'), JSON.stringify(servers));
    env = { PATH: process.env['PATH'] ?? '', HOME: stateDir, ...engine?.env, MCP_BRIDGE_STATE_DIR: stateDir };
    onTestFinished(() => rmSync(stateDir, { recursive: true, force: true }));
  });

  const run = async (...args: readonly string[]) =>
    promisify(execFile)(process.execPath, [CLI, 'exec', ...args], { env }).then(
      ({ stdout, stderr }) => ({ code: 0, stdout, stderr }),
      (error: unknown) => error as { code: number; stdout: string; stderr: string },
    );

  const made = (): unknown[] =>
    readFileSync(ledger, 'utf8')
      .split('\n')
      .filter((line) => line !== '')
      .map((line) => JSON.parse(line) as unknown);

  /** Runs until the slow call has reached the server, and kills the bridge. */
  async function interrupt(...args: readonly string[]): Promise<void> {
    const bridge = spawn(process.execPath, [CLI, 'exec', ...args], { env, stdio: 'ignore' });
    const ended = new Promise((resolve) => bridge.once('close', resolve));
    await new Promise<void>((resolve) => {
      const watcher = watch(ledger, () => {
        if (readFileSync(ledger, 'utf8').includes('record_slowly')) {
          watcher.close();
          resolve();
        }
      });
    });
    bridge.kill('SIGKILL');
    await ended;
  }

  it('--tool runs a saved function with typed arguments, and prints what it returns', async () => {
    await run('-c', KEEP);
    const args = ['factor=2', 'values=[1, 2.5]'];
    expect(await run('--tool', 'scale', ...args)).toMatchObject({
      code: 0,
      stdout: "{'scaled': [2, 5.0], 'note': None}\n",
    });
    const json = await run('--json', '--tool', 'scale', '--json-args', '{"note": "\\"ü\\n"}', ...args);
    expect(JSON.parse(json.stdout)).toMatchObject({
      status: 'success',
      result: { scaled: [2, 5], note: '"ü\n' },
    });
  });

  it('--tool loads the servers that the function names, and awaits it', async () => {
    await run('-c', KEEP);
    expect(await run('--tool', 'book', 'day=Monday')).toMatchObject({ code: 0, stdout: "'recorded'\n" });
    expect(made()).toMatchObject([{ arguments: { day: 'Monday' } }, { arguments: { day: 'Monday again' } }]);
    writeFileSync(join(stateDir, 'policy.json'), '{"rules": [{"effect": "deny", "server": "ledger"}]}');
    const denied = await run('--tool', 'book', 'day=Tuesday');
    expect([denied.code, denied.stderr]).toEqual([77, expect.stringContaining('POLICY_DENIED')]);
    expect(made().length).toBe(2);
  });

  it.each([
    [['--tool', 'scale', 'factor=2'], 70, 'scale: values is missing'],
    [['--tool', 'scale', 'factor=two', 'values=[]'], 70, 'scale: factor must be float, not "two"'],
    [['--tool', 'scale', 'factor=1', 'values=[]', 'more=1'], 70, 'scale: more is not a parameter'],
    [['--tool', 'scale', 'factor'], 64, "'factor' is not a tool argument"],
    [['--tool', 'scal'], 64, "no function 'scal' is kept. Did you mean 'scale'?"],
    [['--tool', 'boom', 'a=why'], 1, 'ValueError: why'],
    [['--tool', 'scale', '--code', '1'], 64, '--code cannot be combined with --tool'],
    [['--json-args', '{}', '-c', '1'], 64, '--json-args needs --tool'],
    [['one.py', 'two.py'], 64, 'exactly one of'],
  ])('%j fails with exit code %i', async (args, code, message) => {
    await run('-c', KEEP);
    const failed = await run(...args);
    expect(failed.stderr).toContain(message);
    expect(failed.code).toBe(code);
    if (message.startsWith('scale:')) {
      expect(failed.stderr).toContain('The signature is scale(factor: float, values: list[float], note: str | None');
    }
  });

  it('--resume makes no call again that was answered before the bridge was killed', async () => {
    await run('-c', KEEP);
    const file = join(stateDir, 'run.jsonl');
    const args = ['--resume', file, '--timeout', '100', '--tool', 'book', 'day=Friday'];
    await interrupt(...args, 'slow=true');
    expect(made().map((call) => (call as { tool: string }).tool)).toEqual(['record', 'record_slowly']);
    // As if the kill had hit the middle of a write.
    writeFileSync(file, '{"type":"call","sess', { flag: 'a' });
    const resumed = await run(...args);
    expect(resumed).toMatchObject({ code: 0, stdout: "'recorded'\n" });
    expect(resumed.stderr).toContain('Resumed: 1 call answered from ');
    expect(made()).toMatchObject([
      { tool: 'record', arguments: { day: 'Friday' } },
      { tool: 'record_slowly' },
      { tool: 'record', arguments: { day: 'Friday again' } },
    ]);
    const finished = await run(...args);
    expect([finished.code, finished.stderr]).toEqual([64, expect.stringContaining('has finished')]);
    expect(made().length).toBe(3);
    const { stdout: audit } = await promisify(execFile)(process.execPath, [CLI, 'audit', 'show'], { env });
    expect(audit).toContain('not sent: answered by an earlier run');
  });

  it('--resume does no step again that was done, and each row of a map once', async () => {
    const file = join(stateDir, 'run.jsonl');
    const flow = (isSlow: boolean): string => `
async def book(row):
    await mcp_ledger.record(row=row)
    return row * row
def read():
    print("read")
    return list(range(6))
rows = await runtime.step(read)
squares = await runtime.step_map(book, rows[:3], at_once=1)
${isSlow ? 'await mcp_ledger.record_slowly(seconds=600)' : ''}
squares += await runtime.step_map(book, rows[3:])
await runtime.step(book, 2)
print(squares)`;
    const args = ['--resume', file, '--timeout', '100', '--server', 'ledger', '-c'];
    await interrupt(...args, flow(true));
    const resumed = await run(...args, flow(false));
    expect(resumed).toMatchObject({ code: 0, stdout: '[0, 1, 4, 9, 16, 25]\n' });
    expect(resumed.stderr).toContain('Resumed: 0 calls answered from ');
    expect(resumed.stderr).toContain('1 step and 3 rows done before and not done again');
    const booked = made().flatMap((call) => (call as { arguments: { row?: number } }).arguments.row ?? []);
    // The last step books row 2 once more: what was kept of the first time is used up.
    expect(booked.toSorted((a, b) => a - b)).toEqual([0, 1, 2, 2, 3, 4, 5]);
  });

  it('--resume makes failed calls again, and goes on as often as needed', async () => {
    const file = join(stateDir, 'run.jsonl');
    const code = `
await mcp_ledger.record(step=1)
await mcp_ledger.record(step=1)
await mcp_ledger.record(step=2)
open("/workspace/go") if await mcp_ledger.record(step=3) and STOP else None
print("done")`;
    const once = (stop: boolean) =>
      run('--resume', file, '--server', 'ledger', '-c', code.replace('STOP', stop ? 'True' : 'False'));
    expect((await once(true)).code).toBe(1);
    expect((await once(true)).code).toBe(1);
    expect(made().length).toBe(4);
    expect(await once(false)).toMatchObject({ code: 0, stdout: 'done\n' });
    expect(made().length).toBe(4);
    expect(existsSync(file)).toBe(true);
    const other = await run('--resume', ledger, '-c', '1');
    expect([other.code, other.stderr]).toEqual([64, expect.stringContaining('cannot resume')]);
  });
});
