// Tags: python
/**
 * Results that are passed on as bytes. Whatever a server writes, the way of the bytes and the way of the objects must agree: in the
 * value that code sees, the sizes in the audit log and for policies, what is learned about the tool, masked secrets, and errors.
 */
import { spawnSync } from 'node:child_process';
import * as fc from 'fast-check';
import { afterAll, describe, expect, it } from 'vitest';
import { MAX_JSON_DEPTH } from '../../src/core/base/limits.ts';
import type { Logger } from '../../src/core/base/log.ts';
import { createObservedResults } from '../../src/core/calls/observed-results.ts';
import { stringifyExact } from '../../src/core/protocol/exact-json.ts';
import { JsonScan, type ScannedResponse } from '../../src/core/protocol/json-scan.ts';
import { LineReader } from '../../src/core/protocol/line-reader.ts';
import { isFailure, type ResultBytes } from '../../src/core/protocol/result-bytes.ts';
import { MessageIntake } from '../../src/edges/upstream/message-intake.ts';
import { createResultMask } from '../../src/edges/upstream/result-mask.ts';
import { jsonBytes } from '../../src/record/audit/shape.ts';
import { anyJson, anyText, chunksOf, cutPlaces, itHolds } from '../support/fuzzing.ts';
import { hasLocalPython } from '../support/local-python.ts';

const MAX_LINE_BYTES = 1024 * 1024;
/** Lines from here on are scanned; for other lines, the scan is never asked. */
const MIN_BYTES = 16;
const ID = 7;
const SECRET = 'hunter2-and-more';
const TOOL = { name: 'tool' };

const space = fc.constantFrom('', '', '', '', ' ', '\t', '\r', '  ');
const escaped = (text: string): string =>
  `"${Array.from({ length: text.length }, (_, at) => `\\u${text.charCodeAt(at).toString(16).padStart(4, '0')}`).join('')}"`;
const string = fc.oneof(
  { weight: 4, arbitrary: anyText.map((text) => JSON.stringify(text)) },
  { weight: 1, arbitrary: anyText.map(escaped) },
  { weight: 1, arbitrary: anyText.map((text) => JSON.stringify(text).replaceAll('/', '\\/')) },
  {
    weight: 1,
    arbitrary: fc.constantFrom(
      '"\\ud83d\\ude00"',
      '"\\ude00\\ud83d"',
      '"\\ud83dx\\ude00"',
      '"\\ud83d\\ud83d\\ude00"',
      '"é"',
    ),
  },
  { weight: 1, arbitrary: fc.constantFrom(SECRET, `x${SECRET}y`).map((text) => JSON.stringify(text)) },
  { weight: 1, arbitrary: fc.constantFrom(...Array.from(SECRET, (letter) => escaped(letter)), escaped(SECRET)) },
);
const number = fc.oneof(
  fc.integer().map(String),
  fc.double({ noNaN: true, noDefaultInfinity: true }).map(String),
  fc.constantFrom(
    '0',
    '-0',
    '-0.0',
    '1.0',
    '10.00',
    '-3.0',
    '1e2',
    '1E+2',
    '1e-7',
    '0.1',
    '0.10',
    '0.000001',
    '0.0000001',
    '1e21',
    '2e-400',
    '1e400',
    '-1e400',
    '1.5e300',
    '9007199254740991',
    '9007199254740992',
    '9007199254740993',
    '9007199254740993.0',
    '12345678901234567890',
    '12345678901234567.5',
    '123456789012345.5',
    '0.12345678901234567',
    '5e-324',
    '100000000000000000000.0',
  ),
);
const key = fc.oneof(
  {
    weight: 3,
    arbitrary: fc.constantFrom(
      '"a"',
      '"b"',
      '"0"',
      '"1"',
      '"2"',
      '"01"',
      '"10"',
      '"4294967295"',
      '"\\u0061"',
      '"é"',
      '"\\u00e9"',
      '"\\ud83d\\ude00"',
    ),
  },
  { weight: 3, arbitrary: fc.uuid().map((text) => JSON.stringify(text)) },
  { weight: 1, arbitrary: string },
);
/** JSON as servers may write it: not as JavaScript would. */
const json: fc.Arbitrary<string> = fc.letrec<{ value: string }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 4, depthSize: 'small' },
    fc.constantFrom('null', 'true', 'false'),
    number,
    string,
    spaced('[', fc.array(tie('value'), { maxLength: 5 }), ']'),
    spaced(
      '{',
      fc.array(
        fc.tuple(key, space, tie('value')).map(([name, gap, value]) => `${name}${gap}:${gap}${value}`),
        { maxLength: 5 },
      ),
      '}',
    ),
  ),
})).value;
/** Objects with so many keys that they are compared in another way. */
const wide = fc
  .record({ count: fc.integer({ min: 28, max: 60 }), repeated: fc.nat(100), value: number })
  .map(({ count, repeated, value }) => {
    const keys = [...Array.from({ length: count }, (_, at) => `k${at}`), ...(repeated < count ? [`k${repeated}`] : [])];
    return `{${keys.map((name) => `"${name}":${value}`).join(',')}}`;
  });
const deep = fc
  .integer({ min: MAX_JSON_DEPTH - 5, max: MAX_JSON_DEPTH + 2 })
  .map((levels) => `${'['.repeat(levels)}${']'.repeat(levels)}`);

function spaced(open: string, members: fc.Arbitrary<string[]>, close: string): fc.Arbitrary<string> {
  return fc.tuple(members, space, space).map(([list, a, b]) => `${open}${a}${list.join(`${b},${a}`)}${b}${close}`);
}

const block = fc.oneof(
  { weight: 3, arbitrary: string.map((text) => `{"type":"text","text":${text}}`) },
  { weight: 1, arbitrary: json.map((text) => `{"type":"text","text":${JSON.stringify(text)}}`) },
  { weight: 1, arbitrary: json },
);
const member = fc.oneof(
  { weight: 4, arbitrary: fc.array(block, { maxLength: 2 }).map((blocks) => `"content":[${blocks.join(',')}]`) },
  { weight: 2, arbitrary: fc.constantFrom('"isError":true', '"isError":false', '"isError" : true', '"isError":1') },
  { weight: 3, arbitrary: fc.oneof(json, wide, deep).map((value) => `"structuredContent":${value}`) },
  { weight: 1, arbitrary: json.map((value) => `"_meta":${value}`) },
  {
    weight: 1,
    arbitrary: fc.constantFrom('"resultType":"complete"', '"resultType":"input_required"', '"resultType":3'),
  },
  { weight: 1, arbitrary: fc.tuple(key, json).map(([name, value]) => `${name}:${value}`) },
);
const result = fc.oneof(
  { weight: 12, arbitrary: spaced('{', fc.array(member, { maxLength: 4 }), '}') },
  { weight: 1, arbitrary: json },
);
const envelope: fc.Arbitrary<readonly string[]> = fc.oneof(
  { weight: 8, arbitrary: fc.constantFrom(['"jsonrpc":"2.0"', `"id":${ID}`]) },
  {
    weight: 1,
    arbitrary: fc.constantFrom(
      [`"id":"${ID}"`, '"jsonrpc" : "2.0"'],
      [`"id":${ID}`],
      ['"jsonrpc":"1.0"', `"id":${ID}`],
    ),
  },
  {
    weight: 1,
    arbitrary: fc.constantFrom(
      ['"jsonrpc":"2.0"', '"id":8'],
      ['"jsonrpc":"2.0"', `"id":${ID}.0`],
      ['"jsonrpc":"2.0"', '"id":null'],
      ['"jsonrpc":"2.0"', `"id":${ID}`, '"error":{"code":1,"message":"no"}'],
      ['"jsonrpc":"2.0"', `"id":${ID}`, '"method":"x"'],
      ['"jsonrpc":"2.0"', `"id":${ID}`, `"id":${ID}`],
      ['"jsonrpc":"2.0"', `"id":${ID}`, '"more":[1.0]'],
    ),
  },
);
/** Numbers further along than the part of a line that the log may show are rewritten at once. */
const start = fc.constantFrom('', '', ' '.repeat(4200));
const response = fc
  .tuple(envelope, result, fc.nat(3), space, space, start)
  .map(
    ([members, value, at, a, b, first]) =>
      `${first}{${[...members.slice(0, at), `"result":${value}`, ...members.slice(at)].join(`${a},${b}`)}}${b}`,
  );

/** A line of bytes: usually a response; or one that is cut, changed, not UTF-8, or after other output. */
const line = fc.tuple(response, fc.nat(20), fc.nat(1 << 20), fc.nat(255)).map(([text, kind, place, byte]) => {
  const bytes = Buffer.from(text);
  const at = place % bytes.length;
  const variants: readonly Buffer[] = [
    bytes.subarray(0, at),
    Buffer.concat([bytes.subarray(0, at), Buffer.from([byte]), bytes.subarray(at + 1)]),
    Buffer.concat([bytes.subarray(0, at), Buffer.from([byte]), bytes.subarray(at)]),
    Buffer.concat([Buffer.from('a banner'), bytes]),
  ];
  return variants[kind] ?? bytes;
});

interface Seen {
  readonly answers: { readonly message: unknown; readonly lineBytes: number }[];
  readonly logged: string[];
  readonly bytes: ResultBytes[];
}

/** What comes out of a server's output, with or without the way of the bytes. */
function pass(chunks: readonly Buffer[], wantsBytes: boolean, secrets: readonly string[]): Seen {
  const seen: Seen = { answers: [], logged: [], bytes: [] };
  const log = (text: string): number => seen.logged.push(text);
  const logger = { debug: log, info: log, warning: log, error: log, daily: log } as unknown as Logger;
  const intake = new MessageIntake(
    {
      name: 'server',
      logger,
      mask: createResultMask(secrets),
      maskText: (text) => text,
      intercept: ({ id, result: value, error, method }, lineBytes) =>
        seen.answers.push({ message: { id: String(id), result: value, error, method }, lineBytes }) > 0,
      lines: {
        wantsLines: false,
        acceptLine: () => false,
        expectsResults: true,
        wantsBytes,
        acceptBytes(id, value, lineBytes) {
          if (Number(id) !== ID) {
            return false;
          }
          const message = { id: String(id), result: value.toObject(), error: undefined, method: undefined };
          seen.answers.push({ message, lineBytes });
          seen.bytes.push(value);
          return true;
        },
      },
    },
    () => undefined,
  );
  intake.noteSent({ id: ID, method: 'tools/call' });
  const reader = new LineReader(() => MAX_LINE_BYTES, {
    onLine: (whole) => intake.handleLine(whole),
    onOversize: (dropped) => intake.failDropped(dropped),
    longLines: { minBytes: MIN_BYTES, begin: () => intake.readLongLine() },
  });
  for (const chunk of chunks) {
    // A copy, because numbers are rewritten in place.
    reader.push(Buffer.from(chunk));
  }
  return seen;
}

function scanned(chunks: readonly Buffer[]): { found: ScannedResponse | undefined; text: string } {
  const scan = new JsonScan();
  const pieces = chunks.map((chunk) => Buffer.from(chunk));
  pieces.forEach((piece) => scan.push(piece));
  const found = scan.end();
  scan.finishNumbers();
  return { found, text: Buffer.concat(pieces).toString('latin1') };
}

function textOf(value: ResultBytes): string {
  return Buffer.concat(value.pieces).toString('utf8');
}

/** For Python: the result as bytes and as JavaScript writes it. */
const forPython: [string, string][] = [];
let accepted = 0;
let all = 0;

describe('results as bytes', () => {
  const input = fc.tuple(line, cutPlaces, fc.constantFrom<readonly string[]>([], [], [SECRET]));

  itHolds('are what they would be as objects', 20_000, input, ([bytes, cuts, secrets]) => {
    const chunks = chunksOf(Buffer.concat([bytes, Buffer.from('\n')]), cuts);
    const asObjects = pass(chunks, false, secrets);
    const asBytes = pass(chunks, true, secrets);
    expect(asBytes.answers.map(({ message }) => stringifyExact(message))).toEqual(
      asObjects.answers.map(({ message }) => stringifyExact(message)),
    );
    expect(asBytes.answers.map(({ lineBytes }) => lineBytes)).toEqual(
      asObjects.answers.map(({ lineBytes }) => lineBytes),
    );
    expect(asBytes.logged).toEqual(asObjects.logged);
    all += 1;
    for (const value of asBytes.bytes) {
      accepted += 1;
      const object = value.toObject();
      expect(isFailure(value)).toBe(isFailure(object));
      expect(value.plainBytes).toBe(jsonBytes(object));
      expect(value.writtenBytes).toBe(Buffer.byteLength(stringifyExact(object)));
      expect(value.length).toBe(Buffer.concat(value.pieces).length);
      expect(stringifyExact(value)).toBe(stringifyExact(object));
      const [fromBytes, fromObject] = [createObservedResults(), createObservedResults()];
      fromBytes.note('d', TOOL, {}, value);
      fromObject.note('d', TOOL, {}, object);
      expect(fromBytes.schema('d', TOOL)).toEqual(fromObject.schema('d', TOOL));
      forPython.push([textOf(value), stringifyExact(object)]);
    }
  });

  // A line in pieces of less than 4 KiB is scanned as one.
  itHolds('are read alike in any pieces', 20_000, fc.tuple(line, cutPlaces), ([bytes, cuts]) => {
    const whole = scanned([bytes]);
    const inPieces = scanned(chunksOf(bytes, cuts));
    // A number that fills a piece is refused.
    if (inPieces.found !== undefined) {
      expect(inPieces).toEqual(whole);
    }
  });

  itHolds(
    'have an outline with the start of their text',
    2_000,
    fc.tuple(
      fc.array(fc.oneof(anyText, fc.constantFrom('\\', '\\\\', '"', 'é', '💥')), { maxLength: 60 }),
      fc.nat(40),
      fc.boolean(),
      anyJson,
    ),
    ([texts, minTextChars, isEscaped, meta]) => {
      const whole = texts.join('');
      const text = isEscaped ? escaped(whole) : JSON.stringify(whole);
      const bytes = Buffer.from(
        `{"jsonrpc":"2.0","id":${ID},"result":{"content":[{"type":"text","text":${text}}],"_meta":${JSON.stringify(meta)}}}\n`,
      );
      const [value] = pass([bytes], true, []).bytes;
      if (value !== undefined) {
        const outline = value.toOutline(minTextChars) as { content: [{ text: string }] };
        const kept = outline.content[0].text;
        expect(kept.length).toBeGreaterThanOrEqual(Math.min(minTextChars, whole.length));
        expect(whole.startsWith(kept)).toBe(true);
        const object = value.toObject() as typeof outline;
        object.content[0].text = kept;
        expect(outline).toEqual(object);
      }
    },
  );

  it('are passed on as bytes as a rule', () => {
    expect(accepted).toBeGreaterThan(all / 10);
  });

  // New users may have no Python; the other properties hold without it.
  const notCovered = hasLocalPython() ? '' : 'not covered: needs python3 3.10 or newer on PATH: ';
  it.skipIf(notCovered !== '')(`${notCovered}are the same to Python`, () => {
    const program = [
      'import json, sys',
      'for line in sys.stdin.buffer:',
      '    one, other = json.loads(line)',
      '    if repr(json.loads(one)) != repr(json.loads(other)): print(ascii(one), ascii(other)); break',
    ].join('\n');
    const { stdout, stderr } = spawnSync('python3', ['-c', program], {
      input: forPython.map((pair) => `${JSON.stringify(pair)}\n`).join(''),
      encoding: 'utf8',
    });
    expect(`${stdout}${stderr}`).toBe('');
    expect(forPython.length).toBeGreaterThan(0);
  });

  afterAll(() => {
    console.log(`fuzz: ${accepted} of ${all} results were passed on as bytes`);
  });
});
