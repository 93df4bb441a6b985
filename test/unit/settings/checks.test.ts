import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { parseDurationMs, parseSizeBytes } from '../../../src/core/base/units.ts';
import {
  type Check,
  numberWithin,
  oneOf,
  onOrOff,
  parsedBy,
  RefusedText,
  readDigits,
  textLike,
  wholeNumberWithin,
} from '../../../src/edges/settings/checks.ts';

/** Texts that a careless check of a number, a name or a form gets wrong. */
const TEXTS = [
  '',
  ' ',
  '0',
  '1',
  '-1',
  '+1',
  '01',
  '1.5',
  '1.',
  '.5',
  '1e3',
  '0x10',
  '1_000',
  '1 000',
  '٣',
  'NaN',
  'Infinity',
  '9007199254740991',
  '9007199254740992',
  '9'.repeat(400),
  `0.${'0'.repeat(400)}1`,
  '0.01',
  '1024',
  '1024.01',
  '30s',
  '2M',
  '2 m',
  '500ms',
  '1.5s',
  '0.0001s',
  '24h',
  '24.0001h',
  '576h',
  's',
  '1s1',
  '512m',
  '1.5GiB',
  '2gb',
  '1k',
  'on',
  'ON',
  'off',
  'ask',
  'true',
  'FALSE',
  'yes',
  'null',
  'constructor',
  '__proto__',
  'toString',
  '0n',
  'ſ',
  'İ',
  'a',
  'a b',
  'a\nb',
  'a\n',
  '\na',
  '-a',
  'a/b:c@d+e',
  'é',
  'a'.repeat(12),
  'a'.repeat(13),
];

type Verdict = { readonly value: unknown } | 'refused';

function verdictOf(check: Check<unknown>, text: string): Verdict {
  try {
    return { value: check(text) };
  } catch (error) {
    expect(error).toBeInstanceOf(RefusedText);
    return 'refused';
  }
}

function verdictOfSchema(schema: z.ZodType, text: string): Verdict {
  const { success, data } = schema.safeParse(text);
  return success ? { value: data } : 'refused';
}

const WORD = /^[A-Za-z0-9][\w.:/@+-]*$/;
const digits = z.string().regex(/^\d+$/).transform(Number);
const decimal = z
  .string()
  .regex(/^\d+(\.\d+)?$/)
  .transform(Number);

const switchWord = (text: string): string => text.replace(/^(?:0|false|no)$/, 'off').replace(/^(?:1|true|yes)$/, 'on');

/** Each check, and the schema that it replaced. */
const PAIRS: readonly [string, Check<unknown>, z.ZodType][] = [
  [
    'oneOf',
    oneOf(['off', 'ask', 'on']),
    z
      .string()
      .toLowerCase()
      .transform(switchWord)
      .pipe(z.enum(['off', 'ask', 'on'])),
  ],
  [
    'onOrOff',
    onOrOff,
    z
      .string()
      .toLowerCase()
      .transform(switchWord)
      .pipe(z.enum(['off', 'on']))
      .transform((text) => text === 'on'),
  ],
  ['textLike', textLike(WORD, 12), z.string().max(12).regex(WORD)],
  [
    'digits',
    wholeNumberWithin(readDigits(/^\d+$/), { min: 1, max: 9_007_199_254_740_991 }),
    digits.pipe(z.int().min(1)),
  ],
  [
    'decimals',
    numberWithin(readDigits(/^\d+(\.\d+)?$/), { min: 0.01, max: 1024 }),
    decimal.pipe(z.number().min(0.01).max(1024)),
  ],
  [
    'durations',
    wholeNumberWithin(parseDurationMs, { min: 0, max: 86_400_000 }),
    z.string().transform(parseDurationMs).pipe(z.int().min(0).max(86_400_000)),
  ],
  [
    'sizes',
    wholeNumberWithin(parseSizeBytes, { min: 1024 }),
    z.string().transform(parseSizeBytes).pipe(z.int().min(1024)),
  ],
  [
    'seconds',
    wholeNumberWithin((text) => parseDurationMs(text) / 1000, { min: 1, max: 86_400 }),
    z
      .string()
      .transform(parseDurationMs)
      .pipe(z.int().multipleOf(1000).min(1000).max(86_400_000))
      .transform((ms) => ms / 1000),
  ],
];

describe('accept and convert what the schemas did, and refuse the rest', () => {
  test.each(PAIRS)('%s', (_name, check, schema) => {
    const verdicts = TEXTS.map((text) => verdictOf(check, text));
    expect(verdicts).toEqual(TEXTS.map((text) => verdictOfSchema(schema, text)));
    expect(verdicts).toContain('refused');
    expect(verdicts.some((verdict) => verdict !== 'refused')).toBe(true);
  });
});

test('names the reason of a parser, and keeps its error', () => {
  const cause = new Error('it names no tool');
  const check = parsedBy((): string => {
    throw cause;
  });
  expect(() => check('x')).toThrow(RefusedText);
  expect(() => check('x')).toThrow(expect.objectContaining({ message: 'it names no tool', cause }));
});
