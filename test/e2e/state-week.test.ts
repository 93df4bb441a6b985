// Tags: anywhere, full
/** A week of work in one named session, over ten starts of the bridge, with idle times in between: nothing is lost. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { startBridge } from '../support/bridge-client.ts';
import { coverEngines } from '../support/covered-engines.ts';

const STARTS = 10;
const EVENT_MS = 20_000;
const session = 'week';

/** Adds a variable, a function, and a file, and changes what earlier days have made. */
function work(day: number): string {
  return `
day_${day} = {"day": ${day}, "rows": list(range(${day}))}
log = globals().get("log", []); log.append(day_${day})
def count_${day}(): return len(log) + ${day}
open("day_${day}.txt", "w").write("x" * ${day})`;
}

/** Lists what is missing or wrong after this many days. */
function review(days: number): string {
  return `
import os
_wrong = []
for _day in range(${days}):
    if globals().get(f"day_{_day}") != {"day": _day, "rows": list(range(_day))}: _wrong.append(f"day_{_day}")
    elif log[_day] is not globals()[f"day_{_day}"]: _wrong.append(f"identity of day_{_day}")
    if globals()[f"count_{_day}"]() != ${days} + _day: _wrong.append(f"count_{_day}")
    if os.path.getsize(f"day_{_day}.txt") != _day: _wrong.append(f"day_{_day}.txt")
_wrong`;
}

// One is enough: every kind of value is kept on each of them (state.test.ts).
for (const engine of (await coverEngines()).slice(0, 1)) {
  describe(`a session on ${engine.label}`, () => {
    it('has everything after ten starts of the bridge and as many idle times', async () => {
      const stateDir = mkdtempSync(join(tmpdir(), 'bridge-week-'));
      onTestFinished(() => rmSync(stateDir, { recursive: true, force: true }));
      for (let day = 0; day < STARTS; day += 1) {
        let log = '';
        const env = {
          MCP_BRIDGE_STATE_DIR: stateDir,
          MCP_BRIDGE_RUNTIME_IDLE_TIMEOUT: '200ms',
          MCP_BRIDGE_LOG_LEVEL: 'DEBUG',
        };
        const bridge = await startBridge({
          engine,
          env,
          onLog: (text) => {
            log += text;
          },
        });
        try {
          expect((await bridge.runPython(work(day), { session })).isError).toBe(false);
          // A night in which nothing happens.
          await expect.poll(() => log, { timeout: EVENT_MS, interval: 20 }).toContain('ended, because it was idle');
          expect((await bridge.runPython(review(day + 1), { session })).structured['result']).toBe('[]');
        } finally {
          await bridge.close();
        }
      }
    });
  });
}
