// Tags: full, docker-release
/** The local API of running bridges and `top`, with real clients, servers and sandboxes. */
import { execFile } from 'node:child_process';
import { existsSync, readdirSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { findBridges, type LiveClient } from '../../src/record/local-api/client.ts';
import {
  ApprovalSchema,
  BridgeInfoSchema,
  EventSchema,
  type LiveEvent,
  type LiveServer,
  ServerSchema,
  SessionSchema,
} from '../../src/record/local-api/schema.ts';
import { type Asked, type AskingBridge, startAskingBridge } from '../support/asking-bridge.ts';
import { type BridgeClient, CLI, fixtureServer, startBridge } from '../support/bridge-client.ts';
import { coverEngines } from '../support/covered-engines.ts';
import { PATIENCE } from '../support/patience.ts';

// No engine knows of the API, so one is enough.
const engines = (await coverEngines()).slice(0, 1);
const WAIT = { timeout: 20_000 * PATIENCE };
const SERVERS = { echo: fixtureServer('echo.mjs') };
const ECHO = { servers: ['echo'] };
const ENDLESS = 'kept = 7\nprint("begun", flush=True)\nwhile True: pass';

const open: { close(): Promise<void> }[] = [];
afterEach(async () => {
  await Promise.all(open.splice(0).map((each) => each.close()));
});

/** The API of the only bridge of a state directory, once it listens. */
async function findOne(folder: string): Promise<LiveClient> {
  await expect.poll(() => findBridges(folder), WAIT).toHaveLength(1);
  const [client] = await findBridges(folder);
  return client ?? expect.fail('no bridge');
}

const sessions = async (api: LiveClient) => SessionSchema.array().parse(await api.get('/v1/sessions'));

/** Reads events up to one of this type; each is checked against its schema. Resolves when none is missed any more. */
async function collect(api: LiveClient, last: LiveEvent['type']): Promise<{ readonly events: Promise<LiveEvent[]> }> {
  const stream = await api.events(AbortSignal.timeout(60_000 * PATIENCE));
  const read = async (): Promise<LiveEvent[]> => {
    const events: LiveEvent[] = [];
    for await (const event of stream) {
      events.push(EventSchema.parse(event));
      if (event.type === last) {
        break;
      }
    }
    return events;
  };
  return { events: read() };
}

function runTop(folder: string, ...words: string[]): Promise<string> {
  return new Promise((resolve, reject) => {
    const env = { PATH: process.env['PATH'], HOME: folder, MCP_BRIDGE_STATE_DIR: folder };
    execFile(process.execPath, [CLI, 'top', ...words], { env }, (error, out, err) =>
      error === null ? resolve(out) : reject(new Error(err)),
    );
  });
}

describe.each(engines.map((engine) => ({ engine, name: engine.label })))('on $name', ({ engine }) => {
  async function start(env: Record<string, string> = {}): Promise<BridgeClient> {
    const bridge = await startBridge({ engine, servers: () => SERVERS, env });
    open.push(bridge);
    return bridge;
  }

  it('a cell with calls is seen while it runs', async () => {
    const bridge = await start();
    await bridge.runPython('1');
    const api = await findOne(bridge.folder);
    const info = BridgeInfoSchema.parse(await api.get('/v1/bridge'));
    expect(info).toMatchObject({ pid: bridge.pid, transport: 'stdio', client: 'e2e', state_dir: bridge.folder });
    const { events } = await collect(api, 'cell_ended');
    const code = 'print("one")\nawait mcp_echo.echo(text="two")';
    await bridge.runPython(code, ECHO);
    const seen = await events;
    // Output and calls arrive on different ways.
    expect([...new Set(seen.map(({ type }) => type))].filter((type) => type !== 'server_state').toSorted()).toEqual([
      'call_ended',
      'call_started',
      'cell_ended',
      'cell_output',
      'cell_started',
    ]);
    expect(seen[0]).toMatchObject({ session: 'default', code, servers: ['echo'] });
    expect(seen.find(({ type }) => type === 'call_ended')).toMatchObject({
      server: 'echo',
      tool: 'echo',
      status: 'ok',
    });
    expect(seen.at(-1)).toMatchObject({ status: 'success' });
    const [session] = await sessions(api);
    expect(session).toMatchObject({ name: 'default', state: 'idle', cells: 2, servers: ['echo'] });
    // Its memory is that of a Python and less than its limit; WebAssembly does not tell.
    const memory = session?.memory_bytes ?? 0;
    expect(memory > 5e6 && memory < info.settings.memory_bytes).toBe(engine.name !== 'embedded');
    const servers = ServerSchema.array().parse(await api.get('/v1/servers'));
    expect(servers).toMatchObject([{ name: 'echo', state: 'ready', calls: expect.any(Number) }]);
    expect(servers[0]?.calls).toBeGreaterThan(0);
  });

  it('an interrupt ends the cell and keeps variables; end and hibernate say what happened', async () => {
    const bridge = await start();
    await bridge.runPython('1');
    const api = await findOne(bridge.folder);
    await expect(api.post('/v1/sessions/default/interrupt')).rejects.toThrow('No cell of the session');
    const answer = bridge.runPython(ENDLESS, { timeout: 120 });
    await expect.poll(async () => (await sessions(api))[0]?.cell?.output, WAIT).toContain('begun');
    const [running] = await sessions(api);
    expect(running).toMatchObject({ state: 'running', cell: { code: ENDLESS, calls: [] } });
    expect(await api.post('/v1/sessions/default/interrupt')).toEqual({ interrupted: 'default' });
    expect((await answer).text).toContain('CELL_CANCELLED: the operator interrupted the cell; variables are kept');
    expect((await bridge.runPython('kept')).text).toContain('7');
    expect(await api.post('/v1/sessions/default/hibernate')).toEqual({ hibernated: 'default' });
    expect(await sessions(api)).toMatchObject([{ state: 'hibernated', saved: expect.any(String) }]);
    const woken = (await bridge.runPython('kept')).text;
    expect(woken).toContain('7');
    expect(await api.post('/v1/sessions/default/end')).toEqual({ ended: 'default' });
    expect((await bridge.runPython('1')).text).toMatch(/the operator ended it|after cell/);
    await expect(api.post('/v1/sessions/nothing/end')).rejects.toThrow("There is no session 'nothing'");
  });

  it('servers are stopped and started', async () => {
    const bridge = await start();
    await bridge.runPython('await mcp_echo.echo(text="x")', ECHO);
    const api = await findOne(bridge.folder);
    const state = async () => ((await api.get('/v1/servers')) as LiveServer[])[0];
    const pid = (await state())?.pid;
    expect(await api.post('/v1/servers/echo/stop')).toEqual({ stopped: 'echo' });
    expect(await state()).toMatchObject({ state: 'idle' });
    expect((await bridge.runPython('await mcp_echo.echo(text="again")', ECHO)).text).toContain('again');
    expect((await state())?.pid).not.toBe(pid);
    await api.post('/v1/servers/echo/stop');
    expect(await api.post('/v1/servers/echo/start')).toEqual({ started: 'echo' });
    expect(await state()).toMatchObject({ state: 'ready', tools: expect.any(Number) });
    expect(await api.post('/v1/servers/echo/refresh')).toEqual({ refreshed: 'echo' });
    await expect(api.post('/v1/servers/none/stop')).rejects.toThrow("There is no server 'none'");
  });

  it('several bridges are shown, and one that was killed leaves nothing', async () => {
    const first = await start();
    const second = await start({ MCP_BRIDGE_STATE_DIR: first.folder });
    await Promise.all([first.runPython('a = 1'), second.runPython('b = 1', { session: 'mine' })]);
    await expect.poll(() => findBridges(first.folder), WAIT).toHaveLength(2);
    const shown = await runTop(first.folder, '--once');
    expect(shown).toMatch(/^2 bridges, 2 sessions, 0 cells running, 0 calls running\n/);
    expect(shown).toMatch(new RegExp(`${first.pid} +e2e +default +idle`));
    expect(shown).toMatch(new RegExp(`${second.pid} +e2e +mine +idle`));
    const { bridges } = JSON.parse(await runTop(first.folder, '--json')) as { bridges: { pid: number }[] };
    expect(new Set(bridges.map(({ pid }) => pid))).toEqual(new Set([first.pid, second.pid]));

    process.kill(second.pid, 'SIGKILL');
    await expect.poll(() => findBridges(first.folder), WAIT).toHaveLength(1);
    expect(readdirSync(join(first.folder, '.live'))).toHaveLength(2);
    await first.client.close();
    await expect.poll(() => existsSync(join(first.folder, '.live')), WAIT).toBe(false);
    expect(await runTop(first.folder, '--once')).toBe(
      'No bridge runs on this state directory, or none has been used yet.\n',
    );
  });

  it('only the user can enter the folder and use the socket', async () => {
    const bridge = await start();
    await bridge.runPython('1');
    await findOne(bridge.folder);
    const folder = join(bridge.folder, '.live');
    const modes = readdirSync(folder).map((name) => statSync(join(folder, name)).mode & 0o777);
    expect([statSync(folder).mode & 0o777, ...modes]).toEqual([0o700, 0o600, 0o600]);
  });

  it('a client that only stays is shown, and with MCP_BRIDGE_LIVE=off nothing is', async () => {
    const staying = await start();
    const silent = await start({ MCP_BRIDGE_LIVE: 'off' });
    await Promise.all([staying.client.listTools(), silent.client.listTools()]);
    const api = await findOne(staying.folder);
    expect(await sessions(api)).toEqual([]);
    await silent.runPython('1');
    expect([existsSync(join(silent.folder, '.live')), await findBridges(silent.folder)]).toEqual([false, []]);
  });

  describe('a question to the person', () => {
    const POLICY = { rules: [{ effect: 'ask', server: 'echo', tool: 'echo' }] };

    async function ask(person: (asked: Asked, signal: AbortSignal) => Promise<never> | { action: 'decline' }) {
      const withdrawn: boolean[] = [];
      const bridge: AskingBridge = await startAskingBridge({
        engine,
        era: '2025-11-25',
        servers: SERVERS,
        policy: POLICY,
        person: (asked, signal) => {
          signal.addEventListener('abort', () => withdrawn.push(true));
          return person(asked, signal);
        },
      });
      open.push(bridge);
      await bridge.run('1', ECHO);
      return { bridge, withdrawn, api: await findOne(bridge.folder) };
    }

    const approvals = async (api: LiveClient) => ApprovalSchema.array().parse(await api.get('/v1/approvals'));

    it('is answered over the API while the client waits, and the audit log says so', async () => {
      const { api, bridge, withdrawn } = await ask(() => new Promise<never>(() => undefined));
      const answer = bridge.run('await mcp_echo.echo(text="allowed")');
      await expect.poll(() => approvals(api), WAIT).toHaveLength(1);
      const [question] = await approvals(api);
      expect(question).toMatchObject({
        session: 'default',
        mode: 'form',
        message: expect.stringContaining('Tool: echo'),
      });
      const top = await runTop(bridge.folder, '--once');
      expect(top).toContain('1 question waits for a person');
      expect(top).toMatch(/default +waits for you/);
      expect(top).toMatch(/ deadline paused with .* left$/m);
      const path = `/v1/approvals/${question?.id}`;
      await expect(api.post(path, { answer: 'yes' })).rejects.toThrow('must be one of: Allow once');
      expect(await api.post(path, { answer: 'once' })).toEqual({ answered: question?.id, action: 'accept' });
      expect(await answer).toContain('allowed');
      await expect.poll(() => withdrawn, WAIT).toEqual([true]);
      await expect(api.post(path, { answer: 'no' })).rejects.toThrow(`No question ${question?.id} waits`);
      const audit = await new Promise<string>((resolve) => {
        const env = { PATH: process.env['PATH'], HOME: bridge.folder, MCP_BRIDGE_STATE_DIR: bridge.folder };
        execFile(process.execPath, [CLI, 'audit', 'tail', '-n', '20'], { env }, (_, out) => resolve(out));
      });
      expect(audit).toContain('a question was answered by the operator: Allow once');
    });

    it('no longer waits once the client has answered', async () => {
      const { api, bridge } = await ask(() => ({ action: 'decline' }));
      const { events } = await collect(api, 'approval_answered');
      expect(await bridge.run('await mcp_echo.echo(text="x")')).toContain('APPROVAL_DENIED');
      expect((await events).at(-1)).toMatchObject({ answered_by: 'client', action: 'decline' });
      expect(await approvals(api)).toEqual([]);
    });
  });

  it('10,000 lines and 1,000 calls in a cell are few events, and a reader sees the end', async () => {
    const bridge = await start();
    await bridge.runPython('await mcp_echo.echo(text="warm")', ECHO);
    const api = await findOne(bridge.folder);
    const { events } = await collect(api, 'cell_ended');
    const code =
      'import asyncio\nfor i in range(10_000): print(i)\nlen(await asyncio.gather(*[mcp_echo.echo(text=str(i)) for i in range(1_000)]))';
    expect((await bridge.runPython(code, { ...ECHO, timeout: 120 })).text).toContain('1000');
    const seen = await events;
    const count = (type: LiveEvent['type']) => seen.filter((event) => event.type === type).length;
    expect([count('call_started'), count('call_ended'), count('lost')]).toEqual([1_000, 1_000, 0]);
    expect(count('cell_output')).toBeLessThan(200);
  });
});

it('a state directory with a path that is too long for a socket works, too', async () => {
  const [engine] = engines;
  if (engine === undefined) {
    return;
  }
  const bridge = await startBridge({ engine, servers: () => SERVERS });
  open.push(bridge);
  const folder = join(bridge.folder, 'x'.repeat(120));
  const deep = await startBridge({
    engine,
    servers: () => ({}),
    env: { MCP_BRIDGE_STATE_DIR: folder, XDG_RUNTIME_DIR: bridge.folder },
  });
  open.push(deep);
  writeFileSync(join(bridge.folder, 'unused'), '');
  await deep.runPython('1');
  const api = await findOne(folder);
  expect(await sessions(api)).toMatchObject([{ name: 'default' }]);
});
