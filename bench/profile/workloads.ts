/** What is profiled: cells that do one thing many times. */

export interface Workload {
  /** Cells, one after the other. */
  readonly cells: number;
  readonly code: string;
  /** How many of what one cell does. */
  readonly perCell: number;
  readonly unit: string;
}

const CONCURRENT_CALLS = 1_000;
const SINGLE_CALLS = 500;

export const WORKLOADS: Readonly<Record<string, Workload>> = {
  warm: { cells: 2_000, code: 'x=1', perCell: 1, unit: 'cell' },
  call: {
    cells: 10,
    code: `for _ in range(${SINGLE_CALLS}):\n    await mcp_echo.echo(text="x")`,
    perCell: SINGLE_CALLS,
    unit: 'call',
  },
  calls: {
    cells: 30,
    code: `import asyncio\nawait asyncio.gather(*(mcp_echo.echo(text=f"call {i}") for i in range(${CONCURRENT_CALLS})))\nNone`,
    perCell: CONCURRENT_CALLS,
    unit: 'call',
  },
};

/** The same as a cell that profiles the main thread of the kernel, and prints the CPU time of each thread. */
export function profiled({ code }: Workload): string {
  return `
import cProfile, pstats, threading, time
def _cpu():
    return {one.name: time.clock_gettime(time.pthread_getcpuclockid(one.ident)) for one in threading.enumerate()}
_before = _cpu()
${code}
_after = _cpu()
for _name, _seconds in _after.items():
    print(f"{_name}: {(_seconds - _before[_name]) * 1000:.1f} ms of CPU time")
_profile = cProfile.Profile()
_profile.enable()
${code}
_profile.disable()
pstats.Stats(_profile).sort_stats("tottime").print_stats(25)
`;
}
