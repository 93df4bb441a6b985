/**
 * Anything a sandbox may write: frames, reports of its supervisor and garbage, split anywhere. The decoder returns every valid
 * frame unchanged and a short reason for everything else. It never throws, and holds at most one line.
 */
import { PassThrough } from 'node:stream';
import * as fc from 'fast-check';
import { describe, expect } from 'vitest';
import type { z } from 'zod';
import { KEPT_STDERR_BYTES, MAX_JSON_DEPTH } from '../../src/core/base/limits.ts';
import { decodeFrame, encodeFrame } from '../../src/core/protocol/codec.ts';
import { parseExact, stringifyExact } from '../../src/core/protocol/exact-json.ts';
import {
  HostFrameSchema,
  SandboxFrameSchema,
  type SupervisorReport,
  SupervisorReportSchema,
} from '../../src/core/protocol/frames.ts';
import { LineSplitter } from '../../src/core/protocol/line-splitter.ts';
import { isPlainSandboxFrame } from '../../src/core/protocol/plain-frames.ts';
import { watchSupervisor } from '../../src/core/session/supervisor.ts';
import { anyJson, anyText, chunksOf, cutPlaces, isPrototypeClean, itHolds } from '../support/fuzzing.ts';
import { arbitraryOf } from '../support/schema-arbitrary.ts';

const MAX_LINE_BYTES = 10_000;
/** The longest reason in a line of the log. */
const MAX_REASON_CHARS = 200;
const NEWLINE = 0x0a;

const sandboxFrame = arbitraryOf(SandboxFrameSchema);
const hostFrame = arbitraryOf(HostFrameSchema);
const report = arbitraryOf(SupervisorReportSchema);
const bytes = fc.uint8Array({ maxLength: 400 }).map((array) => Buffer.from(array));

/** A frame with a defect: cut, doubled, one byte changed, an extra member, nested too deeply. */
const brokenFrame = fc
  .record({ frame: sandboxFrame, kind: fc.nat(7), at: fc.nat(10_000), byte: fc.nat(255), key: anyText, value: anyJson })
  .map(({ frame, kind, at, byte, key, value }) => {
    const line = Buffer.from(encodeFrame(frame)).subarray(0, -1);
    const place = at % (line.length + 1);
    const text = line.toString('utf8');
    const member = `${JSON.stringify(key)}:${JSON.stringify(value)}`;
    const variants: readonly Buffer[] = [
      line.subarray(0, place),
      Buffer.concat([line, line]),
      Buffer.concat([line.subarray(0, place), Buffer.from([byte]), line.subarray(place + 1)]),
      Buffer.from(text.replace('{', `{${member},`)),
      Buffer.from(text.replace(/\}$/, `,${member}}`)),
      Buffer.from(`${'['.repeat(at)}${']'.repeat(at)}`),
      Buffer.from(
        text.replace(
          /\}$/,
          `,"__proto__":{"polluted":${'{"x":'.repeat(at % (2 * MAX_JSON_DEPTH))}1${'}'.repeat(at % (2 * MAX_JSON_DEPTH))}}}`,
        ),
      ),
      Buffer.from(text.replace(/\}$/, `,"${'k'.repeat(at * 10)}":1}`)),
    ];
    return variants[kind] ?? line;
  });
const rubbish = fc.oneof(
  brokenFrame,
  bytes,
  anyText.map((text) => Buffer.from(text)),
  anyJson.map((value) => Buffer.from(JSON.stringify(value))),
);

/** The lines, and the sizes of those that are too long, by the simplest possible code. */
function splitPlainly(all: Buffer): { lines: Buffer[]; oversize: number[]; rest: number } {
  const lines: Buffer[] = [];
  let start = 0;
  for (let end = all.indexOf(NEWLINE); end !== -1; end = all.indexOf(NEWLINE, start)) {
    lines.push(all.subarray(start, end));
    start = end + 1;
  }
  const isLong = (line: Buffer) => line.length > MAX_LINE_BYTES;
  const rest = all.length - start;
  return {
    lines: lines.filter((line) => !isLong(line)),
    oversize: lines.filter(isLong).map(({ length }) => length),
    rest: rest > MAX_LINE_BYTES ? 0 : rest,
  };
}

describe('lines', () => {
  const long = fc
    .record({ byte: fc.nat(255), count: fc.nat(12_000), end: fc.constantFrom('', '\n', '\r\n') })
    .map(({ byte, count, end }) => Buffer.concat([Buffer.alloc(count, byte), Buffer.from(end)]));
  const streams = fc.oneof(
    { weight: 3, arbitrary: bytes },
    { weight: 3, arbitrary: fc.array(rubbish, { maxLength: 8 }).map(joinLines) },
    { weight: 1, arbitrary: fc.array(fc.oneof(long, bytes), { maxLength: 4 }).map((parts) => Buffer.concat(parts)) },
  );

  itHolds('do not depend on how the bytes are split', 20_000, fc.tuple(streams, cutPlaces), ([all, cuts]) => {
    const expected = splitPlainly(all);
    const lines: Buffer[] = [];
    const oversize: number[] = [];
    const splitter = new LineSplitter(
      MAX_LINE_BYTES,
      (line) => lines.push(Buffer.from(line)),
      (length) => oversize.push(length),
    );
    for (const chunk of chunksOf(all, cuts)) {
      splitter.push(chunk);
      expect(splitter.pendingBytes).toBeLessThanOrEqual(MAX_LINE_BYTES);
    }
    expect(Buffer.concat(lines.flatMap(asLine)).equals(Buffer.concat(expected.lines.flatMap(asLine)))).toBe(true);
    expect(oversize).toEqual(expected.oversize);
    expect(splitter.pendingBytes).toBe(expected.rest);
  });
});

describe('frames', () => {
  const wire = fc.tuple(fc.array(sandboxFrame, { maxLength: 6 }), cutPlaces);

  itHolds('frames of the sandbox arrive unchanged', 15_000, wire, ([frames, cuts]) => {
    const all = Buffer.from(frames.map(encodeFrame).join(''));
    expect(decodeAll(chunksOf(all, cuts))).toEqual({ frames, reasons: [] });
  });

  itHolds('frames of the host arrive unchanged', 5_000, hostFrame, (frame) => {
    const line = Buffer.from(encodeFrame(frame).slice(0, -1));
    expect(line.includes(NEWLINE)).toBe(false);
    expect(decodeFrame(HostFrameSchema, line)).toMatchObject({ ok: true, frame });
  });

  const anyLine = fc.oneof(
    rubbish,
    sandboxFrame.map((frame) => Buffer.from(encodeFrame(frame).slice(0, -1))),
  );
  itHolds('a frame that is recognized without its schema is what the schema makes of it', 20_000, anyLine, (given) => {
    const decoded = decodeFrame(SandboxFrameSchema, given, isPlainSandboxFrame);
    expect(decoded).toEqual(decodeFrame(SandboxFrameSchema, given));
  });

  itHolds('garbage gives a short reason, or a frame that can be sent again', 20_000, rubbish, (line) => {
    const decoded = decodeFrame(SandboxFrameSchema, line);
    expect(isPrototypeClean()).toBe(true);
    if (decoded.ok) {
      const again = Buffer.from(stringifyExact(decoded.frame));
      // Its line may have had escapes, which count for more bytes.
      expect({ ...decodeFrame(SandboxFrameSchema, again), bytes: decoded.bytes }).toEqual(decoded);
      expect(Object.getPrototypeOf(decoded.frame)).toBe(Object.prototype);
    } else {
      expect(decoded.reason.length).toBeLessThanOrEqual(MAX_REASON_CHARS);
      expect(decoded.preview.length).toBeLessThanOrEqual(MAX_REASON_CHARS);
    }
  });

  const mixed = fc.tuple(
    fc.array(
      fc.oneof(
        sandboxFrame.map((frame) => ({ frame })),
        rubbish,
      ),
      { maxLength: 8 },
    ),
    cutPlaces,
  );

  itHolds('garbage never hides the next frame', 10_000, mixed, ([parts, cuts]) => {
    const lines = parts.map((part) =>
      Buffer.isBuffer(part) ? part : Buffer.from(encodeFrame(part.frame).slice(0, -1)),
    );
    const { frames } = decodeAll(chunksOf(joinLines(lines), cuts));
    const sent = parts.flatMap((part) => (Buffer.isBuffer(part) ? [] : [part.frame]));
    // Garbage may happen to be a frame, so there may be more.
    expect(isSubsequence(sent, frames)).toBe(true);
  });
});

describe('exact numbers', () => {
  const digits = fc.oneof(fc.nat().map(String), fc.bigInt({ min: 0n, max: 10n ** 30n }).map(String));
  const number = fc
    .tuple(
      fc.constantFrom('', '-'),
      digits,
      fc.constantFrom('', '.5', '.25', '.0625'),
      fc.constantFrom('', 'e9', 'E+400', 'e-7'),
    )
    .map((parts) => parts.join(''));
  const text = fc
    .array(
      fc.oneof(
        number,
        anyText.map((string) => JSON.stringify(string)),
      ),
      { maxLength: 6 },
    )
    .map((members) => `[${members.join(',')}]`);

  itHolds('pass through the host unchanged', 8_000, text, (json) => {
    const value = parseExact(json);
    const written = stringifyExact(value);
    expect(stringifyExact(parseExact(written))).toBe(written);
    const plain = JSON.parse(json) as readonly unknown[];
    const [before, after] = [numbersOf(json), numbersOf(written)];
    expect(after).toHaveLength(before.length);
    before.forEach((each, index) => expect(sameNumber(each, after[index] ?? '')).toBe(true));
    expect((JSON.parse(written) as readonly unknown[]).filter(isText)).toEqual(plain.filter(isText));
  });

  const plain = fc.oneof(fc.json(), anyText).filter((json) => !/\d{16}|e\+?\d{3}/i.test(json));

  itHolds('other JSON is parsed as by JSON.parse', 2_000, plain, (json) => {
    expect(resultOf(() => JSON.stringify(parseExact(json)))).toEqual(resultOf(() => JSON.stringify(JSON.parse(json))));
  });
});

describe('reports of the supervisor', () => {
  const noise = fc.oneof(
    rubbish,
    anyText.map((text) => Buffer.from(`{"report":${text}`)),
    fc.tuple(report, anyText).map(([one, key]) => Buffer.from(JSON.stringify({ ...one, [`more${key}`]: 1 }))),
  );
  const stderr = fc.tuple(
    fc.array(
      fc.oneof(
        report.map((one) => ({ report: one })),
        noise,
      ),
      { maxLength: 8 },
    ),
    cutPlaces,
  );

  itHolds('are found in any noise', 10_000, stderr, ([parts, cuts]) => {
    const lines = parts.map((part) => (Buffer.isBuffer(part) ? part : Buffer.from(JSON.stringify(part.report))));
    const stream = new PassThrough();
    const found: SupervisorReport[] = [];
    const watch = watchSupervisor(stream);
    watch.follow((one) => found.push(one));
    for (const chunk of chunksOf(joinLines(lines), cuts)) {
      stream.emit('data', chunk);
    }
    const sent = parts.flatMap((part) => (Buffer.isBuffer(part) ? [] : [part.report]));
    expect(isSubsequence(sent, found)).toBe(true);
    expect(watch.tail().length).toBeLessThanOrEqual(KEPT_STDERR_BYTES);
    expect(isPrototypeClean()).toBe(true);
  });
});

function joinLines(lines: readonly Buffer[]): Buffer {
  return Buffer.concat(lines.flatMap(asLine));
}

function asLine(line: Buffer): Buffer[] {
  return [line, Buffer.from('\n')];
}

function decodeAll(chunks: readonly Buffer[]): { frames: z.output<typeof SandboxFrameSchema>[]; reasons: string[] } {
  const frames: z.output<typeof SandboxFrameSchema>[] = [];
  const reasons: string[] = [];
  const splitter = new LineSplitter(
    1 << 20,
    (line) => {
      const decoded = decodeFrame(SandboxFrameSchema, line);
      if (decoded.ok) {
        frames.push(decoded.frame);
      } else {
        reasons.push(decoded.reason);
      }
    },
    (length) => reasons.push(`${length} bytes`),
  );
  chunks.forEach((chunk) => splitter.push(chunk));
  return { frames, reasons };
}

/** Whether `found` contains all of `wanted`, in this order, compared as JSON. */
function isSubsequence(wanted: readonly unknown[], found: readonly unknown[]): boolean {
  const rest = found.map((value) => JSON.stringify(value));
  return wanted.every((value) => {
    const place = rest.indexOf(JSON.stringify(value));
    rest.splice(0, place + 1);
    return place !== -1;
  });
}

function numbersOf(json: string): string[] {
  return json.replaceAll(/"(?:[^"\\]|\\.)*"/g, '""').match(/-?\d[\d.eE+-]*/g) ?? [];
}

/** As text, or as the same double if the text may change (`1.50`). */
function sameNumber(before: string, after: string): boolean {
  const isSame = Number(before) === Number(after);
  return before === after || (isSame && (/[.eE]/.test(before) || before === '-0'));
}

function isText(value: unknown): boolean {
  return typeof value === 'string';
}

function resultOf(run: () => unknown): unknown {
  try {
    return run();
  } catch (error) {
    return error instanceof Error ? error.name : error;
  }
}
