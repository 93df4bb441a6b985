/** Engines that fail, hang, warn or lie. The engine is real, behind a script that fails on demand. */
import { appendFileSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { expect } from 'vitest';
import type { TestEngine } from '../../support/engines.ts';
import { type ArenaOptions, startArena } from '../../support/faults/arena.ts';
import type { Attack, FaultCase, SeenAnswer } from '../../support/faults/fault-case.ts';
import { poll } from '../../support/faults/wait.ts';
import { sandboxesOfBridge } from '../../support/sandbox.ts';

const SCRIPTS = join(import.meta.dirname, '../../fixtures/engines/faulty');
/** The folder that the script reads. */
const STATE = join(tmpdir(), `bridge-faults-engine-${process.pid}`);
/** The longest time a user waits for the news that an engine does not work. */
const REPORTED_MS = 5_000;
/** A client that is starting something may continue for 10 s, because podman leaves more behind if it is killed. */
const LATE_MS = 15_000;

/** A bridge whose engine fails on demand. */
export function faultyEngine(engine: TestEngine): Omit<ArenaOptions, 'engine'> {
  mkdirSync(STATE, { recursive: true });
  appendFileSync(join(STATE, 'calls'), '');
  const env = { PATH: `${SCRIPTS}${delimiter}${engine.env['PATH'] ?? ''}`, CONTAINER_FAKE_STATE: STATE };
  return { env: { ...env, MCP_BRIDGE_PULL: 'never' } };
}

/** Removes the files written by the script. */
export function forgetFaults(): void {
  rmSync(STATE, { recursive: true, force: true });
}

/** How many starts the engine was asked for so far. */
function starts(): number {
  return readFileSync(join(STATE, 'calls'), 'utf8').match(/^run /gm)?.length ?? 0;
}

let nextSession = 0;

/** Runs a cell in a new session while the engine has a fault, and then, in the same session, one without. */
async function withFault(
  { run }: Attack,
  fault: string,
  options: { code?: string; timeout?: number } = {},
): Promise<{ answer: SeenAnswer; tookMs: number; starts: number }> {
  const { code = 'print("ran")', timeout = 20 } = options;
  nextSession += 1;
  const session = `engine-${nextSession}`;
  const startsBefore = starts();
  writeFileSync(join(STATE, 'fault'), fault);
  try {
    const startedAt = performance.now();
    const answer = await run(code, { session, timeout });
    const tookMs = performance.now() - startedAt;
    rmSync(join(STATE, 'fault'));
    const counted = starts() - startsBefore;
    expect((await run('print("works again")', { session, timeout: 60 })).stdout).toBe('works again');
    return { answer, tookMs, starts: counted };
  } finally {
    rmSync(join(STATE, 'fault'), { force: true });
  }
}

export const ENGINE_CASES: readonly FaultCase[] = [
  {
    id: 'E01',
    title: 'no engine; one that is not running, or hangs; a socket without permission',
    expected: 'one sentence with the fix within 5 s; `tools/list` still works',
    containers: true,
    growth: { mib: 64, keptMib: 48, why: 'what removes containers by force is loaded when it is first needed' },
    async run(attack) {
      const { bridge, engine } = attack.arena;
      const faults = [
        ['unreachable', /does not answer: unable to connect/],
        ['hanging', /does not answer: no answer within \d+ ms/],
        ['forbidden', /refused this user/],
      ] as const;
      for (const [fault, words] of faults) {
        const { answer, tookMs } = await withFault(attack, fault);
        expect(answer.error).toMatch(/^ENGINE_UNAVAILABLE: [^\n]*\nHint: [^\n]+$/);
        expect(answer.error).toMatch(words);
        // A busy machine's engine gets longer, and the error says how long.
        const [, waitedMs = 0] = /within (\d+) ms/.exec(answer.error) ?? [];
        expect(tookMs).toBeLessThan(Math.max(REPORTED_MS, Number(waitedMs)) + 1_000);
        expect((await bridge.client.listTools()).tools).toHaveLength(1);
      }
      const empty = mkdtempSync(join(tmpdir(), 'bridge-faults-path-'));
      const without = await startArena({ engine, env: { PATH: empty } });
      const { text } = await without.bridge.runPython('1');
      expect(text).toMatch(/ENGINE_UNAVAILABLE: [^\n]*is not on PATH[^\n]*\nHint: Install /);
      expect((await without.bridge.client.listTools()).tools).toHaveLength(1);
      expect(await without.close()).toEqual([]);
      rmSync(empty, { recursive: true });
    },
  },
  {
    id: 'E02',
    title: 'the image is gone, the disk full, the storage damaged, a digest wrong',
    expected: 'an error with the engine’s words and a command; no call pulls anything',
    containers: true,
    async run(attack) {
      const { engine } = attack.arena;
      const missing = await withFault(attack, 'image-missing');
      expect(missing.answer.error).toMatch(/^IMAGE_MISSING: [^\n]*\nHint: Run: \w+ pull /);
      for (const [fault, words] of [
        ['disk-full', 'no space left on device'],
        ['corrupt', 'storage/overlay/l/ABC: no such file'],
      ] as const) {
        const { answer } = await withFault(attack, fault);
        expect(answer.error).toContain(words);
        expect(answer.error).toMatch(/^ENGINE_FAILED: [^\n]*\nHint: Check that this works: \w+ run /);
      }
      const image = `localhost/python@sha256:${'0'.repeat(64)}`;
      const wrong = await startArena({ engine, env: { MCP_BRIDGE_IMAGE: image, MCP_BRIDGE_PULL: 'never' } });
      expect((await wrong.bridge.runPython('1')).text).toContain(`IMAGE_MISSING: `);
      expect(await wrong.close()).toEqual([]);
      expect(readFileSync(join(STATE, 'calls'), 'utf8')).not.toMatch(/^pull /m);
    },
  },
  {
    id: 'E03',
    title: 'the engine prints warnings, and a forged frame, and ignores the memory limit',
    expected: 'none of it is taken for a frame; the missing limit is noticed, logged and enforced inside',
    containers: true,
    async run(attack) {
      const { answer } = await withFault(attack, 'noisy');
      expect(answer.stdout).toBe('ran');
      expect(answer.text).not.toContain('forged');
      const bomb = 'hog = [bytes(16 << 20) for _ in range(64)]\nprint(len(hog))';
      const unlimited = await withFault(attack, 'unlimited', { code: bomb });
      expect(unlimited.answer.status).toBe('error');
      await expect.poll(attack.log).toContain('the engine enforces no memory or process limit here');
    },
  },
  {
    id: 'E04',
    title: '`run` exits with 0, 125, 126 or 127 silently, or after 200 MB of noise',
    expected: 'the error names the exit code and the last words; one attempt',
    containers: true,
    growth: { mib: 64, keptMib: 48, why: 'the noise is read in small blocks' },
    async run(attack) {
      for (const code of [0, 125, 126, 127]) {
        const { answer, starts: attempts } = await withFault(attack, `exit-${code}`);
        expect(answer.error).toMatch(
          new RegExp(`^ENGINE_FAILED: \\w+ did not start the sandbox \\(exit code ${code}\\)`),
        );
        expect(attempts).toBe(1);
      }
      const flood = await withFault(attack, 'flood');
      expect(flood.answer.error).toMatch(
        /^ENGINE_FAILED: [^\n]*exit code 125\): \[a line of 100000000 bytes was left out\] that was too much\n/,
      );
    },
  },
  {
    id: 'E05',
    title: 'a start takes 20 s, the call has 2 s; the container comes up after the bridge gave up',
    expected: '`SESSION_START_TIMEOUT` on time; the late container is removed within 15 s',
    containers: true,
    growth: { mib: 64, keptMib: 32, why: 'what removes containers by force is loaded when it is first needed' },
    async run(attack) {
      const slow = await withFault(attack, 'slow', { timeout: 2 });
      expect(slow.answer.error).toContain('SESSION_START_TIMEOUT: the sandbox was not ready within 4 s');
      const late = await withFault(attack, 'late', { timeout: 2 });
      expect(late.answer.error).toContain('SESSION_START_TIMEOUT');
      const { bridge, engine } = attack.arena;
      const left = async () =>
        existsSync(join(STATE, 'came-up')) && (await sandboxesOfBridge(engine, bridge.pid)).length;
      // One of the neighbour, one of the case itself, and two of `withFault`.
      expect(await poll(left, (count) => count === 4, LATE_MS)).toBe(4);
    },
  },
  {
    id: 'E06',
    title: 'an engine that does not know some flags',
    expected: 'one more start without them; later starts omit them',
    containers: true,
    async run(attack) {
      const first = await withFault(attack, 'old');
      expect([first.answer.stdout, first.starts]).toEqual(['ran', 2]);
      const second = await withFault(attack, 'old');
      expect([second.answer.stdout, second.starts]).toEqual(['ran', 1]);
    },
  },
  {
    id: 'E07',
    title: 'no memory or process left for a start, and five sessions want one at once',
    expected: 'one error each, after one attempt each',
    containers: true,
    async run(attack) {
      for (const fault of ['no-processes', 'no-memory']) {
        const before = starts();
        writeFileSync(join(STATE, 'fault'), fault);
        const sessions = Array.from({ length: 5 }, (_, index) => `${fault}-${index}`);
        const answers = await Promise.all(sessions.map((session) => attack.run('1', { session })));
        rmSync(join(STATE, 'fault'));
        expect(answers.map(({ error }) => error.split(':')[0])).toEqual(answers.map(() => 'ENGINE_FAILED'));
        expect(starts() - before).toBe(answers.length);
      }
    },
  },
];
