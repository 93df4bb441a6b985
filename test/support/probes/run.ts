/** Tries what hostile code would try on one engine: probes inside a cell, traces of other sessions, and bombs. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { CellAnswer } from '../../../src/core/base/cell.ts';
import { summarizeCellError } from '../../../src/core/render/cell-error.ts';
import { errorText, type Harness, TEST_LIMITS, textOf } from '../session-harness.ts';
import type { Bait } from './bait.ts';

export interface ProbeResult {
  readonly group: string;
  readonly name: string;
  /** `possible` for what ordinary code needs. */
  readonly wanted: 'refused' | 'possible';
  readonly got: 'refused' | 'possible' | 'failed';
  /** The name of the error, or what the code got hold of. */
  readonly detail: string;
}

const FIXTURES = join(import.meta.dirname, '../../fixtures/security');
const PROBES = readFileSync(join(FIXTURES, 'probes.py'), 'utf8');
const PERSISTENCE = readFileSync(join(FIXTURES, 'persistence.py'), 'utf8');
const BOMBS = readFileSync(join(FIXTURES, 'bombs.py'), 'utf8');
const PROBES_TIMEOUT_MS = 60_000;
/** Timeout of a bomb that its limit must stop. A bomb that takes longer proves nothing. */
const BOMB_TIMEOUT_MS = 60_000;
/** Timeout of a bomb that only its deadline ends. */
const ENDLESS_TIMEOUT_MS = 3_000;
const ENDLESS: readonly string[] = ['an endless loop', 'a loop that ignores interrupts', 'endless output'];
const MIB = 1024 * 1024;
/** A bomb that crashes or is slow must not affect the next one. */
const NEIGHBOUR = 'neighbour';

/** Everything, in the order of the table. */
export async function runAll(harness: Harness, bait: Bait): Promise<ProbeResult[]> {
  return [...(await runProbes(harness, bait)), ...(await tryPersistence(harness)), ...(await runBombs(harness))];
}

/** The probes of `probes.py`, each group in its own session. */
async function runProbes(harness: Harness, { known }: Bait): Promise<ProbeResult[]> {
  const listed = await run(harness, probesWith({ ...known, is_list: true }), 'list');
  const groups = [...new Set(listed.map(({ group }) => group))];
  const results: ProbeResult[] = [];
  for (const group of groups) {
    const session = `probes-${group}`;
    const found = await run(harness, probesWith({ ...known, group }), session).catch(() => undefined);
    const ofGroup = listed.filter((probe) => probe.group === group);
    results.push(...(found ?? (await runSingly(harness, { known }, ofGroup))));
  }
  return results;
}

/** For a group with a probe that ends the session: runs each probe alone. */
async function runSingly(
  harness: Harness,
  { known }: Pick<Bait, 'known'>,
  probes: readonly ProbeResult[],
): Promise<ProbeResult[]> {
  const results: ProbeResult[] = [];
  for (const probe of probes) {
    const { group, name } = probe;
    const ended = (error: unknown): ProbeResult[] => [{ ...probe, got: 'possible', detail: String(error) }];
    results.push(...(await run(harness, probesWith({ ...known, group, name }), 'singly').catch(ended)));
  }
  return results;
}

function probesWith(host: Readonly<Record<string, unknown>>): string {
  return `import json\nHOST = json.loads(${JSON.stringify(JSON.stringify(host))})\n${PROBES}`;
}

async function run(harness: Harness, code: string, session: string): Promise<ProbeResult[]> {
  const answer = await harness.run(code, { timeoutMs: PROBES_TIMEOUT_MS, session });
  if (answer.error !== undefined) {
    throw new Error(`${session}: ${errorText(answer)}`);
  }
  return JSON.parse(textOf(answer.stdout)) as ProbeResult[];
}

/** What a session finds of another session, and of its own state after a reset. */
async function tryPersistence(harness: Harness): Promise<ProbeResult[]> {
  const look = (session: string) => namesIn(harness, `IS_FIRST = False\n${PERSISTENCE}`, session);
  const traces = await namesIn(harness, `IS_FIRST = True\n${PERSISTENCE}`, 'leaves');
  const ofAnother = await look('looks');
  await harness.run('runtime.reset()', { session: 'leaves' });
  const ofItself = await look('leaves');
  const results = (title: string, found: readonly string[]) =>
    traces.map((name): ProbeResult => {
      const got = found.includes(name) ? 'possible' : 'refused';
      return { group: 'persistence', name: `${name} ${title}`, wanted: 'refused', got, detail: '' };
    });
  return [...results('of another session', ofAnother), ...results('from before a reset', ofItself)];
}

/** Runs each bomb in its own session, which must answer afterwards, beside a neighbor that must not notice. */
async function runBombs(harness: Harness): Promise<ProbeResult[]> {
  const names = await namesIn(harness, `BOMB, MIB, PIDS = None, 0, 0\n${BOMBS}`, NEIGHBOUR);
  await harness.run('cells = 0', { session: NEIGHBOUR, timeoutMs: PROBES_TIMEOUT_MS });
  const results: ProbeResult[] = [];
  for (const [index, name] of names.entries()) {
    const limits = `${JSON.stringify(name)}, ${TEST_LIMITS.memoryBytes / MIB}, ${TEST_LIMITS.pids}`;
    const session = `bomb-${index}`;
    const isEndless = ENDLESS.includes(name);
    // The deadline must end the bomb, not the start of its sandbox.
    await harness.run('1', { session, timeoutMs: PROBES_TIMEOUT_MS });
    const timeoutMs = isEndless ? ENDLESS_TIMEOUT_MS : BOMB_TIMEOUT_MS;
    const bomb = harness.run(`BOMB, MIB, PIDS = ${limits}\n${BOMBS}`, { session, timeoutMs });
    const [answer, beside] = await Promise.all([
      bomb,
      harness.run('cells += 1; cells', { session: NEIGHBOUR, timeoutMs: PROBES_TIMEOUT_MS }),
    ]);
    // It may have left itself no memory for a result. Other sessions must not suffer from that.
    const after = await harness.run('1 + 1', { session, timeoutMs: PROBES_TIMEOUT_MS });
    const isAnswered = after.value === '2' || after.status === 'error';
    const isHeld =
      answer.status === (isEndless ? 'timeout' : 'error') && isAnswered && beside.value === String(index + 1);
    const detail = firstLine(answer);
    results.push({ group: 'bombs', name, wanted: 'refused', got: isHeld ? 'refused' : 'possible', detail });
    // Nothing of it is left for the next one.
    await harness.run('import os; os._exit(0)', { session });
  }
  return results;
}

async function namesIn(harness: Harness, code: string, session: string): Promise<string[]> {
  const answer = await harness.run(code, { session, timeoutMs: PROBES_TIMEOUT_MS });
  if (answer.error !== undefined) {
    throw new Error(`${session}: ${errorText(answer)}`);
  }
  return JSON.parse(textOf(answer.stdout).trim()) as string[];
}

function firstLine({ error }: CellAnswer): string {
  return (error && summarizeCellError(error)) ?? '';
}
