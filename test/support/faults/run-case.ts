/** Runs one case and checks the eight gates around it. */
import { readdirSync } from 'node:fs';
import { isAlive } from '../processes.ts';
import { sandboxesOfBridge } from '../sandbox.ts';
import { ATTACKED, type Caller, createCaller } from './call-checks.ts';
import type { Attack, FaultCase, FaultReport, Figures, GateResult, SeenAnswer } from './fault-case.ts';
import {
  GATE_IDS,
  type Gate,
  MAX_GROWTH_BYTES,
  MAX_KEPT_BYTES,
  MAX_LOOP_DELAY_MS,
  NEXT_CALL_MS,
  SETTLE_MS,
} from './gates.ts';
import type { NeighbourReport } from './neighbour.ts';
import type { Place } from './place.ts';
import { type Measured, peakBytes, resetPeak, takeMeasured } from './probe.ts';
import { SEARCH_FOR_CANARIES } from './search-memory.ts';
import { poll, startClock } from './wait.ts';

const MIB = 1024 * 1024;

/** A running case. */
interface Course extends Place {
  readonly fault: FaultCase;
  readonly caller: Caller;
  readonly allowed: string[];
  readonly ledgerBefore: number;
  readonly logBefore: number;
  readonly rssBefore: number;
  readonly inUseBefore: number;
  readonly problems: Map<Gate, string[]>;
}

/** The report, and the error of the case itself. */
export async function runCase(
  fault: FaultCase,
  surroundings: Place,
): Promise<{ report: FaultReport; ended: Promise<void> }> {
  const startedAt = performance.now();
  const course = await begin(fault, surroundings);
  const beside = surroundings.neighbour.start();
  const ended = fault.run(createAttack(course));
  await ended.catch(() => undefined);
  if (!isLeftOut(course, 'G4')) {
    await checkNextCall(course);
  }
  const neighbour = await beside.stop();
  const figures = await checkAll(course, neighbour);
  const report: FaultReport = {
    id: fault.id,
    title: fault.title,
    engine: surroundings.arena.engine.label,
    gates: Object.fromEntries(GATE_IDS.map((gate) => [gate, resultOf(course, gate)])) as FaultReport['gates'],
    figures: { seconds: (performance.now() - startedAt) / 1000, ...figures },
  };
  return { report, ended };
}

async function begin(fault: FaultCase, surroundings: Place): Promise<Course> {
  const { arena } = surroundings;
  const caller = createCaller(arena);
  const { next } = await askNext(caller, `before_the_case = "${fault.id}"\nprint(1)`);
  if (next.stdout !== '1') {
    throw new Error(`the case could not start: ${next.text}`);
  }
  const before = await takeMeasured(arena.probeFolder);
  resetPeak(arena.bridge.pid);
  arena.noteProcesses();
  return {
    ...surroundings,
    fault,
    caller,
    allowed: [],
    ledgerBefore: arena.ledger().length,
    logBefore: arena.log().length,
    rssBefore: before.rss,
    inUseBefore: before.heapUsed + before.external,
    problems: new Map(),
  };
}

function createAttack(course: Course): Attack {
  const { arena, caller, allowed } = course;
  return {
    arena,
    run: (code, options) => caller.run(code, options),
    allow: (...calls) => allowed.push(...calls),
    calls: () => callsOf(course),
    log: () => arena.log().slice(course.logBefore),
  };
}

/** G4, and whether lost state was reported as lost. */
async function checkNextCall(course: Course): Promise<void> {
  const { caller, fault } = course;
  const { next, tookMs } = await askNext(caller);
  if (next.status !== 'success' || next.stdout !== '1') {
    note(course, 'G4', `print(1) answered ${next.text.slice(0, 300)}`);
  }
  if (tookMs > NEXT_CALL_MS) {
    note(course, 'G4', `print(1) took ${Math.round(tookMs)} ms`);
  }
  const kept = await caller.run(`print(globals().get("before_the_case"))\n${SEARCH_FOR_CANARIES}`, { timeout: 30 });
  const [state, ...found] = kept.stdout.split('\n');
  const texts = caller.texts.get(ATTACKED) ?? [];
  if (state !== fault.id && !texts.some((text) => /State was lost|Restored \d/.test(text))) {
    note(course, 'G4', `the state was lost, and no answer said so: ${kept.text.slice(0, 300)}`);
  }
  if (String(found) !== 'none') {
    note(course, 'G8', `in the sandbox: ${found.join(', ') || kept.text.slice(0, 300)}`);
  }
}

/**
 * Runs a cell that prints 1. Runs it again if the engine's command got no answer on a starved machine: the bridge gives an
 * engine 5 s to answer, which a fork bomb beside other work can use up.
 */
async function askNext(caller: Caller, code = 'print(1)'): Promise<{ next: SeenAnswer; tookMs: number }> {
  for (let round = 1; ; round += 1) {
    const clock = startClock();
    const next = await caller.run(code, { timeout: 30 });
    const isStarved = next.error.startsWith('ENGINE_UNAVAILABLE') && clock.elapsed() < NEXT_CALL_MS;
    if (!isStarved || round === 3) {
      return { next, tookMs: clock.elapsed() };
    }
  }
}

async function checkAll(course: Course, neighbour: NeighbourReport): Promise<Omit<Figures, 'seconds'>> {
  course.caller.wrong.forEach((text) => note(course, 'G1', text));
  neighbour.wrong.slice(0, 3).forEach((text) => note(course, 'G5', text));
  checkLedger(course);
  checkSecrets(course);
  if (!isLeftOut(course, 'G6')) {
    await checkLeftovers(course);
  }
  return {
    neighbourMs: neighbour.medianMs,
    neighbourBeforeMs: course.neighbourBeforeMs,
    ...(isLeftOut(course, 'G3') && isLeftOut(course, 'G2') ? {} : await checkHost(course)),
  };
}

/** G2 and G3. */
async function checkHost(course: Course): Promise<Pick<Figures, 'growthMib' | 'loopMaxMs' | 'loopP99Ms'>> {
  const { arena, fault, rssBefore, inUseBefore } = course;
  const growth = peakBytes(arena.bridge.pid) - rssBefore;
  const { p99Ms, maxMs } = await takeMeasured(arena.probeFolder);
  const allowed = fault.growth === undefined ? MAX_GROWTH_BYTES : fault.growth.mib * MIB;
  if (growth > allowed) {
    note(course, 'G2', `grew by ${toMib(growth)} MiB, allowed are ${toMib(allowed)}`);
  }
  const mayKeep = fault.growth?.keptMib === undefined ? MAX_KEPT_BYTES : fault.growth.keptMib * MIB;
  // Allocators keep free pages for later use. Those do not count as memory of the bridge.
  const keptOf = ({ rss, heapUsed, external }: Measured) =>
    Math.min(rss - rssBefore, heapUsed + external - inUseBefore);
  const after = await poll(
    () => takeMeasured(arena.probeFolder),
    (measured) => keptOf(measured) <= mayKeep,
    SETTLE_MS,
  );
  if (keptOf(after) > mayKeep) {
    const inside = `${toMib(after.heapUsed)} MiB of objects, ${toMib(after.external)} MiB of buffers`;
    note(course, 'G2', `kept ${toMib(after.rss - rssBefore)} MiB more than before, now with ${inside}`);
  }
  // The 99th percentile differs by tens of milliseconds between a free and a shared core, so it is reported but not checked.
  if (maxMs > MAX_LOOP_DELAY_MS) {
    note(course, 'G3', `the loop was held for ${Math.round(maxMs)} ms, p99 ${Math.round(p99Ms)} ms`);
  }
  return { growthMib: toMib(growth), loopMaxMs: maxMs, loopP99Ms: p99Ms };
}

/** G6, as far as it can be checked while the bridge lives: the sessions of the case are reset, that of the neighbor stays. */
async function checkLeftovers(course: Course): Promise<void> {
  const { arena, caller } = course;
  if (!isAlive(arena.bridge.pid)) {
    return; // Checked when it is closed.
  }
  const reset = (session: string) => arena.bridge.runPython('runtime.reset()', { session, timeout: 30 });
  await Promise.all([...new Set([ATTACKED, ...caller.texts.keys()])].map(reset));
  const left = await poll(
    () => sandboxesOfBridge(arena.engine, arena.bridge.pid),
    (found) => found.length <= 1 + arena.sandboxesAhead,
    SETTLE_MS,
  );
  if (left.length > 1 + arena.sandboxesAhead) {
    note(course, 'G6', `sandboxes left: ${left.join(', ')}`);
  }
  readdirSync(arena.callersFolder).forEach((name) => note(course, 'G6', `file in the caller's folder: ${name}`));
}

/** G7. */
function checkLedger(course: Course): void {
  const got = callsOf(course).toSorted().join(', ');
  const allowed = course.allowed.toSorted().join(', ');
  if (got !== allowed) {
    note(course, 'G7', `the servers got [${got.slice(0, 500)}], allowed was [${allowed.slice(0, 500)}]`);
  }
}

/** G8, as far as the client and the log show it. */
function checkSecrets(course: Course): void {
  const { arena, caller, logBefore } = course;
  const { neighbour, ...others } = arena.canaries;
  const logged = arena.log().slice(logBefore);
  const answered = arena.answers.map(({ text }) => text).join('\n');
  for (const [name, canary] of Object.entries(others)) {
    if (logged.includes(canary) || answered.includes(canary)) {
      note(course, 'G8', `the canary of ${name} was told`);
    }
  }
  if (logged.includes(neighbour) || [...caller.texts.values()].flat().join('\n').includes(neighbour)) {
    note(course, 'G8', 'data of the neighbour was told');
  }
}

function callsOf({ arena, ledgerBefore }: Course): string[] {
  return arena
    .ledger()
    .slice(ledgerBefore)
    .filter(({ server }) => server !== 'neighbour')
    .map(({ server, tool }) => `${server}.${tool}`);
}

function note({ problems }: Course, gate: Gate, text: string): void {
  problems.set(gate, [...(problems.get(gate) ?? []), text]);
}

function isLeftOut({ fault }: Course, gate: Gate): boolean {
  return fault.without?.[gate] !== undefined;
}

function resultOf({ fault, problems }: Course, gate: Gate): GateResult {
  const reason = fault.without?.[gate];
  if (reason !== undefined) {
    return { state: 'not applicable', why: reason };
  }
  const found = problems.get(gate);
  return found === undefined ? { state: 'ok' } : { state: 'failed', why: found.join('; ') };
}

function toMib(bytes: number): number {
  return Math.round(bytes / MIB);
}
