/** The cost of the check before a cell runs, timed in the kernel: for 50 lines that call tools, and for `x=1`. */
import { atMost, type Measure, type Quantity } from '../rows.ts';
import { withBridge } from '../support/bridge.ts';
import { ECHO } from '../support/servers.ts';

/** Runs the kernel's check of a cell, including its call to the host. */
const CELL = `
import ast, gc, json, time
gc.unfreeze()
api = next(o for o in gc.get_objects() if type(o).__module__ == 'bridge_kernel.api' and type(o).__name__ == 'Api')
block = """import json
rows = []
for name in ["a", "b"]:
    text = await mcp_echo.echo(text=name)
    if "TODO" in str(text):
        rows.append({"name": name, "count": str(text).count("TODO")})
counts = {row["name"]: row["count"] for row in rows}
both = await asyncio.gather(*[mcp_echo.echo(text=row["name"]) for row in rows])
total = sum(counts.values())
print(f"{total:,} in {len(rows)} files")
"""
async def median_ms(code):
    used = compile(code, 'cell', 'exec', ast.PyCF_ALLOW_TOP_LEVEL_AWAIT).co_names
    samples = []
    for _ in range(REPEATS):
        tree = ast.parse(code)  # A tree keeps what was found in it.
        start = time.perf_counter()
        checking = api.check(tree, code, used)
        if checking is not None:
            await checking
        samples.append((time.perf_counter() - start) * 1000)
    return sorted(samples)[len(samples) // 2]
print(json.dumps([await median_ms(block * 5), await median_ms("x=1")]))
`;
/** Chosen: the check of 50 lines must not be noticeable. */
const MAX_CHECK_MS = 2;

export const cellCheck: Measure = {
  name: 'cell-check',
  title: 'check of a cell before it runs',
  isForAllEngines: true,
  run: (context) =>
    withBridge(context, { servers: { echo: ECHO } }, async ({ run, engine }) => {
      await run('await mcp_echo.echo(text="x")', { servers: ['echo'] });
      const code = CELL.replace('REPEATS', String(context.repeats(200)));
      const [lines, smallest] = JSON.parse(await run(code, { servers: ['echo'] })) as [number, number];
      const measured: Quantity = { value: lines, unit: 'ms' };
      return [
        {
          figure: 'check of a cell of 50 lines with calls, p50',
          engine: engine(),
          measured,
          detail: `x=1: ${(smallest * 1000).toFixed(1)} µs`,
          goals: [atMost(measured, MAX_CHECK_MS)],
        },
      ];
    }),
};
