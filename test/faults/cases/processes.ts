/** Attacks of code on its own process, on others in its sandbox, and on the first process. */

import { expect } from 'vitest';
import type { Attack, FaultCase, RunOptions, SeenAnswer } from '../../support/faults/fault-case.ts';
import { pause } from '../../support/pause.ts';

const LOST = /SESSION_LOST|its session was ended/;

/** Runs each in its own session, all at once. Returns the answers by name, and checks the next cell of each. */
async function runBeside(
  { run }: Attack,
  codes: Readonly<Record<string, string>>,
  options: RunOptions = {},
): Promise<Record<string, SeenAnswer>> {
  const names = Object.keys(codes);
  const inSession = (name: string) => ({ ...options, session: `beside-${name}` });
  await Promise.all(names.map((name) => run('kept = 1', { ...inSession(name), timeout: 30 })));
  const answers = await Promise.all(names.map((name) => run(codes[name] ?? '', inSession(name))));
  const next = await Promise.all(names.map((name) => run('print(1 + 1)', { ...inSession(name), timeout: 30 })));
  expect(next.map(({ stdout }) => stdout)).toEqual(names.map(() => '2'));
  next.forEach(({ notices }, index) => {
    expect(notices !== '', `${names[index]}: reports lost state`).toBe(LOST.test(answers[index]?.error ?? ''));
  });
  return Object.fromEntries(names.map((name, index) => [name, answers[index] as SeenAnswer]));
}

export const PROCESS_CASES: readonly FaultCase[] = [
  {
    id: 'P01',
    title: 'a loop that never ends',
    expected: 'ends at its timeout; variables survive',
    quick: true,
    async run({ run }) {
      const answer = await run('kept = 1\nwhile True: pass', { timeout: 1 });
      expect(answer.status).toBe('timeout');
      expect(answer.error).toContain('variables are kept');
      expect((await run('print(kept)')).stdout).toBe('1');
    },
  },
  {
    id: 'P02',
    title:
      'code that ignores interrupts: signals, `except BaseException`, a trace function, C code that holds the interpreter',
    expected: 'ends within 2 s after its timeout, if need be with its sandbox; the answer says which',
    quick: true,
    needs: ['ctypes'],
    async run(attack) {
      const answers = await runBeside(
        attack,
        {
          ignored: 'import signal\nsignal.signal(signal.SIGINT, signal.SIG_IGN)\nwhile True: pass',
          blocked: 'import signal\nsignal.pthread_sigmask(signal.SIG_BLOCK, range(1, 65))\nwhile True: pass',
          swallowed: 'while True:\n    try:\n        while True: pass\n    except BaseException: pass',
          traced: 'import sys\ndef trace(*_):\n    while True: pass\nsys.settrace(trace)\n(lambda: 0)()',
          'in-c': 'import ctypes\nctypes.PyDLL(None).sleep(600)',
        },
        { timeout: 1 },
      );
      Object.values(answers).forEach(({ status }) => expect(status).toBe('timeout'));
      expect(answers['in-c']?.error).toContain('its session was ended');
    },
  },
  {
    id: 'P03',
    title: 'a fork bomb',
    expected: 'the process limit holds; the cell ends at its timeout, or with its sandbox',
    quick: true,
    needs: ['child processes'],
    async run({ run }) {
      const answer = await run('import os\nwhile True:\n    try: os.fork()\n    except OSError: pass', { timeout: 2 });
      expect(answer.status).toMatch(/timeout|error/);
    },
  },
  {
    id: 'P04',
    title: '60 daemons that ignore all signals and send frames after the cell has returned',
    expected: 'they end with their sandbox; until its next cell the host refuses their requests',
    needs: ['child processes'],
    async run({ run, calls, log }) {
      const session = 'daemons';
      const code = `
import gc, json, os, signal, time
gc.unfreeze()
channel = next(o for o in gc.get_objects() if type(o).__name__ == "Channel")._write_descriptor
for n in range(60):
    if os.fork(): continue
    os.setsid()
    if os.fork(): os._exit(0)
    for number in range(1, 65):
        try: signal.signal(number, signal.SIG_IGN)
        except (OSError, ValueError): pass
    while not os.path.exists("/tmp/returned"): time.sleep(0.1)
    time.sleep(5)  # Until then the cell has returned, even if the machine is busy.
    while True:
        params = {"server": "ledger", "tool": "record"}
        os.write(channel, json.dumps({"type": "call", "call": 10_000 + n, "method": "call_tool", "params": params}).encode() + b"\\n")
        time.sleep(0.1)
while True:
    try: os.waitpid(-1, 0)
    except ChildProcessError: break
open("/tmp/returned", "w").close()
print("returned")`;
      expect((await run(code, { session, timeout: 20 })).stdout).toBe('returned');
      await pause(6_500, 'no call may be made meanwhile');
      expect(calls()).toHaveLength(0);
      // The gates check that they end with the sandbox when the case ends.
      expect(log()).not.toContain('INTERNAL');
    },
  },
  {
    id: 'P05',
    title: 'a thread that calls a tool every 100 ms after the cell has returned',
    expected: 'its calls wait for the session’s next cell; until then the server gets nothing',
    quick: true,
    needs: ['threads'],
    async run({ run, calls }) {
      const code = `
import threading, time
def keep_calling():
    time.sleep(0.3)
    while True:
        mcp_ledger.record.sync(); time.sleep(0.1)
threading.Thread(target=keep_calling, daemon=True).start()`;
      await run(code, { session: 'caller' });
      await pause(1_000, 'no call may be made meanwhile');
      expect(calls()).toHaveLength(0);
    },
  },
  {
    id: 'P06',
    title: 'a thread that waits for a later cell and uses what that cell may call',
    expected: 'works, as a session is one trust domain; other sessions see nothing of it',
    needs: ['threads'],
    async run({ run, allow }) {
      const code = `
import threading, time
def wait_and_call():
    while True:
        try: return mcp_ledger.record.sync(by="thread")
        except Exception: time.sleep(0.05)
waiting = threading.Thread(target=wait_and_call, daemon=True); waiting.start()`;
      await run(code, { session: 'waiter', servers: [] });
      allow('ledger.record');
      const later = await run('waiting.join(5); print(waiting.is_alive())', { session: 'waiter', servers: ['ledger'] });
      expect(later.stdout).toBe('False');
      const fresh = 'import threading; print([t.name for t in threading.enumerate() if "wait_and_call" in t.name])';
      expect((await run(fresh, { session: 'fresh' })).stdout).toBe('[]');
    },
  },
  {
    id: 'P13',
    title: 'signals, ptrace and writes to the first process',
    expected: 'none has an effect',
    quick: true,
    needs: ['ctypes', 'child processes'],
    async run({ run }) {
      const answer = await run(`
import ctypes, os, signal
done = []
libc = ctypes.CDLL(None, use_errno=True)
for number in (signal.SIGKILL, signal.SIGTERM, signal.SIGSTOP, signal.SIGSEGV):
    try: os.kill(1, number)
    except OSError: pass
for name in ("mem", "oom_score_adj", "fd/0", "fd/2", "environ"):
    try: os.open(f"/proc/1/{name}", os.O_RDWR); done.append(name)
    except OSError: pass
if libc.ptrace(16, 1, 0, 0) != -1: done.append("ptrace")
print(done)`);
      expect(answer.stdout).toBe('[]');
      expect((await run('print(globals()["before_the_case"])')).stdout).toBe('P13');
    },
  },
  {
    id: 'P16',
    title: 'clocks that lie, sleeps that never end, a blocked asyncio loop',
    expected: 'the timeout follows the host’s clock',
    quick: true,
    async run(attack) {
      const answers = await runBeside(
        attack,
        {
          asleep: 'import time\ntime.sleep(1e8)',
          waiting: 'import asyncio\nawait asyncio.sleep(1e8)',
          frozen:
            'import time\ntime.time = time.monotonic = time.perf_counter = lambda: 0.0\nimport asyncio\nawait asyncio.sleep(3600)',
          blocked:
            'import asyncio, time\nasyncio.get_running_loop().call_soon(time.sleep, 3600)\nawait asyncio.sleep(0.1)',
        },
        { timeout: 1 },
      );
      Object.values(answers).forEach(({ status }) => expect(status).toBe('timeout'));
    },
  },
];
