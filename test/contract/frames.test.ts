/** The golden frames against the host's codec. `test/python/test_frames.py` checks the kernel's codec with the same files. */
import { readdirSync, readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { decodeFrame, encodeFrame } from '../../src/core/protocol/codec.ts';
import { HostFrameSchema, SandboxFrameSchema } from '../../src/core/protocol/frames.ts';
import { LineSplitter } from '../../src/core/protocol/line-splitter.ts';
import { isPlainSandboxFrame } from '../../src/core/protocol/plain-frames.ts';

const FOLDER = new URL('../fixtures/frames/', import.meta.url);
const SCHEMAS = { to_sandbox: HostFrameSchema, to_host: SandboxFrameSchema };
/** With fewer files, the folder was probably not found. */
const MIN_INVALID_FIXTURES = 40;
const MIN_STREAM_FIXTURES = 10;

interface FrameFixture {
  readonly description: string;
  readonly direction: keyof typeof SCHEMAS;
  readonly line?: string;
  readonly line_base64?: string;
  readonly frame: object;
  readonly error: string;
}

interface StreamFixture {
  readonly max_line_bytes: number;
  readonly chunks_base64: string[];
  readonly lines_base64: string[];
  readonly oversize_bytes: number[];
  readonly pending_bytes: number;
}

function readFixtures<Fixture>(kind: string): { name: string; fixture: Fixture }[] {
  return readdirSync(new URL(kind, FOLDER)).map((file) => ({
    name: `${kind}/${file}`,
    fixture: JSON.parse(readFileSync(new URL(`${kind}/${file}`, FOLDER), 'utf8')) as Fixture,
  }));
}

function lineOf(fixture: FrameFixture): Buffer {
  return fixture.line === undefined
    ? Buffer.from(fixture.line_base64 ?? '', 'base64')
    : Buffer.from(fixture.line, 'utf8');
}

function decode(fixture: FrameFixture) {
  return decodeFrame(SCHEMAS[fixture.direction], lineOf(fixture));
}

const valid = readFixtures<FrameFixture>('valid');
const invalid = readFixtures<FrameFixture>('invalid');
const streams = readFixtures<StreamFixture>('streams');

describe('valid frames', () => {
  it.each(valid)('decodes $name', ({ fixture }) => {
    expect(decode(fixture)).toMatchObject({ ok: true, frame: fixture.frame });
  });

  it.each(valid.filter(({ fixture }) => fixture.direction === 'to_sandbox'))('encodes $name', ({ fixture }) => {
    expect(encodeFrame(fixture.frame)).toBe(`${fixture.line}\n`);
  });

  it.each(Object.entries(SCHEMAS))('cover every type %s', (direction, schema) => {
    const types = schema.options.map((option) => option.shape.type.value);
    const covered = valid.flatMap(({ fixture }) => (fixture.direction === direction ? fixture.frame : []));
    expect(new Set(covered.map((frame) => (frame as { type: string }).type))).toEqual(new Set(types));
  });
});

describe('invalid frames', () => {
  it.each(invalid)('refuses $name', ({ fixture }) => {
    expect(fixture.error).toBe('PROTOCOL_VIOLATION');
    expect(decode(fixture)).toMatchObject({ ok: false, reason: expect.stringMatching(/./) });
  });

  it('are complete', () => {
    expect(invalid.length).toBeGreaterThanOrEqual(MIN_INVALID_FIXTURES);
  });
});

describe('frames that are recognized without their schema', () => {
  const ofSandbox = [...valid, ...invalid].filter(({ fixture }) => fixture.direction === 'to_host');

  it.each(ofSandbox)('$name is judged as by its schema', ({ fixture }) => {
    const line = lineOf(fixture);
    expect(decodeFrame(SandboxFrameSchema, line, isPlainSandboxFrame)).toEqual(decodeFrame(SandboxFrameSchema, line));
  });

  it('are those that a sandbox sends most', () => {
    const frames = valid.map(({ fixture }) => fixture.frame).filter(isPlainSandboxFrame);
    expect(new Set(frames.map(({ type }) => type))).toEqual(new Set(['call', 'cancel_call', 'output', 'result']));
  });
});

describe('streams', () => {
  it.each(streams)('splits $name', ({ fixture }) => {
    const lines: string[] = [];
    const oversize: number[] = [];
    const splitter = new LineSplitter(
      fixture.max_line_bytes,
      (line) => lines.push(line.toString('base64')),
      (bytes) => oversize.push(bytes),
    );
    for (const chunk of fixture.chunks_base64) {
      splitter.push(Buffer.from(chunk, 'base64'));
    }
    expect({ lines, oversize, pending: splitter.pendingBytes }).toEqual({
      lines: fixture.lines_base64,
      oversize: fixture.oversize_bytes,
      pending: fixture.pending_bytes,
    });
  });

  it('are complete', () => {
    expect(streams.length).toBeGreaterThanOrEqual(MIN_STREAM_FIXTURES);
  });
});
