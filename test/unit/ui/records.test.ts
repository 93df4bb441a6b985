/** The views of the page that read files: the audit log, recordings, servers, and what is stored. */
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { silentLogger } from '../../../src/core/base/log.ts';
import { CHECKPOINTS, lastingStore } from '../../../src/core/session/checkpoint-store.ts';
import { principalFolder, profileFolder } from '../../../src/core/state/principals.ts';
import { createArtifacts } from '../../../src/features/artifacts/artifacts.ts';
import { FunctionStore } from '../../../src/features/saved-tools/function-store.ts';
import { auditDirectory } from '../../../src/record/history/files.ts';
import type { AuditRecord } from '../../../src/record/history/records.ts';
import {
  CellSchema,
  ConfiguredServerSchema,
  HistorySchema,
  SavedToolSchema,
  SavingsSchema,
  StoredSchema,
  type UiStoredKind,
} from '../../../src/record/ui/schema.ts';
import { makeHistory, writeHistory } from '../../support/history-log.ts';
import { pause } from '../../support/pause.ts';
import { newStateDir, type StartedUi, startFakeBridge, startUi } from '../../support/ui-server.ts';

const BRIDGE = 'a1b2c3d4-0001';
const NOW = Date.now();
const at = (offsetMs: number) => new Date(NOW - 60_000 + offsetMs).toISOString();
const CODE = 'import json\ndef total(x):\n    return json.dumps(x)\nawait mcp_files.read(path="a")';
const HOSTILE = '<img src=x onerror=alert(1)>\u202e\u0000';

function cell(number: number, more: Partial<AuditRecord> = {}): AuditRecord[] {
  const id = `${BRIDGE}/work/1/${number}`;
  const run = { session: 'work', generation: 1, cell: number };
  const facts = { servers: ['files'], code_sha256: 'x', code_bytes: CODE.length, code: CODE };
  return [
    { type: 'cell_started', at: at(0), bridge: BRIDGE, id, ...run, timeout_ms: 5, ...facts, ...more } as AuditRecord,
    ...[2, 1].map(
      (call) =>
        ({
          type: 'call',
          at: at(call),
          bridge: BRIDGE,
          id: `${id}/${call}`,
          cell: id,
          server: 'files',
          tool: 'read',
          arguments: { path: 'string(1)' },
          decision: 'asked',
          answer: 'allowed',
          approval: 'once',
          rule: 'rules[0] of policy.json',
          outcome: 'ok',
          duration_ms: 12.5 * call,
          arguments_bytes: 20,
          result_bytes: 300,
          text_bytes: 200,
        }) as const,
    ),
    {
      type: 'cell_ended',
      at: at(30),
      bridge: BRIDGE,
      id,
      status: 'success',
      duration_ms: 30,
      stdout_bytes: 5,
      stderr_bytes: 0,
      value_bytes: 2,
      error_bytes: 0,
      attachments: 0,
      answer_bytes: 7,
    },
  ];
}

async function startWith(records: readonly AuditRecord[], env: Record<string, string> = {}): Promise<StartedUi> {
  const stateDir = newStateDir();
  writeHistory(auditDirectory(stateDir), records);
  return startUi({ stateDir, env });
}

const history = async (ui: StartedUi, query = '') =>
  HistorySchema.parse((await ui.ask('GET', `/api/history${query}`)).json);

describe('history', () => {
  it('finds cells, calls and events, newest first, in pages', async () => {
    const events: AuditRecord[] = [
      { type: 'session_ended', at: at(40), bridge: BRIDGE, session: 'work', generation: 1, reason: HOSTILE },
      { type: 'lost', at: at(41), bridge: BRIDGE, records: 3, reason: 'the disk is full' },
      { type: 'tool_saved', at: at(42), bridge: BRIDGE, cell: 'x', name: 'total', sha256: 'x', bytes: 1, asked: true },
    ];
    const ui = await startWith([...cell(1, { run_by: 'operator' }), ...events]);
    const all = await history(ui);
    expect(all).toMatchObject({ total: 6, bad_lines: 0, unreadable: [] });
    expect(all.items.map(({ kind }) => kind)).toEqual(['event', 'event', 'event', 'call', 'call', 'cell']);
    expect(all.items[2]).toMatchObject({ type: 'session_ended', summary: expect.stringContaining(HOSTILE) });
    expect(all.items[5]).toMatchObject({ kind: 'cell', code: CODE, calls: 2, status: 'success', run_by: 'operator' });
    const page = await history(ui, '?limit=2&kind=call,cell');
    const next = await history(ui, `?limit=2&kind=call,cell&cursor=${encodeURIComponent(page.next ?? '')}`);
    expect([...page.items, ...next.items].map(({ kind }) => kind)).toEqual(['call', 'call', 'cell']);
    expect(next.next).toBeUndefined();
    expect((await history(ui, '?text=JSON.dumps&server=files&status=success&since=1h')).items).toHaveLength(1);
    expect((await history(ui, `?text=${encodeURIComponent('<img')}`)).items).toHaveLength(1);
    expect((await history(ui, '?until=2020-01-01')).items).toEqual([]);
  });

  it('has every record of busy bridges, and what is written later', async () => {
    const records = makeHistory({ calls: 500, bridges: 3, startMs: NOW - 2 * 86_400_000, days: 2 });
    const ui = await startWith(records);
    expect(await history(ui, '?limit=1000')).toMatchObject({ items: expect.any(Array), bad_lines: 0 });
    const before = (await history(ui)).total;
    writeHistory(auditDirectory(ui.stateDir), cell(9));
    expect((await history(ui)).total).toBe(before + 3);
  });

  it('is empty without a log', async () => {
    expect(await history(await startUi())).toMatchObject({ items: [], total: 0 });
  });
});

describe('a cell', () => {
  it('opens with its calls, and says why its output is not kept', async () => {
    const ui = await startWith(cell(1));
    await startFakeBridge(ui.stateDir);
    const shown = CellSchema.parse((await ui.ask('GET', `/api/cells?id=${BRIDGE}/work/1/1`)).json);
    expect(shown).toMatchObject({
      session: 'work',
      status: 'success',
      servers: ['files'],
      calls: [{ server: 'files', tool: 'read', status: 'ok', decision: 'asked', approval: 'once' }, {}],
      output_bytes: 7,
      kept: { output: false, why: expect.stringContaining('MCP_BRIDGE_RECORD') },
      can_run_in: [{ session: 'work' }],
      functions: ['total'],
      attachments: [],
    });
    expect((await ui.ask('GET', '/api/cells?id=work/1/1')).status).toBe(200);
  });

  it('has what recordings kept, call by call, and files of its session', async () => {
    const folder = newStateDir();
    const who = { session: 'work', generation: 1, cell: 1 };
    // The first call failed before it was recorded: its server was not there.
    const call = (number: number, path: string) => ({
      type: 'call',
      ...who,
      number,
      call: number - 2,
      server: 'files',
      tool: 'read',
      arguments: { path },
      duration_ms: 1,
      ...(number === 5 ? { error: { code: 'TOOL_FAILED', message: HOSTILE } } : { result: { content: [] } }),
    });
    const lines = [
      { type: 'recording', version: 1, bridge: '0.1.0', at: at(0) },
      { type: 'cell', ...who, at: at(0), code: CODE, servers: ['files'], timeout_seconds: 5 },
      call(5, 'third'),
      call(4, 'second'),
      { type: 'cell_ended', ...who, duration_ms: 30, status: 'success', stdout: HOSTILE, value: '7' },
    ];
    writeFileSync(
      join(folder, '2026-11-26T00-00-00-a1b2c3d4.jsonl'),
      lines.map((line) => `${JSON.stringify(line)}\n`).join(''),
    );
    writeFileSync(join(folder, '2026-11-26T00-00-01-a1b2c3d4.jsonl'), 'damaged');
    const ui = await startWith(cell(1), { MCP_BRIDGE_RECORD: folder });
    const shown = CellSchema.parse((await ui.ask('GET', `/api/cells?id=${BRIDGE}/work/1/1`)).json);
    expect(shown).toMatchObject({ output: { stdout: HOSTILE, value: '7' }, kept: { output: true } });
    const kept = Object.fromEntries(shown.calls.map(({ id, kept: parts }) => [id.split('/').at(-1), parts]));
    // Those of the second were shown under the first.
    expect(kept).toEqual({ 1: undefined, 2: { arguments: { path: 'second' }, result: { content: [] } } });
  });

  it('has no arguments of a recording that does not say which call is which', async () => {
    const folder = newStateDir();
    const who = { session: 'work', generation: 1, cell: 1 };
    const call = { type: 'call', ...who, number: 1, server: 'files', tool: 'read', arguments: {}, duration_ms: 1 };
    const lines = [
      { type: 'recording', version: 1, bridge: '0.1.0', at: at(0) },
      { type: 'cell', ...who, at: at(0), code: CODE, servers: ['files'], timeout_seconds: 5 },
      { ...call, result: {} },
      { type: 'cell_ended', ...who, duration_ms: 30, status: 'success', stdout: 'printed' },
    ];
    writeFileSync(
      join(folder, '2026-11-26T00-00-00-a1b2c3d4.jsonl'),
      lines.map((line) => JSON.stringify(line)).join('\n'),
    );
    const ui = await startWith(cell(1), { MCP_BRIDGE_RECORD: folder });
    const shown = CellSchema.parse((await ui.ask('GET', `/api/cells?id=${BRIDGE}/work/1/1`)).json);
    expect(shown.calls.map(({ kept }) => kept)).toEqual([undefined, undefined]);
    expect(shown).toMatchObject({
      output: { stdout: 'printed' },
      kept: { output: true, why: expect.stringContaining('earlier version') },
    });
  });

  /** Saves a file, and returns the record of that by the cell. */
  async function save(stateDir: string, number: number, text: string, principal?: string): Promise<AuditRecord> {
    const folder = principal === undefined ? stateDir : principalFolder(stateDir, principal);
    mkdirSync(folder, { recursive: true });
    const piece = { session: 'work', name: 'plot.svg', offset: 0, data: Buffer.from(text), isLast: true };
    const saved = await createArtifacts(folder).write(piece);
    return {
      type: 'artifact_saved',
      at: at(number * 1_000),
      bridge: BRIDGE,
      ...(principal !== undefined && { principal }),
      cell: `${BRIDGE}/work/1/${number}`,
      call: 7,
      name: 'plot.svg',
      bytes: text.length,
      modified: saved?.modified.toISOString() ?? '',
    };
  }

  it('lists the files that it saved, and none of the next cell', async () => {
    const stateDir = newStateDir();
    const first = await save(stateDir, 1, '<svg></svg>');
    await pause(5, 'files are told apart by milliseconds, as cells take at least');
    const second = await save(stateDir, 2, '<svg/>');
    const ofAlice = await save(stateDir, 3, '<svg />', 'alice');
    writeHistory(auditDirectory(stateDir), [...cell(1), ...cell(2), ...cell(3), first, second, ofAlice]);
    const ui = await startUi({ stateDir });
    const attachmentsOf = async (number: number) =>
      CellSchema.parse((await ui.ask('GET', `/api/cells?id=work/1/${number}`)).json).attachments;
    // Saved by the first cell, then by the second, while both counted as running.
    expect(await attachmentsOf(1)).toEqual([]);
    expect(await attachmentsOf(2)).toMatchObject([{ name: 'plot.svg', size: 6 }]);
    expect(await attachmentsOf(3)).toMatchObject([{ name: 'plot.svg', size: 7 }]);
    const shown = { attachments: await attachmentsOf(2) };
    expect(shown.attachments).toMatchObject([{ mime_type: 'image/svg+xml' }]);
    const content = await ui.ask('GET', shown.attachments[0]?.url ?? '');
    expect(content).toMatchObject({ status: 200, text: '<svg/>' });
    expect(content.headers).toMatchObject({
      'content-disposition': "attachment; filename*=UTF-8''plot.svg",
      'content-security-policy': "sandbox; default-src 'none'",
      'x-content-type-options': 'nosniff',
    });
  });

  it('gives a function to keep', async () => {
    const ui = await startWith(cell(1));
    const id = `${BRIDGE}/work/1/1`;
    const keep = (name: string) => ui.ask('POST', '/api/cells/save-as-tool', { body: { id, name } });
    expect(SavedToolSchema.parse((await keep('total')).json)).toEqual({ ok: true, name: 'total' });
    const kept = await new FunctionStore(ui.stateDir).read('total');
    expect(kept).toMatchObject({ state: 'approved', source: expect.stringContaining('import json') });
    for (const name of ['nothing', '../x', 'print', 'class']) {
      expect(await keep(name)).toMatchObject({ status: 422 });
    }
  });
});

it('savings are those of the report', async () => {
  const ui = await startWith([
    { type: 'definitions', at: at(0), bridge: BRIDGE, server: 'files', tools: 2, bytes: 4_600 },
    ...cell(1),
  ]);
  const sums = SavingsSchema.parse((await ui.ask('GET', '/api/savings?since=2d')).json);
  expect(sums).toMatchObject({ calls: 2, direct: { definitions: 1_000 }, servers: [{ server: 'files', calls: 2 }] });
  expect(sums.method.length).toBeGreaterThan(3);
  expect(sums.saved_tokens).toBe(sums.direct_tokens - sums.bridge_tokens);
  writeHistory(auditDirectory(ui.stateDir), cell(2));
  expect(SavingsSchema.parse((await ui.ask('GET', '/api/savings?since=2d')).json).calls).toBe(4);
});

it('servers are those of the configuration and of bridges, with sums of the log', async () => {
  const stateDir = newStateDir();
  writeHistory(auditDirectory(stateDir), cell(1));
  const entries = {
    mine: { command: 'node', args: [] },
    remote: { url: 'https://example.com/mcp' },
    keyed: { url: 'https://example.com/mcp', headers: { Authorization: 'Bearer x' } },
    off: { command: 'node', disabled: true },
  };
  writeFileSync(join(stateDir, 'mcp-servers.json'), JSON.stringify({ mcpServers: entries }));
  const ui = await startUi({ stateDir, env: { MCP_SERVERS_CONFIG: join(stateDir, 'mcp-servers.json') } });
  await startFakeBridge(stateDir);
  const { json } = await ui.ask('GET', '/api/servers');
  const found = Object.fromEntries(
    ConfiguredServerSchema.array()
      .parse(json)
      .map((one) => [one.name, one]),
  );
  expect(found).toMatchObject({
    mine: {
      transport: 'stdio',
      state: 'never-started',
      can_log_in: false,
      calls: 0,
      pins: { mode: 'warn', changed: [] },
    },
    remote: { transport: 'http', can_log_in: true },
    keyed: { can_log_in: false },
    off: { state: 'disabled', disabled_reason: expect.stringContaining('mcp-servers.json') },
    files: { transport: 'unknown', calls: 2, failed: 0, refused: 0, states: [{ state: 'ready', pid: 7 }], tools: 2 },
  });
  expect(found['files']?.p50_ms).toBeGreaterThan(0);
  expect(JSON.stringify(json)).not.toContain('Bearer');
  expect((await ui.ask('POST', '/api/servers/mine/login')).status).toBe(409);
  expect((await ui.ask('POST', '/api/servers/mine/pins/accept', { body: {} })).status).toBe(409);
  expect((await ui.ask('POST', '/api/servers/mine/pins/refuse')).status).toBe(409);
});

describe('what is stored', () => {
  const list = async (ui: StartedUi, kind: UiStoredKind) =>
    StoredSchema.parse((await ui.ask('GET', `/api/stored/${kind}`)).json).items;
  const remove = (ui: StartedUi, kind: UiStoredKind, id: string) =>
    ui.ask('DELETE', `/api/stored/${kind}?id=${encodeURIComponent(id)}`);

  it('artifacts, also of principals and profiles', async () => {
    const ui = await startUi();
    const alice = principalFolder(ui.stateDir, 'alice');
    const reader = profileFolder(alice, 'reader');
    for (const folder of [ui.stateDir, alice, reader, profileFolder(ui.stateDir, 'reader')]) {
      mkdirSync(folder, { recursive: true });
      const data = Buffer.from('1;2');
      await createArtifacts(folder).write({ session: 'work', name: 'a b.csv', offset: 0, data, isLast: true });
    }
    const items = await list(ui, 'artifacts');
    expect(items.toSorted((a, b) => a.id.localeCompare(b.id))).toMatchObject([
      { name: 'a b.csv', bytes: 3, detail: 'saved in session work', mime_type: 'text/csv', removable: true },
      { detail: 'saved in session work, of the principal alice' },
      { detail: 'saved in session work, of the principal alice, of the profile reader' },
      { detail: 'saved in session work, of the profile reader' },
    ]);
    const id = items.find(({ detail }) => detail?.includes('alice, of the profile'))?.id ?? '';
    expect((await ui.ask('GET', `/api/stored/artifacts/content?id=${encodeURIComponent(id)}`)).text).toBe('1;2');
    expect((await remove(ui, 'artifacts', id)).json).toEqual({ ok: true });
    expect((await remove(ui, 'artifacts', id)).status).toBe(404);
    expect(await list(ui, 'artifacts')).toHaveLength(3);
    for (const bad of [':../work/a b.csv', ':work/../work/a b.csv', ':..', ':/', '../..:work/a b.csv', ':work/.', '']) {
      expect([bad, (await remove(ui, 'artifacts', bad)).status]).toEqual([bad, 404]);
    }
    expect(existsSync(join(ui.stateDir, 'artifacts', 'work', 'a b.csv'))).toBe(true);
  });

  it('functions, with their versions', async () => {
    const ui = await startUi();
    const store = new FunctionStore(ui.stateDir);
    const facts = { signature: '', summary: '', packages: [] };
    await store.write({ name: 'one', source: 'def one(a: int) -> int:\n    """Counts."""\n    return a\n' }, facts);
    await store.write({ name: 'two', source: 'def two(): pass\n' }, facts);
    writeFileSync(join(ui.stateDir, 'tools', 'two.py'), 'def two(): return 1\n');
    const items = await list(ui, 'functions');
    expect(items.toSorted((a, b) => a.id.localeCompare(b.id))).toMatchObject([
      { id: ':one', name: 'one', detail: 'one(a: int) -> int, Counts.' },
      { name: 'two', detail: 'two(), changed, so sessions do not load it' },
    ]);
    const sourceOf = (id: string) => ui.ask('GET', `/api/stored/functions/content?id=${encodeURIComponent(id)}`);
    // As it is in the file, because that is what a person decides about.
    expect((await sourceOf(':two')).text).toBe('def two(): return 1\n');
    for (const bad of [':three', ':../two', '../..:two', ':.', '']) {
      expect([bad, (await sourceOf(bad)).status]).toEqual([bad, 404]);
    }
    expect((await ui.ask('GET', '/api/stored/packages/content?id=:one')).status).toBe(404);
    expect((await remove(ui, 'functions', ':one')).json).toEqual({ ok: true });
    expect(await store.names()).toEqual(['two']);
    expect((await remove(ui, 'functions', ':../two')).status).toBe(404);
    expect(readFileSync(join(ui.stateDir, 'tools', 'two.py'), 'utf8')).toContain('return 1');
  });

  it('checkpoints, unless a bridge has the session', async () => {
    const ui = await startUi();
    const user = { folder: '/project', client: 'claude' };
    const store = lastingStore(join(ui.stateDir, CHECKPOINTS), user, silentLogger);
    const facts = {
      session: 'work',
      generation: 1,
      cell: 3,
      savedAt: at(0),
      python: '3.14',
      engine: 'podman',
      image: '',
      servers: [],
      variables: 2,
      files: 1,
      lost: [],
    };
    const claim = await store.claim('work');
    const writer = await store.begin('work');
    await writer.write(Buffer.from('data'));
    await writer.commit(facts);
    const [item] = await list(ui, 'checkpoints');
    expect(item).toMatchObject({
      name: 'work',
      removable: false,
      why_not: expect.stringContaining(String(process.pid)),
    });
    expect(item?.detail).toBe('2 variables and 1 file of claude in /project');
    expect(await remove(ui, 'checkpoints', item?.id ?? '')).toMatchObject({ status: 409 });
    if ('release' in claim) {
      await claim.release();
    }
    expect((await list(ui, 'checkpoints'))[0]).toMatchObject({ removable: true });
    expect((await remove(ui, 'checkpoints', item?.id ?? '')).json).toEqual({ ok: true });
    expect(await list(ui, 'checkpoints')).toEqual([]);
  });

  it('says why it cannot be listed', async () => {
    const problem = { list: () => Promise.reject(new Error('no engine')), remove: async () => false };
    const ui = await startUi({ parts: { stored: () => problem } });
    expect((await ui.ask('GET', '/api/stored/packages')).json).toEqual({ items: [], problem: 'no engine' });
    expect((await remove(ui, 'packages', 'x')).status).toBe(502);
  });
});
