/** Memory, files, descriptors, and the ways a process can end. */
import { expect } from 'vitest';
import type { FaultCase } from '../../support/faults/fault-case.ts';

const STOP_ALL = `
import subprocess
subprocess.Popen(["sleep", "60"])
os.kill(-1, signal.SIGSTOP)
os.kill(os.getpid(), signal.SIGSTOP)`;

/** Ways in which code ends or breaks its own interpreter, and what the answer must say. */
const ENDINGS: Readonly<Record<string, readonly [code: string, told: RegExp]>> = {
  exit: ['os._exit(0)', /exit code 0/],
  'sys-exit': ['sys.exit(3)', /SystemExit: 3/],
  abort: ['os.abort()', /signal 6 \(SIGABRT\)/],
  segfault: ['import ctypes; ctypes.string_at(0)', /signal 11 \(SIGSEGV\)/],
  // If memory is limited by address space, the stack may overflow before the recursion limit is reached. CPython 3.11 calls some of
  // the allocations that then fail `SystemError: error return without exception set`.
  stack: [
    'sys.setrecursionlimit(10**9)\ndef f(): return [f() for _ in (1,)]\nf()',
    /SESSION_LOST|RecursionError|MemoryError|SystemError: error return without exception set/,
  ],
  exec: ['os.execv("/bin/true", ["true"])', /exit code 0/],
  modules: [
    'import builtins, json, asyncio\nfor name in list(sys.modules): del sys.modules[name]\njson.dumps = asyncio.sleep = None\nbuiltins.print = builtins.open = None\n1 / 0',
    /ZeroDivisionError|SESSION_LOST/,
  ],
};

export const RESOURCE_CASES: readonly FaultCase[] = [
  {
    id: 'P07',
    title: 'all memory, used by the interpreter itself',
    expected: 'the interpreter ends, or gets MemoryError where the limit is its own; the answer names the limit',
    needs: ['child processes'],
    async run({ run, arena }) {
      const answer = await run('b = []\nwhile True: b.append(bytearray(10_000_000))', { timeout: 60 });
      expect(answer.error).toMatch(
        arena.engine.hasCgroupLimits
          ? /it ran out of memory \(limit 512 MiB\)/
          : /MemoryError|it ran out of memory \(limit 512 MiB\)/,
      );
    },
  },
  {
    id: 'P08',
    title: 'all memory, used by many processes; by files and objects together',
    expected: 'the same: the limit applies to their sum',
    needs: ['child processes'],
    async run({ run }) {
      const processes = `
import os, time
for _ in range(12):
    if os.fork() == 0:
        block = b"x" * 60_000_000
        time.sleep(60)
        os._exit(0)
ended, end = 0, time.monotonic() + 20
while ended < 4 and time.monotonic() < end:
    time.sleep(0.05)
    while os.waitpid(-1, os.WNOHANG)[0]: ended += 1
print("bounded" if ended >= 4 else f"{12 - ended} processes hold 60 MB each")`;
      const answer = await run(processes, { timeout: 30, session: 'many' });
      // Either some of the processes were killed, or the interpreter was.
      expect(answer.stdout || answer.error).toMatch(/^bounded$|it ran out of memory \(limit 512 MiB\)/);
      const files = `
for folder, mib in (("/workspace", 120), ("/tmp", 60)):
    with open(f"{folder}/big", "wb") as file:
        for _ in range(mib): file.write(b"x" * (1 << 20))
b = b"x" * 480_000_000
print("kept")`;
      const together = await run(files, { timeout: 30 });
      expect(together.error).toMatch(/it ran out of memory \(limit 512 MiB\)|MemoryError/);
    },
  },
  {
    id: 'P09',
    title: 'full file systems, 200,000 names, paths 10,000 deep',
    expected: 'the code gets an OSError; ending the sandbox takes no longer',
    quick: true,
    needs: ['child processes'],
    async run({ run }) {
      const answer = await run(
        `
import os
told = []
def until_full(name, action, most):
    try:
        for n in range(most): action(n)
        told.append(f"{name}: {most}")
    except OSError as error: told.append(f"{name}: OSError")
for folder in ("/tmp", "/workspace", "/dev/shm"):
    file = open(f"{folder}/big", "wb", 0)
    def fill(n):
        if file.write(b"x" * (1 << 20)) < 1 << 20: raise OSError("full")
    until_full(folder, fill, 1_000)
    file.truncate(0)
os.chdir("/tmp")
def deeper(n): os.mkdir("d"); os.chdir("d")
until_full("depth", deeper, 10_000)
print(told, flush=True)
until_full("names", lambda n: open(f"/workspace/{n}", "w").close(), 200_000)`,
        { timeout: 60 },
      );
      const full = ['/tmp', '/workspace', '/dev/shm'].map((folder) => `'${folder}: OSError'`).join(', ');
      expect(answer.stdout).toMatch(new RegExp(`^\\[${full}, 'depth: (10000|OSError)'\\]$`));
    },
  },
  {
    id: 'P10',
    title: '1,000 descriptors, 100 threads, shared memory and a message queue, all left behind',
    expected: 'they end with the sandbox; nothing of them is on the host',
    needs: ['ctypes', 'child processes'],
    async run({ run }) {
      const answer = await run(`
import ctypes, os, threading, time
held = []
try:
    while len(held) < 1000: held.append(os.open("/dev/null", os.O_RDONLY))
except OSError as error: pass
started = 0
try:
    while started < 100:
        threading.Thread(target=time.sleep, args=(3600,), daemon=True).start(); started += 1
except RuntimeError: pass
libc = ctypes.CDLL(None)
shared = [libc.shmget(0, 1 << 20, 0o1600) for _ in range(10)]
queue = libc.mq_open(b"/left-behind", os.O_CREAT | os.O_RDWR, 0o600, None)
for fd in held[-100:]: os.close(fd)
print(len(held) > 500, started > 50)`);
      expect(answer).toMatchObject({ status: 'success', stdout: 'True True' });
    },
  },
  {
    id: 'P11',
    title: 'processes that stop themselves: the interpreter, and all others within reach',
    expected: 'the timeout ends the sandbox, and the answer says so',
    quick: true,
    needs: ['child processes'],
    async run({ run }) {
      const codes = ['os.kill(os.getpid(), signal.SIGSTOP)', STOP_ALL];
      const answers = await Promise.all(
        codes.map(async (code, n) => {
          const session = `stopped-${n}`;
          await run('import os, signal', { session, timeout: 30 });
          return run(code, { timeout: 1, session });
        }),
      );
      answers.forEach((answer) => {
        expect(answer).toMatchObject({ status: 'timeout', error: expect.stringContaining('its session was ended') });
      });
    },
  },
  {
    id: 'P12',
    title: 'exits, signals, a full stack, another program, removed modules and builtins',
    expected: 'one answer that names the end, with what was printed before; the next cell works',
    needs: ['ctypes', 'child processes'],
    async run({ run }) {
      const names = Object.keys(ENDINGS);
      const answers = await Promise.all(
        names.map((name) =>
          run(`import os, sys\nprint("before", flush=True)\n${ENDINGS[name]?.[0]}`, {
            session: `end-${name}`,
            timeout: 60,
          }),
        ),
      );
      const next = await Promise.all(names.map((name) => run('print(1 + 1)', { session: `end-${name}`, timeout: 60 })));
      names.forEach((name, index) => {
        const told = { name, stdout: answers[index]?.stdout, error: answers[index]?.error };
        expect(told).toEqual({ name, stdout: 'before', error: expect.stringMatching(ENDINGS[name]?.[1] ?? /^$/) });
        // Without `print` only its own session is broken.
        const shown = { name, next: next[index]?.stdout || next[index]?.error };
        expect(shown).toEqual({ name, next: expect.stringMatching(name === 'modules' ? /2|Error/ : /^2$/) });
      });
      // The broken session may not be able to reset itself.
      await run('os._exit(0)', { session: 'end-modules', timeout: 2 });
      // The kernel itself needs this one.
      const broken = await run('import builtins\nbuiltins.len = None', { session: 'end-exit', timeout: 2 });
      expect(broken.status).toMatch(/timeout|error|success/);
      await run('print(1)', { session: 'end-exit', timeout: 2 });
      expect((await run('print(1 + 1)', { session: 'end-exit', timeout: 60 })).stdout).toBe('2');
    },
  },
];

export const DYING_HOST_CASES: readonly FaultCase[] = [
  {
    id: 'P15',
    title: '120 busy processes, and the bridge is killed at that moment',
    expected: 'sandbox and processes are gone within seconds',
    quick: true,
    needs: ['child processes'],
    bridge: 'own',
    without: Object.fromEntries(
      (['G2', 'G3', 'G4', 'G5'] as const).map((gate) => [gate, 'the bridge is dead']),
    ) as FaultCase['without'] & object,
    async run({ run, arena }) {
      await run('import os\nfor _ in range(110):\n    if os.fork() == 0:\n        while True: pass');
      arena.noteProcesses();
      const running = run('while True: pass').catch(() => undefined);
      process.kill(arena.bridge.pid, 'SIGKILL');
      await running;
    },
  },
];
