// Tags: full, docker-release, user-release
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

// Missing values of every kind: each was refused, sent as the text "NaT", or sent as null.
const MISSING = `
import datetime, decimal, numpy as np, pandas as pd
days = ["2026-01-02T03:04:05", None]
forms = {
    "float": float("nan"), "numpy": np.float32("nan"), "NaT": pd.NaT, "NA": pd.NA, "decimal": decimal.Decimal("NaN"),
    "date": np.datetime64("NaT"), "duration": np.timedelta64("NaT"), "masked": np.ma.masked,
    "array": np.array([1.0, np.nan]), "dates": np.array(days, "M8[ns]"), "days": np.array(days, "M8[D]"),
    "objects": np.array([1, pd.NaT], object), "record": np.array([(1, "NaT")], "i4, M8[ns]"),
    "masks": np.ma.array([1, 2], mask=[0, 1]), "period": pd.Period("NaT"),
    "series": pd.Series([1.0, None]), "integers": pd.Series([1, None], dtype="Int64"),
    "times": pd.Series(pd.to_datetime(days)), "zones": pd.Series(pd.to_datetime(days, utc=True)),
    "index": pd.to_datetime(days), "durations": pd.to_timedelta([None, "1s"]),
    "category": pd.Series(["a", None], dtype="category"), "texts": pd.Series(["a", None], dtype="string"),
    "rows": pd.DataFrame({"day": pd.to_datetime(days)}).to_dict("records"), "key": {float("nan"): 1},
}
for name, form in forms.items():
    for value in (form, [form], {"a": form}):
        try:
            await mcp_booking.anything(value=value)
            print(name, "was sent")
        except runtime.ArgumentError as error:
            if "missing value" not in error.message and name not in ("decimal", "key"):
                print(name, error.message)
# Those of pandas were sent as text, the others were refused.
seconds = pd.to_timedelta(["1s"])
for duration in (datetime.timedelta(1), seconds[0], seconds.values[0], seconds, seconds.values, pd.Series(seconds)):
    try:
        await mcp_booking.anything(value=duration)
        print(type(duration), "was sent")
    except runtime.ArgumentError as error:
        if "or the text that the tool expects" not in error.message:
            print(type(duration), error.message)
times = pd.DatetimeIndex(np.array(["2026-01-02T03:04:05", "2026-01-02T03:04:05.000000006"], "M8[ns]"))
frame = pd.DataFrame({"day": times, "n": pd.array([1, None], dtype="Int64"), "x": [None, 1.5]})
await mcp_booking.anything(
    series=pd.Series(times[:1]), array=times.values, day=times.values[:1].astype("M8[D]"), one=times.values[1],
    record=np.array([(1, times.values[0])], "i4, M8[ns]"), full=np.ma.array([1, 2]), square=times.values.reshape(2, 1),
    far=np.datetime64(10**15, "s"), none=frame[["n", "x"]].astype(object).where(frame[["n", "x"]].notna(), None).values,
)
print(runtime.to_toon([pd.NaT, pd.NA, np.datetime64("NaT"), times.values[0]]))
print(runtime.to_toon(frame))
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

  it('refuses missing values and durations of every kind as arguments, and sends times of NumPy as text', async () => {
    const bridge = await startBridge({
      engine,
      env: { MCP_BRIDGE_IMAGE: TEST_IMAGES.datascience },
      servers: (folder) => ({ booking: fixtureServer('booking.mjs', join(folder, 'ledger')) }),
    });
    onTestFinished(async () => bridge.close());
    const { text } = await bridge.runPython(MISSING, { servers: ['booking'], timeout: 60 });
    const first = '2026-01-02T03:04:05';
    const second = '2026-01-02T03:04:05.000000006';
    expect(text).toBe(`[4]: null,null,null,"${first}"\n[2]{day,n,x}:\n  "${first}",1,null\n  "${second}",null,1.5`);
    const [call, ...others] = readFileSync(join(bridge.folder, 'ledger'), 'utf8').trimEnd().split('\n');
    expect(others).toEqual([]);
    expect(JSON.parse(call ?? '')).toEqual({
      tool: 'anything',
      arguments: {
        series: [first],
        array: [first, second],
        day: ['2026-01-02'],
        one: second,
        record: [[1, first]],
        full: [1, 2],
        square: [[first], [second]],
        far: '31690708-07-05T01:46:40',
        none: [
          [1, null],
          [null, 1.5],
        ],
      },
    });
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

  it('names the columns of a frame if code asks for one that it lacks', async () => {
    const bridge = await startBridge({ engine, env: { MCP_BRIDGE_IMAGE: TEST_IMAGES.datascience } });
    onTestFinished(async () => bridge.close());
    const wholeHintOf = async (code: string) =>
      /Hint: .*/.exec((await bridge.runPython(code, { timeout: 60 })).text)?.[0] ?? 'no hint';
    const hintOf = async (code: string) => (await wholeHintOf(code)).replace(/ '\w+' was last set in .*/, '');
    const FRAME = `import pandas as pd
voters = pd.DataFrame({"'vote'": [1], "Age": [30]})
wide = pd.DataFrame({f"c{number}": [0] for number in range(30)})
tabs = pd.DataFrame({"a\\tb": ["1\\t2"]})
`;
    expect(await hintOf(`${FRAME}voters.age`)).toBe(
      `Hint: The frame has the columns "'vote'", 'Age'. Did you mean 'Age'?`,
    );
    const near = `Hint: The frame has the columns "'vote'", 'Age'. Did you mean "'vote'"?`;
    for (const code of ["voters['vote']", "voters.groupby('vote').Age.sum()", "voters.sort_values('vote')"]) {
      expect(await hintOf(code)).toBe(near);
    }
    expect(await hintOf("wide['d']")).toMatch(/^Hint: The frame has the columns 'c0', .*'c19', … \(30 in all\)\.$/);
    expect(await hintOf('tabs.a')).toBe(
      String.raw`Hint: The frame has one column; its name contains '\t': read it with sep='\t'.`,
    );
    expect(await wholeHintOf("voters['Country']")).toMatch(
      /^Hint: The frame has the columns "'vote'", 'Age'\. 'voters' was last set in cell \d+, before that in cell \d+\.$/,
    );
    for (const code of ["voters.loc['x']", "{}['x']", 'voters.Age.nothing', 'raise KeyError("x")']) {
      expect(await hintOf(code)).toBe('no hint');
    }
  });
});
