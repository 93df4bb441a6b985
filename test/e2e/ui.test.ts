// Tags: full, docker-release
/** The command `ui` beside real bridges with real clients, servers and sandboxes. The page itself is tested in a browser. */
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, describe, expect, it, onTestFinished } from 'vitest';
import {
  CellSchema,
  ConfiguredServerSchema,
  HistorySchema,
  OverviewSchema,
  RunSchema,
  SavingsSchema,
  StoredSchema,
  type UiApproval,
  UiEventSchema,
  type UiStoredKind,
  WrittenRulesSchema,
} from '../../src/record/ui/schema.ts';
import { type AskingBridge, startAskingBridge } from '../support/asking-bridge.ts';
import { type BridgeClient, fixtureServer, startBridge } from '../support/bridge-client.ts';
import { coverEngines } from '../support/covered-engines.ts';
import { PATIENCE } from '../support/patience.ts';
import { pause } from '../support/pause.ts';
import { startUiCommand, type UiCommandRun } from '../support/ui-command.ts';

// No engine knows of the page, so one is enough.
const engines = (await coverEngines()).slice(0, 1);
const WAIT = { timeout: 20_000 * PATIENCE };
const ECHO = { servers: ['echo'] };

const open: { close(): Promise<unknown> }[] = [];
afterEach(async () => {
  // The command first: it asks the bridges.
  for (const each of open.splice(0).toReversed()) {
    await each.close();
  }
});

function newFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'ui-e2e-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

const overviewOf = async (ui: UiCommandRun) => OverviewSchema.parse(await ui.get('/api/overview'));

/** The only bridge, once it can be watched. */
async function bridgeOf(ui: UiCommandRun): Promise<string> {
  await expect.poll(async () => (await overviewOf(ui)).bridges, WAIT).toHaveLength(1);
  return (await overviewOf(ui)).bridges[0]?.bridge ?? expect.fail('no bridge');
}

async function questionOf(ui: UiCommandRun): Promise<UiApproval> {
  await expect.poll(async () => (await overviewOf(ui)).approvals, WAIT).toHaveLength(1);
  return (await overviewOf(ui)).approvals[0] ?? expect.fail('no question');
}

describe.each(engines.map((engine) => ({ engine, name: engine.label })))('on $name', ({ engine }) => {
  async function start(env: Record<string, string> = {}, servers = { echo: fixtureServer('echo.mjs') }) {
    const bridge: BridgeClient = await startBridge({ engine, servers: () => servers, env });
    open.push(bridge);
    return { bridge, ui: await watch(bridge.folder, env) };
  }

  async function watch(folder: string, env: Record<string, string> = {}): Promise<UiCommandRun> {
    const ui = await startUiCommand({ HOME: folder, MCP_BRIDGE_STATE_DIR: folder, ...engine.env, ...env });
    open.push(ui);
    return ui;
  }

  it('shows a cell while it runs, interrupts it, and runs it again', async () => {
    const { bridge, ui } = await start();
    await bridge.runPython('1');
    const at = `/api/bridges/${await bridgeOf(ui)}/sessions/default`;
    const stream = await ui.events(AbortSignal.timeout(60_000 * PATIENCE));
    const seen: string[] = [];
    const reading = (async () => {
      for await (const event of stream) {
        seen.push(UiEventSchema.parse(event).type);
        if (event['type'] === 'cell_ended') {
          return;
        }
      }
    })();
    const endless = 'kept = 7\nprint("begun", flush=True)\nwhile True: pass';
    const answer = bridge.runPython(endless, { timeout: 120 });
    await expect.poll(async () => (await overviewOf(ui)).sessions[0]?.cell?.output, WAIT).toContain('begun');
    await expect(ui.post(`${at}/run`, { code: '1' })).rejects.toThrow('409');
    expect(await ui.post(`${at}/interrupt`)).toEqual({ ok: true });
    expect((await answer).text).toContain('the operator interrupted the cell');
    await reading;
    expect(seen).toEqual(expect.arrayContaining(['cell_started', 'cell_output', 'cell_ended']));

    const { cell } = RunSchema.parse(await ui.post(`${at}/run`, { code: 'kept = kept + 1\nprint("by hand", kept)' }));
    const find = async () => HistorySchema.parse(await ui.get('/api/history?kind=cell&text=by%20hand')).items;
    await expect
      .poll(async () => (await find())[0], WAIT)
      .toMatchObject({
        id: cell,
        status: 'success',
        run_by: 'operator',
      });
    expect(CellSchema.parse(await ui.get(`/api/cells?id=${cell}`))).toMatchObject({
      run_by: 'operator',
      kept: { output: false, why: expect.stringContaining('MCP_BRIDGE_RECORD') },
      can_run_in: [{ session: 'default' }],
    });
    const { text } = await bridge.runPython('kept');
    expect(text).toContain('8');
    expect(text).toContain('The operator ran cell 3 in this session; variables may have changed.');
    expect((await bridge.runPython('kept')).text).not.toContain('The operator');
    expect(await ui.close()).toBe(143);
    open.pop();
  });

  it('shows the steps of a cell while they run, and when they have ended', async () => {
    const { bridge, ui } = await start();
    const code = `import asyncio
gate = asyncio.Event()
async def row(number):
    if number == 2:
        await gate.wait()
    return 1 / (number - 1)
def first(): ...
await runtime.step(first)
try:
    await asyncio.wait_for(runtime.step_map(row, range(3), errors="return"), 30)
finally:
    print("never", flush=True)`;
    const answer = bridge.runPython(code, { timeout: 120 });
    const running = async () => (await overviewOf(ui)).sessions[0]?.cell?.steps;
    const map = { step: 2, name: 'row', after: [1], status: 'running', rows: 3, rows_ended: 2, rows_failed: 1 };
    await expect.poll(running, WAIT).toMatchObject([{ step: 1, name: 'first', after: [], status: 'ok' }, map]);
    await ui.post(`/api/bridges/${await bridgeOf(ui)}/sessions/default/interrupt`);
    await answer;
    const find = async () => CellSchema.parse(await ui.get('/api/cells?id=default/1/1')).steps;
    const { rows_ended: _rows, ...ended } = map;
    await expect.poll(find, WAIT).toMatchObject([
      { step: 1, status: 'ok' },
      { ...ended, status: 'cancelled' },
    ]);
  });

  it('shows what a recording has kept, and the savings', async () => {
    const { bridge, ui } = await start({ MCP_BRIDGE_RECORD: join(newFolder(), 'recordings') });
    await bridge.runPython('print("out")\nawait mcp_echo.echo(text="a")\nawait mcp_echo.echo(text="b")', ECHO);
    const find = async () => HistorySchema.parse(await ui.get('/api/history?kind=cell')).items;
    await expect.poll(async () => (await find())[0], WAIT).toMatchObject({ status: 'success', calls: 2 });
    const [item] = await find();
    const shown = CellSchema.parse(await ui.get(`/api/cells?id=${item?.kind === 'cell' ? item.id : ''}`));
    expect(shown).toMatchObject({ output: { stdout: 'out\n' }, kept: { output: true } });
    expect(shown.calls.map(({ kept }) => kept?.arguments)).toEqual([{ text: 'a' }, { text: 'b' }]);
    // The next cell saves its file so soon that it was listed under this one.
    await bridge.runPython('runtime.save_artifact("own.txt", "1")');
    await bridge.runPython('runtime.save_artifact("next.txt", "2")');
    const filesOf = async (number: number) => {
      const cell = CellSchema.parse(await ui.get(`/api/cells?id=default/1/${number}`));
      return cell.attachments.map(({ name }) => name);
    };
    await expect.poll(() => filesOf(3), WAIT).toEqual(['next.txt']);
    expect([await filesOf(1), await filesOf(2)]).toEqual([[], ['own.txt']]);
    expect(SavingsSchema.parse(await ui.get('/api/savings')).calls).toBe(2);
    const servers = ConfiguredServerSchema.array().parse(await ui.get('/api/servers'));
    expect(servers).toMatchObject([{ name: 'echo', calls: 2, failed: 0, states: [{ state: 'ready' }] }]);
  });

  describe('a question to the person', () => {
    const POLICY = { default: 'allow', rules: [{ effect: 'ask', server: 'echo', tool: 'echo' }], limits: [] };

    async function ask() {
      const withdrawn: boolean[] = [];
      const bridge: AskingBridge = await startAskingBridge({
        engine,
        era: '2025-11-25',
        servers: { echo: fixtureServer('echo.mjs') },
        policy: POLICY,
        person: (_, signal) => {
          signal.addEventListener('abort', () => withdrawn.push(true));
          return new Promise<never>(() => undefined);
        },
      });
      open.push(bridge);
      await bridge.run('1', ECHO);
      const ui = await watch(bridge.folder);
      await bridgeOf(ui);
      return { bridge, ui, withdrawn };
    }

    it('is answered on the page while the client waits', async () => {
      const { bridge, ui, withdrawn } = await ask();
      const answer = bridge.run('await mcp_echo.echo(text="allowed")');
      const question = await questionOf(ui);
      expect(question).toMatchObject({
        calls: [{ server: 'echo', tool: 'echo', reason: expect.stringContaining('rules[0] of ') }],
        decided_by: [{ decision: 'ask', outcome: 'decides' }],
      });
      const path = `/api/bridges/${question.bridge}/approvals/${question.id}`;
      expect(await ui.post(path, { answer: 'once' })).toEqual({ ok: true });
      expect(await answer).toContain('allowed');
      await expect.poll(() => withdrawn, WAIT).toEqual([true]);
      await expect(ui.post(path, { answer: 'once' })).rejects.toThrow('409');
      // What comes next is asked about again.
      const again = bridge.run('await mcp_echo.echo(text="refused")');
      const next = await questionOf(ui);
      await ui.post(`/api/bridges/${next.bridge}/approvals/${next.id}`, { answer: 'no' });
      expect(await again).toContain('APPROVAL_DENIED');
    });

    it('is answered for always, and the policy has the rule', async () => {
      const { bridge, ui } = await ask();
      const answer = bridge.run('await mcp_echo.echo(text="first")');
      const question = await questionOf(ui);
      const path = `/api/bridges/${question.bridge}/approvals/${question.id}/always`;
      const written = WrittenRulesSchema.parse(await ui.post(path));
      expect(written.rules).toEqual(question.can_always_allow?.rules);
      expect(await answer).toContain('first');
      const policy = JSON.parse(readFileSync(join(bridge.folder, 'policy.json'), 'utf8'));
      expect(policy).toEqual({
        ...POLICY,
        rules: [{ effect: 'allow', server: 'echo', tool: 'echo' }, ...POLICY.rules],
      });
      await pause(1_000, 'a bridge looks at the file four times a second');
      expect(await bridge.run('await mcp_echo.echo(text="second")')).toContain('second');
      expect((await overviewOf(ui)).approvals).toEqual([]);
    });

    it('of a cell that the operator runs is asked on the page alone', async () => {
      const { bridge, ui } = await ask();
      const id = await bridgeOf(ui);
      await ui.post(`/api/bridges/${id}/sessions/default/run`, { code: 'r = await mcp_echo.echo(text="mine")' });
      const question = await questionOf(ui);
      expect(bridge.wire.filter((line) => line.includes('elicitation/create'))).toEqual([]);
      await ui.post(`/api/bridges/${id}/approvals/${question.id}`, { answer: 'once' });
      expect(await bridge.run('r')).toContain('mine');
    });
  });

  it('shows how a server has changed its tools, and accepts or refuses that', async () => {
    const state = join(newFolder(), 'turncoat.json');
    const { bridge, ui } = await start({ MCP_BRIDGE_PIN: 'strict' }, { echo: fixtureServer('turncoat.mjs', state) });
    await bridge.runPython('await mcp_echo.look()', ECHO);
    const pins = async () => ConfiguredServerSchema.array().parse(await ui.get('/api/servers'))[0]?.pins;
    await expect.poll(pins, WAIT).toMatchObject({ mode: 'strict', accepted: 3, changed: [] });
    await bridge.runPython('await mcp_echo.become(look={"description": "Sends everything away."}, announce=True)');
    await ui.post(`/api/bridges/${await bridgeOf(ui)}/servers/echo/refresh`);
    await expect
      .poll(async () => (await pins())?.changed, WAIT)
      .toEqual([
        {
          tool: 'look',
          change: 'changed',
          is_refused: true,
          differences: [{ path: 'description', before: 'Looks at a thing.', after: 'Sends everything away.' }],
        },
      ]);
    await expect(ui.post('/api/servers/echo/pins/accept', { seen: 'else' })).rejects.toThrow('409');
    const { seen } = (await pins()) ?? {};
    expect(await ui.post('/api/servers/echo/pins/accept', { seen, tools: ['look'] })).toEqual({ ok: true });
    expect(await pins()).toMatchObject({ accepted: 3, changed: [] });
    await expect
      .poll(async () => (await bridge.runPython('await mcp_echo.look()', ECHO)).text, WAIT)
      .toContain('looked at');
    await expect(ui.post('/api/servers/echo/pins/refuse')).rejects.toThrow('409');
  });

  it('lists what is stored, and removes it', async () => {
    const { bridge, ui } = await start();
    await bridge.runPython('def double(n):\n    return 2 * n\nruntime.save_tool(double)', { session: 'kept' });
    await bridge.runPython('x = 1\nruntime.save_artifact("a.txt", "text")', { session: 'kept' });
    const list = async (kind: UiStoredKind) => StoredSchema.parse(await ui.get(`/api/stored/${kind}`));
    const removeAll = async (kind: UiStoredKind) => {
      const { items } = await list(kind);
      expect([kind, items.length > 0]).toEqual([kind, true]);
      for (const { id } of items) {
        expect(await ui.remove(`/api/stored/${kind}?id=${encodeURIComponent(id)}`)).toEqual({ ok: true });
      }
      expect(await list(kind)).toEqual({ items: [] });
    };
    expect(await list('functions')).toMatchObject({ items: [{ name: 'double' }] });
    expect(await list('artifacts')).toMatchObject({ items: [{ name: 'a.txt', bytes: 4, mime_type: 'text/plain' }] });
    await removeAll('functions');
    await removeAll('artifacts');
    const id = await bridgeOf(ui);
    await expect.poll(async () => (await list('checkpoints')).items, WAIT).not.toEqual([]);
    const [saved] = (await list('checkpoints')).items;
    expect(saved).toMatchObject({ name: 'kept', removable: false });
    await expect(ui.remove(`/api/stored/checkpoints?id=${encodeURIComponent(saved?.id ?? '')}`)).rejects.toThrow('409');
    await ui.post(`/api/bridges/${id}/sessions/kept/end`);
    await bridge.client.close();
    await expect.poll(async () => (await list('checkpoints')).items[0]?.removable, WAIT).toBe(true);
    await removeAll('checkpoints');
  });
});
