/**
 * The actions of agents. Each action is one cell (or two at once) with its expected outcome; if something interfered from outside,
 * outcomes explained by that count too.
 */
import type { Random } from './random.ts';
import { type Answer, MEMORY_MIB, SERVERS, type World } from './world.ts';

export interface Step {
  readonly code: string;
  readonly servers?: readonly string[];
  /** Seconds. */
  readonly timeout?: number;
  /** Keys of the calls it makes. */
  readonly keys?: readonly string[];
  /** What happened to these calls if the answer is right; by default `at most once`. */
  readonly settles?: 'once' | 'never';
  /** The client cancels after this time. */
  readonly cancelAfterMs?: number;
  /** Done while the cell runs. */
  readonly meanwhile?: () => Promise<void>;
  /** The same cell once more, at the same time. */
  readonly isTwice?: boolean;
  /** The code resets its own session. */
  readonly resets?: boolean;
  /** Why the answer is wrong, or undefined. */
  judge(answer: Answer): string | undefined;
}

interface Action {
  readonly weight: number;
  create(world: World, random: Random): Step;
}

const isSuccess = (answer: Answer): string | undefined => (answer.status === 'success' ? undefined : 'it failed');
const results = (wanted: string) => (answer: Answer) =>
  answer.result === wanted ? undefined : `the result is not ${wanted}`;
const fails = (pattern: RegExp) => (answer: Answer) =>
  pattern.test(answer.error) ? undefined : `the error is not ${pattern}`;
const quote = (text: string): string => JSON.stringify(text);

/** A call in Python to the proxy of `server`. */
const call = (server: string, tool: string, key: string, more = ''): string =>
  `mcp_${server}.${tool}(key=${quote(key)}${more})`;

export const ACTIONS: Readonly<Record<string, Action>> = {
  count: { weight: 15, create: () => ({ code: '1 + 1', judge: results('2') }) },
  'two cells at once': { weight: 4, create: () => ({ code: '1 + 1', isTwice: true, judge: results('2') }) },
  call: {
    weight: 20,
    create(world, random) {
      const key = world.ledger.newKey();
      const server = random.pick(SERVERS);
      const text = `text of ${key} 💥`;
      const code = `(await ${call(server, 'echo', key, `, text=${quote(text)}`)})["text"]`;
      return { code, servers: [server], keys: [key], settles: 'once', judge: results(`'${text}'`) };
    },
  },
  '30 calls at once': {
    weight: 8,
    create(world, random) {
      const keys = Array.from({ length: 30 }, () => world.ledger.newKey());
      const calls = keys.map((key) => call(random.pick(SERVERS), 'echo', key, `, text=${quote(key)}`));
      const code = `import asyncio\n[r["text"] for r in await asyncio.gather(${calls.join(', ')})] == ${JSON.stringify(keys)}`;
      return { code, servers: SERVERS, keys, settles: 'once', judge: results('True') };
    },
  },
  'large result': {
    weight: 3,
    create(world, random) {
      const key = world.ledger.newKey();
      const kib = 1 + random.below(4_096);
      const server = random.pick(SERVERS);
      const code = `len(await ${call(server, 'big', key, `, kib=${kib}`)})`;
      return { code, servers: [server], keys: [key], settles: 'once', judge: results(String(kib * 1024)) };
    },
  },
  'large output': {
    weight: 4,
    create: (_world, random) => ({
      code: `for i in range(${20_000 + random.below(30_000)}): print("line", i, "x" * 60)\nprint("the end")`,
      judge: (answer) =>
        answer.lines.at(-1) === 'the end' && answer.text.length < 200_000 ? isSuccess(answer) : 'its output is not cut',
    }),
  },
  'tool that fails': {
    weight: 4,
    create(world, random) {
      const key = world.ledger.newKey();
      const server = random.pick(SERVERS);
      return {
        code: `try: await ${call(server, 'fails', key)}\nexcept ToolError as error: r = str(error)\nr`,
        servers: [server],
        keys: [key],
        settles: 'once',
        judge: (answer) => (answer.result.includes(`refused ${key}`) ? undefined : 'the error of the tool is missing'),
      };
    },
  },
  'server that crashes': {
    weight: 3,
    create(world, random) {
      const key = world.ledger.newKey();
      const server = random.pick(SERVERS);
      world.noteServerCrash();
      return {
        code: `try: r = await ${call(server, 'crash', key)}\nexcept MCPError as error: r = type(error).__name__\nr`,
        servers: [server],
        keys: [key],
        meanwhile: async () => world.noteServerCrash(),
        judge: (answer) => (answer.result.endsWith("Error'") ? undefined : 'the crash did not raise an error'),
      };
    },
  },
  'server killed from outside': {
    weight: 2,
    create(world, random) {
      const key = world.ledger.newKey();
      return {
        code: `try: r = await ${call(random.pick(SERVERS), 'hang', key)}\nexcept MCPError as error: r = type(error).__name__\nr`,
        servers: SERVERS,
        timeout: 3,
        keys: [key],
        async meanwhile() {
          await pause(300);
          const pids = world.servers();
          if (pids.length > 0) {
            world.killServer(random.pick(pids));
          }
        },
        // A server other than that of the call may have been killed.
        judge: (answer) =>
          answer.result.endsWith("Error'") || answer.status === 'timeout' ? undefined : 'the call did not fail',
      };
    },
  },
  'deadline in a call': {
    weight: 4,
    create(world, random) {
      const key = world.ledger.newKey();
      const server = random.pick(SERVERS);
      const code = `await ${call(server, 'slow', key, ', seconds=100')}`;
      return { code, servers: [server], timeout: 1, keys: [key], judge: isTimeout };
    },
  },
  'deadline in a loop': { weight: 2, create: () => ({ code: 'while True: pass', timeout: 1, judge: isTimeout }) },
  'deadline ignored': {
    weight: 1,
    create: () => ({
      code: 'while True:\n    try:\n        while True: pass\n    except BaseException: pass',
      timeout: 1,
      judge: isTimeout,
    }),
  },
  cancelled: {
    weight: 6,
    create(world, random) {
      const key = world.ledger.newKey();
      const server = random.pick(SERVERS);
      const code = `await ${call(server, 'slow', key, ', seconds=100')}`;
      const cancelAfterMs = random.below(800);
      return {
        code,
        servers: [server],
        keys: [key],
        cancelAfterMs,
        judge: () => 'it was answered although it was cancelled',
      };
    },
  },
  'sandbox killed from outside': {
    weight: 2,
    create: (world, random) => ({
      code: 'import time\nfor _ in range(20): time.sleep(0.1)\n"alive"',
      async meanwhile() {
        await pause(random.below(1_000));
        const ids = await world.sandboxes();
        if (ids.length > 0) {
          await world.killSandbox(random.pick(ids));
        }
      },
      judge: results("'alive'"),
    }),
  },
  reset: { weight: 3, create: () => ({ code: 'runtime.reset()', resets: true, judge: isSuccess }) },
  exception: {
    weight: 5,
    create: () => ({ code: 'raise ValueError("expected 💥")', judge: fails(/ValueError: expected 💥/) }),
  },
  'syntax error': { weight: 2, create: () => ({ code: 'def (', judge: fails(/SyntaxError/) }) },
  'unknown server': {
    weight: 2,
    create: () => ({ code: '1', servers: ['nobody'], judge: fails(/nobody/) }),
  },
  'server that is not loaded': {
    weight: 2,
    create(world) {
      const key = world.ledger.newKey();
      const code = `try: r = await runtime.call_tool_raw("gone", "echo", {"key": ${quote(key)}})\nexcept Exception as error: r = type(error).__name__\nr`;
      return {
        code,
        keys: [key],
        settles: 'never',
        judge: (answer) => (/Error/.test(answer.result) ? undefined : 'no error'),
      };
    },
  },
  'memory bomb': {
    weight: 1,
    create: () => ({
      // In a function: as a global, it would stay where the engine ends no sandbox for its memory, and later cells would find none.
      code: `def fill():\n    rows = []\n    for _ in range(${MEMORY_MIB * 2}): rows.append(bytearray(1 << 20))\nfill()`,
      judge: fails(/out of memory|MemoryError/),
    }),
  },
  'exit of the process': {
    weight: 1,
    create: () => ({ code: 'import os\nos._exit(3)', judge: fails(/SESSION_LOST|exit/) }),
  },
  'processes left behind': {
    weight: 2,
    create: () => ({
      code: 'import subprocess\nchildren = [subprocess.Popen(["sleep", "1000"]) for _ in range(5)]\nlen(children)',
      judge: results('5'),
    }),
  },
  'files left behind': {
    weight: 2,
    create: () => ({ code: 'open("/tmp/kept", "w").write("x" * 1_000_000)', judge: results('1000000') }),
  },
};

function isTimeout(answer: Answer): string | undefined {
  return answer.status === 'timeout' ? undefined : 'it did not end at its deadline';
}

export function pause(milliseconds: number): Promise<void> {
  return new Promise((resolve) => {
    setTimeout(resolve, milliseconds);
  });
}
