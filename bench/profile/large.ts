/** `npm run lab -- profile large`: the parts of the time until a result of 64 MiB is a value of code, one after the other. */
import type { BenchContext } from '../context.ts';
import { askServer } from '../measures/large-data.ts';
import { withBridge } from '../support/bridge.ts';
import { HUGE } from '../support/servers.ts';
import { median } from '../support/statistics.ts';

const MIB = 64;
const ROUNDS = 12;

/** Notes when functions of the kernel begin and end. */
const BEGIN = `
import json, time
import bridge_kernel.proxies as _proxies, bridge_kernel.rpc as _rpc
_times = {}
def _note(owner, name):
    call = getattr(owner, name)
    def noted(*args, **kwargs):
        begun = time.perf_counter()
        try:
            return call(*args, **kwargs)
        finally:
            _times.setdefault(name, []).append((begun, time.perf_counter()))
    setattr(owner, name, noted)
_note(_rpc.Channel, "_begin_bytes")
_note(_rpc.Pending, "decode")
_note(_proxies, "to_value")
`;

/** Milliseconds of each part. */
const CELL = `
_times.clear()
_begun = time.perf_counter()
await mcp_huge.text(mib=${MIB})
_all = time.perf_counter() - _begun
_first, _decoded, _made = _times["_begin_bytes"][0][0], _times["decode"][0], _times["to_value"][0]
_parts = [_first - _begun, _decoded[0] - _first, _decoded[1] - _decoded[0], _made[1] - _made[0], _all]
print(json.dumps([part * 1000 for part in _parts]))
`;

const PARTS = [
  'until the first byte is in the sandbox: the server answers, the bridge reads and checks',
  'until the last byte is',
  'decoding',
  'making the value',
  'all, with the loop',
];

export async function profileLargeResult(context: BenchContext): Promise<void> {
  await withBridge(context, { servers: { huge: HUGE } }, async ({ run, engine }) => {
    await run('await mcp_huge.echo(text="x")', { servers: ['huge'] });
    await run(BEGIN);
    const rounds: number[][] = [];
    const alone: number[] = [];
    for (let round = 0; round < ROUNDS; round += 1) {
      rounds.push(JSON.parse(await run(CELL)) as number[]);
      alone.push(await askServer(MIB));
    }
    console.log(`A result of ${MIB} MiB on ${engine() ?? 'an unknown engine'}, medians of ${ROUNDS}\n`);
    for (const [index, part] of PARTS.entries()) {
      print(median(rounds.map((parts) => parts[index] ?? 0)), part);
    }
    print(median(alone), 'the server alone, until its last byte');
  });
}

function print(ms: number, part: string): void {
  console.log(`${ms.toFixed(0).padStart(6)} ms  ${part}`);
}
