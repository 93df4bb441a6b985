// Tags: full, bubblewrap
/** Ways to lose what a session has without a word, or to have its state do something while it is saved or restored. */
import { execFileSync } from 'node:child_process';
import { closeSync, mkdirSync, mkdtempSync, openSync, rmSync, writeSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startNotes } from '../support/attacks.ts';
import { type BridgeClient, type BridgeOptions, startBridge } from '../support/bridge-client.ts';
import { coverEngines } from '../support/covered-engines.ts';
import type { TestEngine } from '../support/engines.ts';
import { PATIENCE } from '../support/patience.ts';
import { pause } from '../support/pause.ts';

const EVENT_MS = 30_000 * PATIENCE;
const TEST_MS = 300_000;
/** Cells follow each other faster than a session counts as quiet. */
const BETWEEN_CELLS_MS = 100;

/** No single variable is large. */
const LARGE = 'for number in range(270):\n    globals()[f"v{number}"] = bytes(1 << 20)';
/** Whether a sandbox restores the object, and not a copy of the process that only tries to. In a method, names of cells are not there yet. */
const IS_REAL = `try:
            import resource
            is_real = resource.getrlimit(resource.RLIMIT_NOFILE)[0] > 0
        except ImportError:
            is_real = True`;

for (const engine of await coverEngines()) {
  describe(`state on ${engine.label}`, { timeout: TEST_MS }, () => {
    attack(engine);
  });
}

function attack(engine: TestEngine): void {
  const stateDir = mkdtempSync(join(tmpdir(), 'bridge-lost-'));
  const open: BridgeClient[] = [];
  let log = '';

  const start = async (env: BridgeOptions['env'] = {}): Promise<BridgeClient> => {
    log = '';
    const onLog = (text: string): void => {
      log += text;
    };
    const all = { MCP_BRIDGE_STATE_DIR: stateDir, MCP_BRIDGE_LOG_LEVEL: 'DEBUG', ...env };
    const bridge = await startBridge({ engine, env: all, onLog });
    open.push(bridge);
    return bridge;
  };
  const logged = (what: string) =>
    expect.poll(() => log, { timeout: 3 * EVENT_MS, interval: 20 }).toMatch(new RegExp(what));
  const killed = async (bridge: BridgeClient): Promise<void> => {
    process.kill(bridge.pid, 'SIGKILL');
    await bridge.close();
  };

  afterAll(async () => {
    await Promise.all(open.map((bridge) => bridge.close().catch(() => undefined)));
    rmSync(stateDir, { recursive: true, force: true });
  });

  it('that a long cell follows at once is saved before that', async () => {
    const session = 'before-long';
    const bridge = await start();
    await bridge.runPython('before = 3', { session });
    bridge.runPython('import time; time.sleep(100)', { session, timeout: 100 }).catch(() => undefined);
    await logged('session before-long: checkpoint after cell 1');
    await killed(bridge);
    const later = await start();
    expect((await later.runPython('before', { session })).structured['result']).toBe('3');
    await later.close();
  });

  // No answer said so, and after a restart the next bridge restored cell 1 as if nothing were missing.
  it('that is larger than a checkpoint may be is missed, and the answers say so', async () => {
    const session = 'large';
    const bridge = await start({ MCP_BRIDGE_MEMORY: '1g' });
    await bridge.runPython('a = 1', { session });
    await logged('session large: checkpoint after cell 1');
    await bridge.runPython(LARGE, { session, timeout: 60 });
    await logged('session large: no checkpoint after cell 2');
    const next = await bridge.runPython('b = 2\na', { session, timeout: 60 });
    expect(next.text).toMatch(
      /^1\nnotices:\nThe state of this session is not saved: it is larger than 268,435,456 bytes, .* It was last saved after cell 1; what later cells change is lost/,
    );
    expect((await bridge.runPython('a', { session, timeout: 60 })).text).toBe('1');
    await bridge.close();
    const later = await start();
    const { text, structured } = await later.runPython('"b" in globals()', { session });
    expect(structured['result']).toBe('False');
    expect(text).toMatch(
      /^Restored 1 variable \(\w+\) and 0 files as they were after cell 1 .*; what cells 2 to 4 changed is lost\./m,
    );
    await later.close();
  });

  it('of a bridge that is killed before it saves is missed by the next one', async () => {
    const session = 'killed';
    const bridge = await start();
    await bridge.runPython('import time; time.sleep(0.3); n = 1', { session });
    await killed(bridge);
    const second = await start();
    const never = await second.runPython('n = 2', { session });
    expect(never.text).toMatch(/^State was lost: cell 1 of this session ran before, and nothing of it was saved\./m);
    await logged('session killed: checkpoint after cell 2');
    await second.runPython('time = __import__("time"); time.sleep(0.3); n = 3', { session });
    await killed(second);
    const third = await start();
    const { text, structured } = await third.runPython('n', { session });
    expect(structured['result']).toBe('2');
    expect(text).toMatch(/ as they were after cell 2 .*; what cell 3 changed is lost\./);
    await third.close();
  });

  it('is saved while cells follow each other without a pause', async () => {
    const session = 'busy';
    const bridge = await start();
    const end = performance.now() + EVENT_MS;
    await bridge.runPython('data = [str(i) for i in range(100_000)]\ndef f(): return 1\nn = 0', { session });
    while (performance.now() < end && !log.includes('session busy: checkpoint after cell')) {
      await bridge.runPython('n += 1', { session });
      await pause(BETWEEN_CELLS_MS, 'the time is the point: shorter than the quiet before a checkpoint');
    }
    expect(log).toMatch(/session busy: checkpoint after cell \d+/);
    await bridge.close();
  });

  it('names running threads and tasks that no checkpoint keeps', async () => {
    const bridge = await start();
    const thread = `import threading
def poll():
    time.sleep(600)
threading.Thread(target=poll, daemon=True).start()
threading.Thread(target=poll, daemon=True, name="my poller").start()`;
    const code = `import asyncio, time
async def watch():
    await asyncio.sleep(600)
kept = [asyncio.create_task(watch()) for _ in range(2)]
job = runtime.background(asyncio.sleep(600), name="tick")
${engine.name === 'embedded' ? '' : thread}
runtime.checkpoint()`;
    const { text } = await bridge.runPython(code, { session: 'threads' });
    const lost = /Not kept: (.*)\.$/m.exec(text)?.[1]?.split(', ') ?? [];
    expect(lost).toEqual(
      expect.arrayContaining([
        'watch (a running task)',
        'tick (a background job)',
        ...(engine.name === 'embedded' ? [] : ['poll (a running thread)', 'my_poller (a running thread)']),
      ]),
    );
    await bridge.close();
  });

  // They were gone after a restore, and no answer said so.
  it('names files that are not in its folder', async () => {
    const bridge = await start();
    const code = 'open("/tmp/rows.csv", "w").write("1")\nopen("kept.csv", "w").write("1")\nruntime.checkpoint()';
    const { text } = await bridge.runPython(code, { session: 'elsewhere' });
    expect(text).toContain('and 1 file. Not kept: tmp (files outside of /workspace).');
    await bridge.close();
  });

  // A job had collected 30 values when its session was idle; 3 of them were restored, and a file that a program wrote was missing.
  it.each([{ idle: true }, { idle: false }])(
    'that work changes after its cell is saved at the end: idle $idle',
    async ({ idle }) => {
      const session = `goes-on-${idle}`;
      const bridge = await start(idle ? { MCP_BRIDGE_RUNTIME_IDLE_TIMEOUT: '6s' } : {});
      const code = `import asyncio
data = []
async def collect():
    for number in range(30):
        await asyncio.sleep(0.1)
        data.append(number)
job = runtime.background(collect(), "collect")
${
  engine.name === 'embedded'
    ? ''
    : `import subprocess
pid = subprocess.Popen(["sh", "-c", "sleep 3; echo late > late.txt"]).pid`
}`;
      await bridge.runPython(code, { session });
      await logged(`session ${session}: checkpoint after cell 1`);
      if (idle) {
        await logged(`session ${session}: sandbox .* ended, because it was idle`);
      } else {
        await pause(5_000, 'the work goes on without a sign of it');
        await bridge.close();
      }
      const later = idle ? bridge : await start();
      const result = await later.runPython('import os; len(data), os.path.exists("late.txt")', { session });
      expect(result.structured['result']).toBe(`(30, ${engine.name === 'embedded' ? 'False' : 'True'})`);
      await later.close();
    },
  );

  describe('whose code runs while it is moved', () => {
    let bridge: Awaited<ReturnType<typeof startNotes>>;
    beforeAll(async () => {
      bridge = await startNotes({ rules: [] }, { engine });
      open.push(bridge);
    });

    // Three calls arrived during someone's `1 + 1`, under the number of a cell that never started.
    it('calls no server', async () => {
      const session = 'calls';
      const code = `import asyncio, os
class Calls:
    def __init__(self, tool): self.tool = tool
    def __setstate__(self, state):
        import asyncio
        ${IS_REAL}
        self.tool = tool = state["tool"]
        if is_real:
            asyncio.ensure_future(tool(path="task"))
            try:
                tool.sync(path="caught")
            except Exception:
                pass
            tool.sync(path="raised")
c = Calls(mcp_notes.read_note); kept = 1
await mcp_notes.read_note(path="allowed")
runtime.checkpoint()`;
      const saved = await bridge.runPython(code, { session, servers: ['notes'] });
      expect(saved.text).toMatch(/The session is saved: \d+ variables and 0 files\.$/m);
      const calls = bridge.ledger().length;
      expect(calls).toBe(1);
      await bridge.runPython('os._exit(1)', { session });
      const { text, structured } = await bridge.runPython('1 + kept', { session });
      expect(structured['result']).toBe('2');
      expect(text).toContain('Not restored: c (a call while it was saved or restored).');
      await bridge.runPython('await asyncio.sleep(0.5)', { session });
      expect(bridge.ledger()).toHaveLength(calls);
    });

    it('does not keep an answer longer than its cell may take', async () => {
      const session = 'slow';
      const seconds = 10 * PATIENCE;
      const code = `import os
class Slow:
    def __getstate__(self): return {"x": 1}
    def __setstate__(self, state):
        import time
        ${IS_REAL}
        time.sleep(${seconds} if is_real else 0)
s = Slow(); runtime.checkpoint()`;
      expect((await bridge.runPython(code, { session })).text).toContain('The session is saved: ');
      await bridge.runPython('os._exit(1)', { session });
      const tooShort = async () => (await bridge.runPython('1 + 1', { session, timeout: 1 })).text;
      // On a busy machine, a sandbox may not even start within that time.
      await expect
        .poll(tooShort, { timeout: EVENT_MS })
        .toMatch(/CELL_DEADLINE: the cell did not begin within its 1 s, .* still being restored/);
      const { text, structured } = await bridge.runPython('1 + 1', { session, timeout: 60 });
      expect(structured['result']).toBe('2');
      expect(text).toMatch(/Restored \d+ variables/);
    });

    it('does not keep the answer of a cell that saves it, either', async () => {
      const session = 'slow-save';
      const code = `import time
class Slow:
    def __getstate__(self):
        time.sleep(5)
        return {}
s = Slow(); runtime.checkpoint("slow")`;
      await bridge.runPython('1', { session });
      const { text } = await bridge.runPython(code, { session, timeout: 1 });
      expect(text).toContain('The session is not saved yet: that takes longer than this cell may.');
      const says = async () => (await bridge.runPython('1 + 1', { session, timeout: 60 })).text;
      await expect
        .poll(says, { timeout: EVENT_MS, interval: 500 })
        .toMatch(/^2\nnotices:\nThe checkpoint 'slow' is saved: /);
    });
  });

  describe.skipIf(process.getuid?.() !== 0 || process.platform !== 'linux')(
    'in a folder that cannot be written',
    () => {
      const folder = mkdtempSync(join(tmpdir(), 'bridge-full-'));
      const state = join(folder, 'state');
      const session = 'work';
      beforeAll(() => {
        mkdirSync(state);
        execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=64m', 'tmpfs', state]);
      });
      afterAll(() => {
        execFileSync('umount', ['-l', state]);
        rmSync(folder, { recursive: true });
      });

      it('goes on from what was saved, and says that nothing more is', async () => {
        const env = { MCP_BRIDGE_STATE_DIR: state };
        const bridge = await start(env);
        await bridge.runPython('rows = [1]', { session });
        await logged('session work: checkpoint after cell 1');
        await bridge.close();
        for (const { makeBad, reason } of [
          { makeBad: () => fill(join(state, 'fill')), reason: 'the disk of the state directory is full' },
          { makeBad: () => remount(state, 'ro'), reason: 'the state directory is read-only' },
        ]) {
          makeBad();
          const later = await start(env);
          const { text, structured } = await later.runPython('rows', { session });
          expect(structured['result']).toBe('[1]');
          expect(text).toMatch(/^Restored 1 variable \(\w+\) and 0 files as they were after cell 1 /m);
          expect(text).toContain(`\nThe state of this session is not saved: ${reason}.`);
          // Once. That the audit log cannot be written either may be known only now.
          expect((await later.runPython('rows.append(2)', { session })).text).not.toContain(
            'The state of this session',
          );
          await later.close();
        }
        remount(state, 'rw');
        rmSync(join(state, 'fill'));
        const last = await start(env);
        expect((await last.runPython('rows', { session })).structured['result']).toBe('[1]');
        await last.close();
      });
    },
  );
}

function remount(folder: string, mode: 'ro' | 'rw'): void {
  execFileSync('mount', ['-o', `remount,${mode}`, folder]);
}

/** Until the disk is full. */
function fill(path: string): void {
  const file = openSync(path, 'w');
  for (const bytes of [1024 * 1024, 4096, 1]) {
    const piece = Buffer.alloc(bytes, 1);
    try {
      for (;;) {
        writeSync(file, piece);
      }
    } catch {
      // No more of this size fits.
    }
  }
  closeSync(file);
}
