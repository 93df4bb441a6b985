// Tags: full, fresh
/** Code that tries to do something without leaving a record, or to push out the record of others. */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { PAST_THE_PROXIES } from '../faults/cases/hostile-python.ts';
import { amount, enginesForBridge, type NotesBridge, startNotes } from '../support/attacks.ts';
import { startHttpBridge } from '../support/http-bridge.ts';
import { descendantsOf, isAlive } from '../support/processes.ts';

/** Fewer than a cell may make in all. */
const FLOOD = amount(4_000, 90_000);
const REAL = 25;
const NOTICE = /([\d,]+) records were lost/;

type Line = Record<string, unknown>;

/** Raw frames: `flood` calls of a tool that does not exist or is denied, then real ones, then more of the first. */
const attack = (tool: string) => `${PAST_THE_PROXIES}
def call(number, tool):
    params = {"server": "notes", "tool": tool, "arguments": {}}
    return frame(type="call", call=number, method="call_tool", params=params)
def flood(start, calls, name):
    write(b"".join(call(start + n, name(n)) for n in range(calls)))
name = lambda n: ${tool}
flood(1_000_000, ${FLOOD / 2}, name)
for _ in range(${REAL}): await ask("call_tool", {"server": "notes", "tool": "add_note", "arguments": {}})
flood(2_000_000, ${FLOOD / 2}, name)
await asyncio.sleep(1)
print("done")`;

for (const engine of await enginesForBridge()) {
  describe.each(['1', 'required'])(`attacks on the audit log (%s) on ${engine.label}`, (mode) => {
    let bridge: NotesBridge;
    beforeAll(async () => {
      bridge = await startNotes(
        { rules: [{ effect: 'deny', server: 'notes', tool: 'write_note' }] },
        {
          engine,
          env: { MCP_BRIDGE_AUDIT: mode, MCP_BRIDGE_AUDIT_MAX_SIZE: '1m', MCP_BRIDGE_MAX_TIMEOUT: '300' },
          onLog: () => undefined,
        },
      );
    });
    afterAll(() => bridge.close());

    const folder = () => join(bridge.folder, 'audit');
    const records = (session: string): Line[] =>
      readdirSync(folder())
        .flatMap((name) => textOf(join(folder(), name)).trimEnd().split('\n'))
        .filter((line) => line !== '')
        .map((line) => JSON.parse(line) as Line)
        .filter((record) => JSON.stringify([record['cell'], record['id'], record['session']]).includes(session));

    it('every call that reached the server is recorded, whatever is refused around it', async () => {
      const floods = ['"write_note"', 'f"no_such_tool_{n}"'];
      for (const [index, tool] of floods.entries()) {
        const before = index * REAL;
        const session = `flood-${index}`;
        const { text } = await bridge.runPython(attack(tool), { servers: ['notes'], session, timeout: 120 });
        expect(text).toContain('done');
        expect(text).not.toMatch(NOTICE);
        expect(bridge.ledger()).toHaveLength(before + REAL);
        const found = () => records(session);
        await expect.poll(() => found().filter(({ type }) => type === 'cell_ended')).toHaveLength(1);
        const calls = found().filter(({ type }) => type === 'call');
        expect(calls.filter(({ tool: name, outcome }) => name === 'add_note' && outcome === 'ok')).toHaveLength(REAL);
        // Some of the flood may be refused before it is a call of a tool, for which no record is due.
        const counted = found().filter(({ type }) => type === 'calls_refused');
        const refused = counted.reduce((sum, record) => sum + Number(record['calls']), calls.length - REAL);
        expect(refused).toBeGreaterThan(1_000);
        // What is only counted is written once a second, so a longer flood has more of it.
        expect(found().length).toBeLessThan(amount(500, FLOOD / 100));
      }
    });

    it('what one session writes does not remove what others did', async () => {
      await bridge.runPython('evidence = 1', { session: 'quiet' });
      const before = bridge.ledger().length;
      const real = amount(5_000, 20_000);
      const { text } = await bridge.runPython(
        `${PAST_THE_PROXIES}
for _ in range(${real / 500}):
    await asyncio.gather(*[ask("call_tool", {"server": "notes", "tool": "add_note", "arguments": {}}) for _ in range(500)])
print("done")`,
        { servers: ['notes'], session: 'busy', timeout: 120 },
      );
      expect(text).toContain('done');
      expect(text).not.toMatch(NOTICE);
      expect(bridge.ledger()).toHaveLength(before + real);
      const started = records('quiet').filter(({ type }) => type === 'cell_started');
      expect(started).toMatchObject([{ code: 'evidence = 1' }]);
    });
  });
}

for (const engine of await enginesForBridge()) {
  // The record of a call was written when it had ended: of 7,752 calls that had reached the server, 783 had none.
  it(`a bridge that is killed leaves a required record of every call that reached a server, on ${engine.label}`, async () => {
    const bridge = await startNotes({}, { engine, env: { MCP_BRIDGE_AUDIT: 'required' }, onLog: () => undefined });
    const below = () => descendantsOf(bridge.pid);
    const code = `${PAST_THE_PROXIES}
while True:
    await asyncio.gather(*[ask("call_tool", {"server": "notes", "tool": "add_note", "arguments": {}}) for _ in range(100)])`;
    const ran = bridge.runPython(code, { servers: ['notes'], session: 'killed', timeout: 120 }).catch(() => undefined);
    await expect.poll(() => bridge.ledger().length, { timeout: 60_000 }).toBeGreaterThan(amount(500, 5_000));
    const others = below();
    process.kill(bridge.pid, 'SIGKILL');
    await ran;
    // The server goes on with what it has received.
    await expect.poll(() => others.filter(isAlive)).toEqual([]);
    const folder = join(bridge.folder, 'audit');
    const lines = readdirSync(folder).flatMap((name) => textOf(join(folder, name)).split('\n'));
    const calls = lines.filter((line) => line.includes('"type":"call"')).map((line) => JSON.parse(line) as Line);
    expect(new Set(calls.map(({ id }) => id)).size).toBeGreaterThanOrEqual(bridge.ledger().length);
    await bridge.close();
  });

  // Clients choose names of sessions, and each name had a share of its own.
  it(`one token does not remove the records of another, under however many names, on ${engine.label}`, async () => {
    const bridge = await startHttpBridge({
      engine,
      tokens: ['alice', 'bob'],
      env: { MCP_BRIDGE_AUDIT_MAX_SIZE: '1m' },
    });
    onTestFinished(() => bridge.remove());
    const [alice, bob] = await Promise.all(bridge.tokens.map((token) => bridge.connect({ era: '2026-07-28', token })));
    await alice?.run('evidence = 1', { session: 'quiet' });
    for (let number = 0; number < amount(6, 40); number += 1) {
      await bob?.run(`# ${'x'.repeat(400_000)}\n1`, { session: `name-${number}` });
    }
    const folder = join(bridge.folder, 'audit');
    const size = () => readdirSync(folder).reduce((sum, name) => sum + textOf(join(folder, name)).length, 0);
    await expect.poll(size, { timeout: 5_000 }).toBeLessThan(2 * 1024 * 1024);
    const found = await bridge.command('audit', 'search', 'evidence = 1');
    expect(found).toContain('evidence = 1');
    await Promise.all([alice?.close(), bob?.close()]);
  });
}

/** Empty if the bridge has just removed the file to make room. */
function textOf(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return '';
  }
}
