// Tags: anywhere, full
/** Real cells and calls, then what `report` and `audit search` say about them, and whether its tokens are those of the answers. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { encode } from 'gpt-tokenizer/encoding/o200k_base';
import { beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { AuditRecordSchema } from '../../src/record/history/records.ts';
import type { ActivityReport } from '../../src/record/report/collect.ts';
import { CLI, fixtureServer, packageServer, startBridge } from '../support/bridge-client.ts';
import { coverEngines } from '../support/covered-engines.ts';

// One engine is enough: the records do not depend on it.
const engines = (await coverEngines()).slice(0, 1);
const NOTE = 'Ferns grow in the shade, and like rain.\n'.repeat(200);

let stateDir: string;

async function run(...words: string[]) {
  const env = { PATH: process.env['PATH'], MCP_BRIDGE_STATE_DIR: stateDir, MCP_BRIDGE_LOG_LEVEL: 'ERROR' };
  const child = spawn(process.execPath, [CLI, ...words], { env, stdio: ['ignore', 'pipe', 'pipe'] });
  const exited = once(child, 'close') as Promise<[number | null]>;
  const [stdout, stderr, [exitCode]] = await Promise.all([text(child.stdout), text(child.stderr), exited]);
  return { stdout, stderr, exitCode };
}

describe.each(engines)('a report of cells on $label', (engine) => {
  /** Texts of the answers. */
  const answers: string[] = [];

  beforeAll(async () => {
    stateDir = await mkdtemp(join(tmpdir(), 'bridge-report-'));
    writeFileSync(join(stateDir, 'note.txt'), NOTE);
    const files = packageServer('@modelcontextprotocol/server-filesystem', [stateDir]);
    const mcpServers = { files, echo: fixtureServer('echo.mjs') };
    writeFileSync(join(stateDir, 'servers.json'), JSON.stringify({ mcpServers }));
    writeFileSync(
      join(stateDir, 'policy.json'),
      JSON.stringify({ rules: [{ effect: 'deny', server: 'files', tool: 'write_file' }] }),
    );
    const bridge = await startBridge({ engine, env: { MCP_BRIDGE_STATE_DIR: stateDir } });
    const cells = [
      `for _ in range(5):\n    note = await mcp_files.read_text_file(path=${JSON.stringify(join(stateDir, 'note.txt'))})\nprint(len(str(note)))`,
      'print("<b>bold</b>", "Ferns grow in the shade, and like rain.\\n" * 100)',
      'await runtime.call_tool_raw("files", "write_file", {"path": "x", "content": "y"})',
    ];
    for (const code of cells) {
      answers.push((await bridge.runPython(code, { servers: ['files', 'echo'] })).text);
    }
    await bridge.close();
    return () => rmSync(stateDir, { recursive: true, force: true });
  }, 120_000);

  it('has every cell and call', async () => {
    const { exitCode, stderr, stdout } = await run('report', '--json');
    const report = JSON.parse(stdout) as ActivityReport;
    expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: '' });
    expect(report).toMatchObject({
      cells: { success: 2, error: 1 },
      totals: { calls: 6, failed: 0, refused: 1 },
      bad_lines: 0,
      savings: { calls: 5, calls_not_counted: 0, results_not_counted: 0 },
    });
    expect(report.failures).toContainEqual({ of: 'call', error: 'POLICY_DENIED', times: 1 });
  });

  it('counts the text of answers, and tokens rather too many with the bridge than too few', async () => {
    const { savings } = JSON.parse((await run('report', '--json')).stdout) as ActivityReport;
    const bytes = answers.reduce((sum, answer) => sum + Buffer.byteLength(answer), 0);
    // Without lines such as `status: error`.
    expect((savings.bridge.read * 3) / bytes).toBeGreaterThan(0.95);
    expect((savings.bridge.read * 3) / bytes).toBeLessThan(1.05);
    const tokens = answers.reduce((sum, answer) => sum + encode(answer).length, 0);
    expect(savings.bridge.read / tokens).toBeGreaterThan(0.95);
    expect(savings.bridge.read / tokens).toBeLessThan(2);
    expect(savings.direct.read / (5 * encode(NOTE).length)).toBeGreaterThan(0.9);
    expect(savings.direct.read / (5 * encode(NOTE).length)).toBeLessThan(1.1);
    expect(savings.bridge.definitions).toBeGreaterThan(100);
    expect(savings.direct.definitions).toBeGreaterThan(1_000);
    expect(savings.saved_tokens).toBe(savings.direct_tokens - savings.bridge_tokens);
  });

  it('is the same as text and as a page', async () => {
    const file = join(stateDir, 'report.html');
    expect(await run('report', '--since', '1d', '--html', file)).toEqual({
      stdout: `Wrote ${file}.\n`,
      stderr: '',
      exitCode: 0,
    });
    const page = readFileSync(file, 'utf8');
    const { stdout } = await run('report', '--since', '1d');
    for (const shown of [page, stdout]) {
      expect(shown).toContain('Calls: 6, 0 failed, 1 refused');
      expect(shown).toContain('files.read_text_file');
    }
    expect(page).not.toContain('<b>bold');
  });

  it('leaves out what the shell calls', async () => {
    expect((await run('servers', 'call', 'echo', 'echo', 'text=x')).exitCode).toBe(0);
    const { savings, totals } = JSON.parse((await run('report', '--json')).stdout) as ActivityReport;
    expect(totals.calls).toBe(7);
    expect(savings).toMatchObject({ calls: 5, calls_not_counted: 1 });
  });

  it('can be searched', async () => {
    const { stdout } = await run('audit', 'search', 'FERNS', '--kind', 'cell');
    expect(stdout).toMatch(/^\S+ \S+ {2}success .*default\/1\/2 .*print\("<b>bold.*\n$/);
    const refused = await run('audit', 'search', '--status', 'refused', '--json');
    const { items } = JSON.parse(refused.stdout) as { items: { record: unknown }[] };
    expect(items.map(({ record }) => AuditRecordSchema.parse(record))).toMatchObject([
      { type: 'call', tool: 'write_file' },
    ]);
    const first = await run('audit', 'search', '--kind', 'call', '-n', '4');
    const [, cursor = ''] = /--cursor (\S+)\n$/.exec(first.stdout) ?? [];
    const rest = await run('audit', 'search', '--kind', 'call', '--cursor', cursor);
    expect(first.stdout.match(/files\.|echo\./g)?.length).toBe(4);
    const all = JSON.parse((await run('audit', 'search', '--kind', 'call', '--json')).stdout) as { items: unknown[] };
    expect(rest.stdout.match(/files\.|echo\./g)?.length).toBe(all.items.length - 4);
  });

  it('of a log with half a line has the rest', async () => {
    const folder = join(stateDir, 'audit');
    const [name = ''] = readdirSync(folder);
    const whole = readFileSync(join(folder, name), 'utf8');
    writeFileSync(join(folder, name), `${whole}{"type":"call","at":`);
    onTestFinished(() => writeFileSync(join(folder, name), whole));
    const { stdout } = await run('report');
    expect(stdout).toContain('1 line of the log could not be read\n');
    expect((await run('audit', 'search', 'ferns')).stderr).toContain('Skipped 1 line');
  });
});

it('a time that is none is an error that says what is', async () => {
  stateDir = await mkdtemp(join(tmpdir(), 'bridge-report-'));
  onTestFinished(() => rmSync(stateDir, { recursive: true, force: true }));
  const { exitCode, stderr } = await run('report', '--since', 'soon');
  expect(exitCode).toBe(64);
  expect(stderr).toContain('it must be a duration such as 30m, 2h or 7d');
  expect(await run('report')).toMatchObject({
    exitCode: 1,
    stderr: expect.stringContaining('There are no records in'),
  });
});
