// Tags: full, bubblewrap
/** Code that goes on calling servers when its cell is over: for the person, and in the log, it has ended. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { PAST_THE_PROXIES } from '../faults/cases/hostile-python.ts';
import { enginesForBridge, type NotesBridge, startNotes } from '../support/attacks.ts';
import { pause } from '../support/pause.ts';

/** Longer than the deadline of the cell, also on a busy machine. Chosen. */
const WAIT_SECONDS = 12;

for (const engine of await enginesForBridge()) {
  describe(`after the cell on ${engine.label}`, () => {
    let bridge: NotesBridge;
    const run = (code: string, timeout = 60) => bridge.runPython(code, { servers: ['notes'], timeout });
    beforeAll(async () => {
      bridge = await startNotes({ limits: [{ server: 'notes', tool: 'write_note', callsPerCell: 2 }] }, { engine });
      await run('await mcp_notes.read_note(path="x")');
    });
    afterAll(() => bridge.close());

    it('calls of a cell that was interrupted are not made, whatever it claims', async () => {
      const { text } = await run(
        `${PAST_THE_PROXIES}
def calls(first, count, tool, **given):
    params = {"server": "notes", "tool": tool, "arguments": given}
    write(b"".join(frame(type="call", call=first + n, method="call_tool", params=params) for n in range(count)))
calls(1_000_000, 1_024, "wait", seconds=${WAIT_SECONDS})
calls(2_000_000, 20, "add_note")
try:
    while True: time.sleep(0.05)
except KeyboardInterrupt:
    write(frame(type="result", cell=CELL, outcome="ok", value="'it ended well'"))
    time.sleep(60)`,
        6,
      );
      expect(text).toContain('it ended well');
      await run('1');
      await pause((WAIT_SECONDS + 1) * 1_000, 'those that ran leave their places to the others when they have waited');
      expect(bridge.ledger().filter((line) => line.includes('add_note'))).toEqual([]);
    });

    it('a program neither goes on calling nor gives later cells another budget', async () => {
      const written = () => bridge.ledger().filter((line) => line.includes('write_note')).length;
      const code =
        'for (;;) { await mcp.notes.write_note({}).catch(() => 0); await new Promise((r) => setTimeout(r, 50)); }';
      await run(`import asyncio
task = asyncio.create_task(runtime.run("javascript", ${JSON.stringify(code)}, timeout=40))
for _ in range(600):
    await asyncio.sleep(0.05)
    try: await mcp_notes.write_note()
    except PolicyError: break`);
      const { text } = await run(`made = 0
for _ in range(40):
    try: await mcp_notes.write_note(); made += 1
    except PolicyError: pass
    await asyncio.sleep(0.05)
made`);
      expect(text).toBe('2');
      expect(written()).toBeLessThanOrEqual(4);
    });
  });
}
