// Tags: anywhere, full
/** Saved functions as users meet them: found by a later bridge, changed by hand, moved between machines, shared in a folder. */
import { execFile } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { ERAS, startAskingBridge } from '../support/asking-bridge.ts';
import { CLI, startBridge } from '../support/bridge-client.ts';
import { coverEngines } from '../support/covered-engines.ts';

// What is kept is the same on all engines.
const [engine] = await coverEngines();
const KEEP = `
def invoice_total(prices: list[float], tax: float = 0.2) -> float:
    """Adds up the prices of an invoice, with tax."""
    return sum(prices) * (1 + tax)
print(save_tool(invoice_total))`;

describe.runIf(engine !== undefined)('saved functions', () => {
  let stateDir: string;

  beforeEach(() => {
    stateDir = mkdtempSync(join(tmpdir(), 'bridge-tools-'));
    writeFileSync(join(stateDir, 'servers.json'), '{"mcpServers": {}}');
    onTestFinished(() => rmSync(stateDir, { recursive: true, force: true }));
  });

  async function run(args: readonly string[], more: Record<string, string> = {}) {
    const env = { PATH: process.env['PATH'] ?? '', HOME: stateDir, ...engine?.env, MCP_BRIDGE_STATE_DIR: stateDir };
    return promisify(execFile)(process.execPath, [CLI, ...args], { env: { ...env, ...more } }).then(
      ({ stdout, stderr }) => ({ code: 0, stdout, stderr }),
      (error: unknown) => error as { code: number; stdout: string; stderr: string },
    );
  }

  async function start() {
    if (engine === undefined) {
      throw new Error('no engine');
    }
    const bridge = await startBridge({ engine, env: { MCP_BRIDGE_STATE_DIR: stateDir }, onLog: () => undefined });
    onTestFinished(() => bridge.close());
    return bridge;
  }

  it('are found by search in a new bridge, and run', async () => {
    const first = await start();
    expect((await first.runPython(KEEP)).text).toContain("Saved 'invoice_total'");
    await first.close();
    const later = await start();
    const search = 'hits = await runtime.search_tool_docs("add up an invoice"); print(hits); hits[0].server';
    const { text } = await later.runPython(search);
    expect(text).toContain('invoice_total(prices: list[float], tax: float = 0.2) -> float  # Adds up the prices');
    expect(text).toContain("'user_tools'");
    const use = 'from user_tools import invoice_total as total\nimport user_tools\nprint(total([50, 50]), user_tools)';
    expect((await later.runPython(use)).text).toContain('120.0 <user_tools: invoice_total>');
  });

  it('of another session that is running can be imported by name', async () => {
    const bridge = await start();
    await bridge.runPython('1', { session: 'other' });
    await bridge.runPython(KEEP);
    const code =
      'print(await runtime.search_tool_docs("invoice total"))\nfrom user_tools import invoice_total\ninvoice_total([10])';
    const { text } = await bridge.runPython(code, { session: 'other' });
    expect(text).toContain('from user_tools import invoice_total; invoice_total(prices');
    expect(text).toContain('12.0');
    const missing = await bridge.runPython('from user_tools import invoice_totl');
    expect(missing.text).toContain(
      "no function 'invoice_totl' is kept. Did you mean 'invoice_total'? There are: invoice_total.",
    );
  });

  it('that were changed by hand are loaded only after `tools approve`', async () => {
    await run(['exec', '-c', KEEP]);
    const file = join(stateDir, 'tools', 'invoice_total.py');
    writeFileSync(file, readFileSync(file, 'utf8').replace('sum(prices)', '2 * sum(prices)'));
    const refused = await run(['exec', '-c', 'invoice_total([100])']);
    expect([refused.code, refused.stdout]).toEqual([1, '']);
    expect(refused.stderr).toContain('was changed after it was saved and is not loaded');
    const listed = await run(['tools', 'list', '--json']);
    expect(JSON.parse(listed.stdout)).toMatchObject([{ name: 'invoice_total', state: 'changed', session: 'default' }]);
    expect((await run(['tools', 'diff', 'invoice_total'])).stdout).toContain('+    return 2 * sum(prices) * (1 + tax)');
    const unasked = await run(['tools', 'approve', 'invoice_total']);
    expect([unasked.code, unasked.stderr]).toEqual([64, expect.stringContaining('add --yes')]);
    expect((await run(['tools', 'approve', '--yes', 'invoice_total'])).stdout).toContain('Approved: invoice_total.');
    expect((await run(['exec', '-c', 'invoice_total([100])'])).stdout).toBe('240.0\n');
    const old = await run(['tools', 'show', 'invoice_total', '--version', '1']);
    expect(old.stdout).toContain('return sum(prices)');
  });

  it('are edited, exported, removed and imported again', async () => {
    await run(['exec', '-c', KEEP]);
    const edited = await run(['tools', 'edit', 'invoice_total'], { VISUAL: 'sed -i.orig s/0.2/0.5/' });
    expect([edited.code, edited.stdout]).toEqual([0, expect.stringContaining('as a new version')]);
    const broken = await run(['tools', 'edit', 'invoice_total'], { EDITOR: 'sed -i.orig s/def/print/' });
    expect([broken.code, broken.stderr]).toEqual([70, expect.stringContaining('is not one function')]);
    expect((await run(['tools', 'edit', 'invoice_total'], { EDITOR: 'false' })).code).toBe(64);
    const diff = await run(['tools', 'diff', 'invoice_total', '1', '2']);
    expect(diff.stdout).toMatch(/-.*tax: float = 0\.2.*\n\+.*tax: float = 0\.5/);
    const { stdout: text } = await run(['tools', 'export', '--to', '-']);
    writeFileSync(join(stateDir, 'exported'), text);
    const folder = join(stateDir, 'team');
    expect((await run(['tools', 'export', '--to', folder])).code).toBe(0);
    expect((await run(['tools', 'export', '--to', folder])).stderr).toContain('--force');
    expect((await run(['tools', 'rm', 'invoice_total'])).stdout).toBe("Deleted 'invoice_total'.\n");
    expect((await run(['tools', 'show', 'invoice_total'])).code).toBe(64);
    expect((await run(['tools', 'import', join(stateDir, 'exported'), '--yes'])).stdout).toContain('Imported: ');
    expect((await run(['tools', 'import', folder, '--yes'])).stdout).toContain('Nothing to import');
    writeFileSync(join(folder, 'invoice_total.py'), 'def invoice_total(): pass\n');
    const clash = await run(['tools', 'import', folder, '--yes']);
    expect([clash.code, clash.stderr]).toEqual([70, expect.stringContaining('--force')]);
    expect((await run(['tools', 'import', folder, '--yes', '--force'])).code).toBe(0);
    expect((await run(['complete', '--shell', 'zsh', '--', 'tools', 'show', 'inv'])).stdout).toBe('invoice_total\n');
  });

  it.each(ERAS)(
    'that are shared are loaded after the user has agreed, and asked about when they change (%s)',
    async (era) => {
      if (engine === undefined) {
        return;
      }
      const team = join(stateDir, 'team');
      mkdirSync(team);
      const file = join(team, 'greeting.py');
      writeFileSync(file, 'def greeting(name):\n    return f"Hello, {name}"\n');
      const asked: string[] = [];
      let answer = true;
      const startAsking = async () => {
        const bridge = await startAskingBridge({
          engine,
          era,
          servers: {},
          env: { MCP_BRIDGE_STATE_DIR: stateDir, MCP_BRIDGE_TOOLBOX: team, MCP_BRIDGE_LOG_LEVEL: 'ERROR' },
          person: ({ message }) => {
            asked.push(message);
            return { action: 'accept', content: { load: answer } };
          },
        });
        onTestFinished(() => bridge.close());
        return bridge;
      };
      const first = await startAsking();
      expect(await first.run('greeting("Ada")')).toContain("'Hello, Ada'");
      expect(asked).toEqual([expect.stringContaining('return f"Hello, {name}"')]);
      await first.run('1', { session: 'more' });
      await first.close();
      writeFileSync(file, 'def greeting(name):\n    return "stolen"\n');
      answer = false;
      const later = await startAsking();
      expect(await later.run('"greeting" in globals()')).toContain('False');
      expect(asked).toEqual([
        expect.anything(),
        expect.stringMatching(/has changed since you allowed it[^]*return "stolen"/),
      ]);
      expect(await later.run('from user_tools import greeting')).toContain('the user was asked and did not allow it');
      const listed = await run(['tools', 'list'], { MCP_BRIDGE_TOOLBOX: team });
      expect(listed.stdout).toMatch(/^greeting {2}changed {2}\/.*team {2}greeting\(name\)\n$/);
    },
  );
});
