/**
 * A client whose code attacks the bridge, its own sandbox and the machine, among the agents whose cells must stay right. What
 * happens to its own session does not matter, but each of its cells gets an answer.
 */
import { messageOf } from '../../src/core/base/errors.ts';
import { codeOf, createFloods, FLOODED_SERVER, STUCK_SERVER } from '../support/floods.ts';
import { pause } from './actions.ts';
import type { Agent } from './agent.ts';
import { createRandom } from './random.ts';
import type { Record as SoakRecord } from './record.ts';
import type { World } from './world.ts';

/** Seconds for an attack; the memory of a sandbox here is too small for some floods, which then end with it. */
const TIMEOUT_SECONDS = 20;
const MAX_PAUSE_MS = 500;

/** Python that attacks its sandbox, the machine or the way to the host. */
const ATTACKS: Readonly<Record<string, string>> = {
  'fork bomb': 'import os\nwhile True:\n    try: os.fork()\n    except OSError: pass',
  'thread bomb': 'import threading, time\nwhile True: threading.Thread(target=time.sleep, args=(100,)).start()',
  'full disk': 'for i in range(100_000): open(f"/tmp/{i}", "wb").write(bytes(1 << 20))',
  'many files': 'for i in range(1_000_000): open(f"/tmp/{i}", "w").close()',
  'memory of pipes':
    'import os\npipes = []\nwhile True:\n    pipes.append(os.pipe())\n    os.write(pipes[-1][1], bytes(65_536))',
  'signals to everyone': 'import os, signal\nos.kill(-1, signal.SIGKILL)',
  'stopped first process': 'import os, signal\nos.kill(1, signal.SIGSTOP)\nwhile True: pass',
  'closed descriptors': 'import os\nos.closerange(0, 1_000)',
  'bytes on every descriptor':
    'import os\nfor fd in range(1_000):\n    try: os.write(fd, os.urandom(65_536) + b"\\n")\n    except OSError: pass',
  'output without end': 'while True: print("\\ra" * 100_000)',
  'deep recursion in C': 'import ctypes, sys\nsys.setrecursionlimit(10**9)\nf = lambda: f()\nf()',
  'jobs without end': 'import asyncio\nwhile True: asyncio.ensure_future(asyncio.sleep(100)); await asyncio.sleep(0)',
  'replaced builtins':
    'import builtins\nfor name in dir(builtins):\n    if name[0] != "_": setattr(builtins, name, None)',
};

export function createAttacker(index: number, seed: number, world: World, record: SoakRecord): Pick<Agent, 'act'> {
  const random = createRandom(seed * 1_000 + 500 + index);
  const floods = createFloods((short) => short).map((flood) => [flood.title, codeOf(flood)] as const);
  const session = `attacker-${index}`;
  return {
    async act(isOver) {
      while (!isOver()) {
        const [title, code] = random.pick([...floods, ...Object.entries(ATTACKS)]);
        const startMs = performance.now();
        const servers = [FLOODED_SERVER, STUCK_SERVER];
        try {
          await world.run(code, session, { servers, timeout: TIMEOUT_SECONDS });
        } catch (error) {
          record.violate(`attack '${title}' got no answer: ${messageOf(error)}`);
        }
        record.add(`attack: ${title}`, performance.now() - startMs);
        await pause(random.below(MAX_PAUSE_MS));
      }
    },
  };
}
