// Tags: anywhere, full
/** The audit log of a real bridge: what it contains, what it does not, and what happens if it cannot be written. */
import { readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { type AuditRecord, AuditRecordSchema, type RecordOf } from '../../src/record/history/records.ts';
import { type BridgeClient, fixtureServer, packageServer, ROOT, startBridge } from '../support/bridge-client.ts';
import { coverEngines } from '../support/covered-engines.ts';

const SECRET = 'sk-canary-0123456789';
// One engine is enough: the records do not depend on it.
const engines = (await coverEngines()).slice(0, 1);

let stateDir: string;

beforeEach(async () => {
  stateDir = await mkdtemp(join(tmpdir(), 'bridge-audit-'));
  onTestFinished(() => rmSync(stateDir, { recursive: true, force: true }));
  const echo = { ...fixtureServer('echo.mjs'), env: { API_KEY: SECRET } };
  const memory = packageServer('@modelcontextprotocol/server-memory', [], {
    MEMORY_FILE_PATH: join(stateDir, 'm.jsonl'),
  });
  writeFileSync(join(stateDir, 'servers.json'), JSON.stringify({ mcpServers: { echo, memory } }));
});

function textOfLog(): string {
  const folder = join(stateDir, 'audit');
  return readdirSync(folder)
    .map((name) => readFileSync(join(folder, name), 'utf8'))
    .join('');
}

/** Every line, validated with the schema that the documentation is generated from. */
function readLog(): AuditRecord[] {
  return textOfLog()
    .trimEnd()
    .split('\n')
    .map((line) => AuditRecordSchema.parse(JSON.parse(line)));
}

function only<Type extends AuditRecord['type']>(records: readonly AuditRecord[], type: Type): RecordOf<Type>[] {
  return records.filter((record): record is RecordOf<Type> => record.type === type);
}

/** The log with everything replaced that differs from run to run. */
function normalized(text: string): unknown[] {
  const [bridge = ''] = /[0-9a-f]{8}-[0-9a-f]{4}/.exec(text) ?? [];
  return text
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line.replaceAll(bridge, 'BRIDGE')) as Record<string, unknown>)
    .map((record) => ({
      ...record,
      at: 'AT',
      ...('duration_ms' in record && { duration_ms: 0 }),
      ...('client' in record && { client: 'CLIENT' }),
    }));
}

for (const engine of engines) {
  describe(`audit on ${engine.label}`, () => {
    async function start(env: Record<string, string> = {}): Promise<BridgeClient> {
      const bridge = await startBridge({ engine, env: { MCP_BRIDGE_STATE_DIR: stateDir, ...env } });
      onTestFinished(() => bridge.close());
      return bridge;
    }

    it('records a cell and its call as the documentation shows', async () => {
      const bridge = await start();
      await bridge.runPython("found = await mcp_memory.search_nodes(query='ferns')\nlen(found.entities)", {
        servers: ['memory'],
      });
      await bridge.close();
      const [, sample = ''] = /```jsonl\n([\s\S]*?)```/.exec(readFileSync(join(ROOT, 'docs/audit.md'), 'utf8')) ?? [];
      const written = textOfLog()
        .split('\n')
        .filter((line) => /"type":"c/.test(line))
        .join('\n');
      expect(normalized(written)).toEqual(normalized(sample));
    });

    it('links sessions, cells and calls, and records refusals and failures, but no values or secrets', async () => {
      const bridge = await start();
      const code = `
key = '${SECRET}'
await mcp_echo.structured(payload={'a-private-key': 'a private value'})
for attempt in (mcp_echo.fails(text='x'), runtime.call_tool_raw('echo', 'nothing', {'private': 1})):
    try:
        await attempt
    except Exception as error:
        pass
1 / 0`;
      await bridge.runPython(code, { servers: ['echo'], session: 'work' });
      await bridge.runPython("await runtime.call_tool_raw('echo', 'echo', {'text': 'private'})", { session: 'other' });
      await bridge.close();
      const records = readLog();
      const calls = only(records, 'call');
      expect(calls).toMatchObject([
        { server: 'echo', tool: 'structured', decision: 'allowed', outcome: 'ok' },
        { server: 'echo', tool: 'fails', decision: 'allowed', outcome: 'error', error_code: 'TOOL_FAILED' },
        { server: 'echo', tool: 'nothing', outcome: 'error', error_code: 'TOOL_UNKNOWN', undeclared: 1 },
        { server: 'echo', tool: 'echo', decision: 'denied', outcome: 'error', error_code: 'SERVER_NOT_AVAILABLE' },
      ]);
      const cells = only(records, 'cell_started');
      expect(cells.map(({ session, servers }) => [session, servers])).toEqual([
        ['work', ['echo']],
        ['other', []],
      ]);
      expect(calls.map(({ cell }) => cell)).toEqual([cells[0]?.id, cells[0]?.id, cells[0]?.id, cells[1]?.id]);
      expect(only(records, 'cell_ended')[0]).toMatchObject({ status: 'error', exception: 'ZeroDivisionError' });
      expect(only(records, 'session_started')).toHaveLength(2);
      expect(only(records, 'session_ended')).toMatchObject([
        { reason: 'the bridge was shut down' },
        { reason: 'the bridge was shut down' },
      ]);
      expect(cells[0]?.code).toContain("key = '***'");
      const withoutCode = JSON.stringify(records.map((record) => ({ ...record, code: '' })));
      expect(withoutCode).not.toContain('private');
      expect(textOfLog()).not.toContain(SECRET);
    });

    it('keeps lines of two bridges intact in one file', async () => {
      const bridges = await Promise.all([start(), start()]);
      const large = `x = ${JSON.stringify('y'.repeat(40_000))}\n`;
      for (let round = 0; round < 10; round += 1) {
        await Promise.all(bridges.map((bridge) => bridge.runPython(large)));
      }
      await Promise.all(bridges.map((bridge) => bridge.close()));
      const records = readLog();
      expect(only(records, 'cell_started')).toHaveLength(20);
      expect(only(records, 'cell_ended')).toHaveLength(20);
      expect(new Set(records.map(({ bridge }) => bridge)).size).toBe(2);
    });

    it('runs cells without a record if the log cannot be written, and says so once', async () => {
      writeFileSync(join(stateDir, 'audit'), 'in the way');
      const bridge = await start({ MCP_BRIDGE_LOG_LEVEL: 'ERROR' });
      const notices = async () => (await bridge.runPython('1 + 1')).structured['notices'];
      const told: unknown[] = [];
      await expect
        .poll(async () => {
          told.push(await notices());
          return told.flat().filter((notice) => notice !== undefined);
        })
        .toEqual([expect.stringMatching(/^The audit log cannot be written \(.*\)\. Cells run anyway\.$/)]);
      expect(await notices()).toBeUndefined();
    });

    it('if a record is required, runs a cell only once it can be recorded', async () => {
      const file = join(stateDir, 'audit');
      writeFileSync(file, 'in the way');
      const bridge = await start({ MCP_BRIDGE_AUDIT: 'required', MCP_BRIDGE_LOG_LEVEL: 'ERROR' });
      const refused = await bridge.runPython('x = 1');
      expect(refused.structured['error']).toMatch(
        /^AUDIT_UNAVAILABLE: the cell was not run, because it cannot be recorded: .*\nHint: Make .* writable/,
      );
      rmSync(file);
      expect((await bridge.runPython("'x' in globals()")).structured['result']).toBe('False');
      // No wait is needed: the answer comes after its record.
      expect(only(readLog(), 'cell_ended').map(({ error_code: code, status }) => [status, code])).toEqual([
        ['error', 'AUDIT_UNAVAILABLE'],
        ['success', undefined],
      ]);
    });

    it('is not written if it is off', async () => {
      const bridge = await start({ MCP_BRIDGE_AUDIT: '0' });
      await bridge.runPython('1');
      await bridge.close();
      expect(readdirSync(stateDir)).not.toContain('audit');
    });
  });
}
