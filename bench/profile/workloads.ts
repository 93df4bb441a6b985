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

/**
 * A cell from which on the main thread of the kernel is profiled, with what it does around cells. Not with cProfile, which ends with
 * the cell. The profile makes everything slower, and functions that call many others look worse than they are.
 */
export const BEGIN_PROFILE = `
import collections, sys, threading, time
def _cpu():
    return {one.name: time.clock_gettime(time.pthread_getcpuclockid(one.ident)) for one in threading.enumerate()}
_own, _calls, _open = collections.Counter(), collections.Counter(), []
def _profile(frame, event, argument):
    now = time.perf_counter()
    if event == "call":
        _open.append([frame.f_code.co_filename.rsplit("/", 1)[-1] + " " + frame.f_code.co_name, now, 0.0])
    elif event == "c_call":
        _open.append([getattr(argument, "__qualname__", str(argument)), now, 0.0])
    elif _open:
        name, begun, below = _open.pop()
        took = now - begun
        _own[name] += took - below
        _calls[name] += 1
        if _open:
            _open[-1][2] += took
_before = _cpu()
sys.setprofile(_profile)
`;

/** A cell that ends the profile and prints it, for each of `units`. */
export function endProfile(units: number): string {
  return `
sys.setprofile(None)
for _name, _seconds in _cpu().items():
    print(f"{(_seconds - _before.get(_name, 0)) / ${units} * 1e6:8.1f} µs of CPU time, {_name}")
print()
for _name, _seconds in _own.most_common(30):
    print(f"{_seconds / ${units} * 1e6:8.1f} µs in {_calls[_name] / ${units}:6.2f} calls of {_name}")
`;
}
