/** Tools called by pandas, which does not await, values of pandas and NumPy as arguments, and in a restored session. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { fixtureServer, startBridge } from '../support/bridge-client.ts';
import { coverContainerEngines } from '../support/covered-engines.ts';
import { TEST_IMAGES } from '../support/engines.ts';

const engines = await coverContainerEngines();

const CODE = `
import numpy as np, pandas as pd
frame = pd.DataFrame({"seats": [1, 2]})
print(frame["seats"].apply(lambda n: mcp_booking.book.sync("BER", n)).tolist())
print(frame.apply(lambda row: mcp_booking.book.sync(from_="BER", seats=row["seats"]), axis=1).tolist())
mcp_booking.anything.sync(rows=frame["seats"], day=pd.Timestamp("2026-01-02"), x=np.float64(1.5), y=np.array([1, 2]))
try:
    frame["seats"].apply(lambda n: mcp_booking.book.sync("BER", n + 9))
except ValueError as error:
    print(error.message)
`;

const ARRAYS = `
import numpy as np, pandas as pd
whole = np.arange(12).reshape(3, 4)
row, column, turned, fixed = whole[1], whole[:, 2], whole.T, whole[2:]
fixed.flags.writeable = False
days = np.array(["2020-01-01", "2021-01-01"], dtype="M8[D]")
first = days[:1]
frame = pd.DataFrame({"n": [1, 2, 3, 4], "day": pd.date_range("2026-01-01", periods=4)})
last = frame.iloc[2:]
runtime.checkpoint()
`;
const CHANGED = `
whole[1, 2] = -7
first[0] = "1999-01-01"
print(row[2], column[1], turned[2, 1], not fixed.flags.writeable, last["n"].tolist(), last.shape[1], (days.astype("M8[Y]").astype(int) + 1970).tolist())
`;

describe.each(engines)('pandas on $label', (engine) => {
  it('calls tools in apply; a wrong argument raises before anything is sent', async () => {
    const bridge = await startBridge({
      engine,
      env: { MCP_BRIDGE_IMAGE: TEST_IMAGES.datascience },
      servers: (folder) => ({ booking: fixtureServer('booking.mjs', join(folder, 'ledger')) }),
    });
    onTestFinished(async () => bridge.close());
    const { text } = await bridge.runPython(CODE, { servers: ['booking'], timeout: 60 });
    expect(text).toBe("['done', 'done']\n['done', 'done']\nbooking.book: seats must be at most 9, not 10 (int)");
    const calls = readFileSync(join(bridge.folder, 'ledger'), 'utf8')
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line) as unknown);
    expect(calls.slice(4)).toEqual([
      { tool: 'anything', arguments: { rows: [1, 2], day: '2026-01-02T00:00:00', x: 1.5, y: [1, 2] } },
    ]);
  });

  it('arrays that share memory still do after the session was restored', async () => {
    const bridge = await startBridge({ engine, env: { MCP_BRIDGE_IMAGE: TEST_IMAGES.datascience } });
    onTestFinished(async () => bridge.close());
    const session = 'arrays';
    await bridge.runPython(ARRAYS, { session, timeout: 60 });
    await bridge.runPython('import os\nos._exit(0)', { session });
    const { text } = await bridge.runPython(CHANGED, { session, timeout: 60 });
    expect(text).toContain('-7 -7 -7 True [3, 4] 2 [1999, 2021]');
  });
});
