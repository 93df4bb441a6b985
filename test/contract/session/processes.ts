/** Worker processes with what cells define. Before, they died looking for it, and `Pool.map` waited until the deadline. */
import { describe, expect } from 'vitest';
import { textOf } from '../../support/session-harness.ts';
import type { Subject } from './subject.ts';

const DEFINITIONS = `
import concurrent.futures, dataclasses, multiprocessing
OFFSET = 10
def shifted(x): return x * x + OFFSET
@dataclasses.dataclass
class Point:
    x: int
    def doubled(self): return Point(self.x * 2)
def moved(point): return Point(point.x + 1).doubled()
class Own(Exception): pass
def fails(x): raise Own(x)
def set_shared(value):
    global shared
    shared = value
def with_shared(x): return shared + x
def work(method):
    context = multiprocessing.get_context(method)
    with context.Pool(2, set_shared, (100,)) as pool:
        found = [pool.map(shifted, [1, 2]), pool.map(moved, [Point(1)]), pool.map(lambda x: shifted(x) + 1, [1]), pool.map(with_shared, [1])]
        try: pool.map(fails, [3])
        except Own as error: found.append(repr(error))
    with concurrent.futures.ProcessPoolExecutor(1, context) as executor:
        return [*found, list(executor.map(moved, [Point(2)]))]
`;
const FOUND = "[[11, 14], [Point(x=4)], [12], [101], 'Own(3)', [Point(x=6)]]";

export function describeProcesses({ run, itNeeds }: Subject): void {
  const itForks = itNeeds('shared memory');

  describe('worker processes', () => {
    for (const method of ['fork', 'spawn', 'forkserver']) {
      itForks(`have what cells define: ${method}`, async () => {
        await run(DEFINITIONS);
        expect((await run(`work("${method}")`)).value).toBe(FOUND);
      });
    }

    itForks('are forked by default, whatever the version of Python', async () => {
      const code =
        'import multiprocessing\nseen = multiprocessing.Queue()\ndef put(): seen.put(multiprocessing.get_start_method())\n';
      const start = 'worker = multiprocessing.Process(target=put); worker.start(); worker.join(); seen.get()';
      expect((await run(code + start)).value).toBe("'fork'");
    });

    itForks('get what was defined after their start', async () => {
      await run(
        'import multiprocessing\nBASE = 1\ndef f(x): return x\npool = multiprocessing.Pool(1)\npool.map(f, [1])',
      );
      await run(
        'BASE = 20\nclass Late:\n    def __init__(self, x): self.x = x\ndef late(x): return f(x)\ndef f(x): return x + BASE',
      );
      const code =
        'pool.map(f, [1]), pool.map(late, [2]), pool.map(lambda late: late.x, [Late(3)]), pool.map(Late, [4])[0].x';
      expect((await run(code)).value).toBe('([21], [22], [3], 4)');
      await run('pool.terminate()');
    });

    itForks('refuse at once what cannot be sent, by name', async () => {
      const code = `import multiprocessing, threading
lock = threading.Lock()
def locked(x):
    with lock: return x
with multiprocessing.get_context("spawn").Pool(1) as pool: pool.map(locked, [1])`;
      expect((await run(code)).error?.message).toBe(
        "locked cannot be sent to another process: TypeError: cannot pickle '_thread.lock' object",
      );
    });

    itNeeds('child processes')(
      'start Python without its isolation: PYTHONPATH names the packages of the session',
      async () => {
        const code = `import os, subprocess, sys
os.makedirs("with_packages", exist_ok=True)
open("with_packages/only_there.py", "w").write("print('found')")
environment = {**os.environ, "PYTHONPATH": os.path.abspath("with_packages")}
subprocess.run([sys.executable, *subprocess._args_from_interpreter_flags(), "-c", "import only_there"], env=environment);`;
        expect(textOf((await run(code)).stdout)).toBe('found\n');
      },
    );
  });
}
