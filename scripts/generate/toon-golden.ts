/**
 * Values and their text as the host's TOON encoder writes it, one JSON pair `[value, text]` a line: what the encoder in
 * the sandbox is compared with. Drawn at random from a fixed seed, so that a run gives the same file again.
 */
import { encode } from '@toon-format/toon';
import {
  array,
  boolean,
  constant,
  constantFrom,
  dictionary,
  double,
  integer,
  letrec,
  oneof,
  record,
  sample,
  string,
} from 'fast-check';

const SEED = 20_260_408;
const SAMPLES = 600;

/** Texts that have to be quoted, or look as if they had to. */
const odd = ['', ' a', 'a ', '- x', '#c', '1', '-1.5', '05', '1e5', '+1', 'true', 'null', 'a,b', 'a|b', 'a:b', 'a"b'];
const rare = ['a\\b', 'x\ny', 'x\ty', '\r', '\u0001', '\u007f', '[a]', '{a}', '-', 'é', '\ufeffstart', '\u00a0', '😀'];
const words = oneof(constantFrom(...odd, ...rare), string({ unit: 'grapheme', maxLength: 8 }));
const key = oneof(constantFrom('id', 'name', 'a.b', 'x-y', '1', '10', '2', '007', '__proto__'), words);
// Integers beyond 2^53 are left out: JSON.parse would have changed them before the encoder sees them.
const number = oneof(
  integer(),
  double({ noNaN: true, noDefaultInfinity: true, min: -1e9, max: 1e9 }),
  constantFrom(0, 1e-7, 1.5e-9, 0.000001, 123e-20, 9_007_199_254_740_991, 5e-324),
);
const cell = oneof(constant(null), boolean(), number, words);
const row = record({ id: integer(), name: words, 'is ok': boolean() });
const { value } = letrec((tie) => ({
  value: oneof(
    { depthSize: 'small' },
    cell,
    array(row, { maxLength: 3 }),
    dictionary(key, row, { maxKeys: 3 }),
    array(record({ at: row, n: number }), { maxLength: 3 }),
    array(array(cell, { maxLength: 3 }), { maxLength: 3 }),
    array(tie('value'), { maxLength: 4 }),
    dictionary(key, tie('value'), { maxKeys: 4 }),
  ),
}));

export function renderToonGolden(): string {
  const samples = sample(value, { seed: SEED, numRuns: SAMPLES }).map((drawn) => JSON.stringify(drawn));
  const lines = [...new Set(samples)].map((json) => JSON.stringify([json, encode(JSON.parse(json))]));
  return `${lines.join('\n')}\n`;
}
