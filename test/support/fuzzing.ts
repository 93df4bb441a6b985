/**
 * Runs the properties of `test/fuzz`. The seed is printed with every property, even if it holds. To repeat a run:
 * `MCP_BRIDGE_TEST_FUZZ_SEED=… MCP_BRIDGE_TEST_FUZZ_RUNS=… npm test -- fuzz`.
 */
import * as fc from 'fast-check';
import { it } from 'vitest';

/** Runs of all properties together. Each property states its share, and the shares add up to this. */
export const TOTAL_RUNS = 100_000;
const SEED = Number(process.env['MCP_BRIDGE_TEST_FUZZ_SEED'] ?? Date.now() % 2 ** 31);
const SCALE = Number(process.env['MCP_BRIDGE_TEST_FUZZ_RUNS'] ?? TOTAL_RUNS) / TOTAL_RUNS;
/** Limits hangs and asserts no speed: the whole stage takes less than half a minute. */
const TIMEOUT_MS = 600_000;
/** Also limits the search for a smaller example. */
const MAX_PROPERTY_MS = 120_000;
/** CPU time of one run. The slowest legitimate one takes milliseconds; anything quadratic in its input takes minutes. */
const MAX_RUN_MS = 5_000;

/** A test that checks `property` on values of `arbitrary`, with `runs` of the total. */
export function itHolds<Value>(
  title: string,
  runs: number,
  arbitrary: fc.Arbitrary<Value>,
  property: (value: Value) => void,
): void {
  // oxlint-disable-next-line vitest/valid-title -- callers pass a literal
  it(title, { timeout: TIMEOUT_MS }, () => {
    const numRuns = Math.max(1, Math.round(runs * SCALE));
    const begun = process.cpuUsage();
    fc.assert(
      fc.property(arbitrary, (value) => expectToEnd(() => property(value))),
      { numRuns, seed: SEED, interruptAfterTimeLimit: MAX_PROPERTY_MS, markInterruptAsFailure: true },
    );
    const { user } = process.cpuUsage(begun);
    console.log(`fuzz: ${title}: ${numRuns} runs, seed ${SEED}, ${Math.round(user / 1000)} ms of CPU`);
  });
}

function expectToEnd(run: () => void): void {
  const begun = process.cpuUsage();
  run();
  const { user } = process.cpuUsage(begun);
  if (user / 1000 > MAX_RUN_MS) {
    throw new Error(`one run took ${Math.round(user / 1000)} ms of CPU; the limit is ${MAX_RUN_MS} ms`);
  }
}

/** Whether the prototypes that all objects share are unchanged. */
export function isPrototypeClean(): boolean {
  const strange = (prototype: object) => Object.entries(Object.getOwnPropertyDescriptors(prototype));
  return [Object.prototype, Array.prototype, Function.prototype, String.prototype].every((prototype) =>
    strange(prototype).every(([, { enumerable }]) => enumerable !== true),
  );
}

/** Splits bytes at arbitrary places, as reads from a pipe do; some pieces are single bytes. */
export function chunksOf(bytes: Buffer, cuts: readonly number[]): Buffer[] {
  const places = [...new Set(cuts.map((cut) => cut % (bytes.length + 1)))].toSorted((a, b) => a - b);
  return [0, ...places].map((start, index) => bytes.subarray(start, places[index] ?? bytes.length));
}

/** Positions for `chunksOf`. */
export const cutPlaces: fc.Arbitrary<number[]> = fc.array(fc.nat(1 << 20), { maxLength: 24 });

/** Words and characters that have broken parsers before. */
export const NASTY_TEXTS: readonly string[] = [
  '',
  '\0',
  '\r\n',
  '\n',
  '\u2028',
  '\u0085',
  '\uFEFF',
  '\ud800',
  '\udc00',
  '\u202E',
  '\u001b[2J',
  '__proto__',
  'constructor',
  'prototype',
  'toString',
  '../../etc/passwd',
  '-0',
  'NaN',
  '1e999',
  '9'.repeat(400),
  '💥',
];

/** Text of any kind: words that parsers know, random characters, and hostile ones. */
export const anyText: fc.Arbitrary<string> = fc.oneof(
  { weight: 4, arbitrary: fc.string({ maxLength: 40 }) },
  { weight: 2, arbitrary: fc.string({ unit: 'binary', maxLength: 40 }) },
  { weight: 1, arbitrary: fc.constantFrom(...NASTY_TEXTS) },
);

/** Numbers that JavaScript writes with all their digits. No -0, which JSON has but `JSON.stringify` does not write. */
export const anyNumber: fc.Arbitrary<number> = fc.oneof(
  fc.integer(),
  fc.maxSafeInteger(),
  fc.double({ noNaN: true, min: -1e15, max: 1e15 }).map((number) => number + 0),
);

/** Any JSON value, with hostile texts among its keys and values. */
export const anyJson: fc.Arbitrary<unknown> = fc.letrec((tie) => ({
  value: fc.oneof(
    { maxDepth: 4, depthSize: 'small' },
    fc.constantFrom(null, true, false),
    anyNumber,
    anyText,
    fc.array(tie('value'), { maxLength: 4 }),
    fc
      .array(fc.tuple(anyText, tie('value')), { maxLength: 4 })
      // Own keys even for `__proto__`, as JSON.parse makes them.
      .map((members) => Object.fromEntries(members)),
  ),
})).value;
