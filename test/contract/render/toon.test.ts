/** `runtime.to_toon` through a real kernel returns exactly the text of the encoder. */
import { createHash } from 'node:crypto';
import { encode } from '@toon-format/toon';
import * as fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { silentLogger } from '../../../src/core/base/log.ts';
import { createHostCalls } from '../../../src/core/calls/host-calls.ts';
import { createServerDirectory } from '../../../src/core/directory/server-directory.ts';
import { createMetadataSource } from '../../../src/core/directory/server-metadata.ts';
import { createUpstreamPool } from '../../../src/edges/upstream/pool.ts';
import { createLocalPythonEngine, hasLocalPython } from '../../support/local-python.ts';
import { createHarness, type Harness, textOf } from '../../support/session-harness.ts';

const SAMPLES = 200;

/** Texts that need quotes, or look as if they did. */
const odd = ['', ' a', 'a ', '- x', '#c', '1', '-1.5', '05', '1e5', '+1', 'true', 'null', 'a,b', 'a|b', 'a:b', 'a"b'];
const rare = ['a\\b', 'x\ny', 'x\ty', '\r', '\u0001', '\u007f', '[a]', '{a}', '-', 'é', '\ufeffstart', '\u00a0', '😀'];
const words = fc.oneof(fc.constantFrom(...odd, ...rare), fc.string({ unit: 'grapheme', maxLength: 8 }));
const key = fc.oneof(fc.constantFrom('id', 'name', 'a.b', 'x-y', '1', '10', '2', '007', '__proto__'), words);
// No integers beyond 2^53, because JSON.parse in this test would change them.
const number = fc.oneof(
  fc.integer(),
  fc.double({ noNaN: true, noDefaultInfinity: true, min: -1e9, max: 1e9 }),
  fc.constantFrom(0, 1e-7, 1.5e-9, 0.000001, 123e-20, 9_007_199_254_740_991, 5e-324, 1e21, 1e300),
);
const cell = fc.oneof(fc.constant(null), fc.boolean(), number, words);
const row = fc.record({ id: fc.integer(), name: words, 'is ok': fc.boolean() });
const { value } = fc.letrec((tie) => ({
  value: fc.oneof(
    { depthSize: 'small' },
    cell,
    fc.array(row, { maxLength: 3 }),
    fc.dictionary(key, row, { maxKeys: 3 }),
    fc.array(fc.record({ at: row, n: number }), { maxLength: 3 }),
    fc.array(fc.array(cell, { maxLength: 3 }), { maxLength: 3 }),
    fc.array(tie('value'), { maxLength: 4 }),
    fc.dictionary(key, tie('value'), { maxKeys: 4 }),
  ),
}));

describe.skipIf(!hasLocalPython())('runtime.to_toon', () => {
  const pool = createUpstreamPool({ logger: silentLogger });
  let harness: Harness;

  beforeAll(async () => {
    const directory = createServerDirectory(createMetadataSource(pool, undefined), () => new Map(), silentLogger);
    harness = await createHarness({
      engine: createLocalPythonEngine(),
      handleCall: createHostCalls({
        pool,
        directory,
        logger: silentLogger,
      }),
      servers: [],
    });
  });
  afterAll(async () => {
    await harness.close();
    await pool.close();
  });

  async function printed(code: string): Promise<string> {
    const answer = await harness.run(`import json\n${code}`, { servers: [], timeoutMs: 25_000 });
    expect(answer.error).toBeUndefined();
    return textOf(answer.stdout);
  }

  it('returns the text of the encoder', async () => {
    const samples = fc.sample(value, { seed: 20_260_408, numRuns: SAMPLES }).map((drawn) => JSON.stringify(drawn));
    const json = JSON.stringify(`[${samples.join(',')}]`);
    // JSON escapes are valid in Python, too.
    const out = await printed(`print(json.dumps([runtime.to_toon(value) for value in json.loads(${json})]))`);
    expect(JSON.parse(out)).toEqual(samples.map((sample) => encode(JSON.parse(sample))));
  });

  it('handles a value whose answer comes in parts', async () => {
    const rows = Array.from({ length: 20_000 }, (_, id) => ({ id, text: 'x'.repeat(80) }));
    const code = `
text = runtime.to_toon([{'id': id, 'text': 'x' * 80} for id in range(20_000)])
import hashlib
print(len(text), hashlib.sha256(text.encode()).hexdigest())`;
    const text = encode(rows);
    expect(text.length).toBeGreaterThan(1_600_000);
    expect(await printed(code)).toBe(`${text.length} ${createHash('sha256').update(text).digest('hex')}\n`);
  });

  it('keeps the digits of large integers as text', async () => {
    expect(await printed('print(runtime.to_toon({"id": 2**53 + 1, "less": -(2**63), "fits": 2**53 - 1}))')).toBe(
      'id: "9007199254740993"\nless: "-9223372036854775808"\nfits: 9007199254740991\n',
    );
  });

  it('explains what is wrong with a value, and what to do if it is too large', async () => {
    const code = `
for value in ({'a': [object()]}, ['x' * 9_000_000], list(range(300_000)), [[[]]] * 70_000):
    deep = value
    if len(value) == 70_000:
        for _ in range(140):
            deep = [deep, 1]
    try:
        runtime.to_toon(deep)
    except Exception as error:
        print(type(error).__name__, error)`;
    const hint = 'Hint: Write fewer rows at once.';
    const tooLarge = 'MCPError LIMIT_FRAME: the value passed to runtime.to_toon is too large: ';
    expect((await printed(code)).split('\n')).toEqual([
      "TypeError value['a'][0]: object has no TOON form; convert it to a dict, list, str or number",
      expect.stringMatching(
        /^.*runtime.to_toon is too large: a call frame has 9,000,\d+ bytes; the limit is 8,388,608 bytes$/,
      ),
      hint,
      `${tooLarge}the call was not read: its line is too large: more than 250,000 values`,
      hint,
      'MCPError LIMIT_RESULT: the value is longer than 8,388,608 characters as TOON',
      hint,
      '',
    ]);
  });
});
