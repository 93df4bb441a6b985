/** What a model reads, and what a program gets in `structuredContent`. */
import { decode } from '@toon-format/toon';
import { describe, expect, test } from 'vitest';
import { renderAnswer } from '../../../src/core/render/render.ts';
import { answerOf, text } from './answer-of.ts';

const traceback = 'Traceback (most recent call last):\n  File "<cell 1>", line 1, in <module>\nValueError: no\n';

const exception = { message: 'no', exception: 'ValueError', traceback };

const podman = { name: 'podman', isolation: 'a container', refused: [] };
const embedded = {
  name: 'embedded',
  isolation: 'Python in WebAssembly',
  refused: [{ engine: 'podman', reason: 'podman is not on PATH' }],
};

const full = answerOf({
  status: 'error',
  stdout: text('one\n\ntwo\n'),
  stderr: text('careful\n'),
  value: '42',
  error: exception,
  exitCode: 3,
  servers: ['github', 'memory'],
  session: 'work',
  notices: ['The state of session "work" was lost: out of memory.'],
  engine: embedded,
});

describe('compact', () => {
  test.each([
    ['printed lines', answerOf({ stdout: text('a\nb\n') }), 'a\nb'],
    ['a value', answerOf({ value: '42' }), '42'],
    ['printed lines, then the value', answerOf({ stdout: text('a\n'), value: '42' }), 'a\n42'],
    ['stderr under a header', answerOf({ stdout: text('a\n'), stderr: text('b\n') }), 'a\nstderr:\nb'],
    ['nothing', answerOf(), 'Success (no output)'],
    ['nothing but blank lines', answerOf({ stdout: text('\n\r\n\n') }), 'Success (no output)'],
    // A notice that came first was taken for the outcome, and clients put "error:" before the first line of a failure.
    [
      'notices after the value',
      answerOf({ notices: ['Lost.', 'Removed.'], value: '1' }),
      '1\nnotices:\nLost.\nRemoved.',
    ],
    ['a notice alone', answerOf({ notices: ['Lost.'] }), 'Success (no output)\nnotices:\nLost.'],
    ['an empty value', answerOf({ value: '' }), ''],
    [
      'an exception',
      answerOf({ status: 'error', error: exception }),
      'status: error\nTraceback (most recent call last):\n  File "<cell 1>", line 1, in <module>\nValueError: no',
    ],
    ['sys.exit(3)', answerOf({ status: 'error', exitCode: 3 }), 'status: error\nexit: 3\nExited with code 3'],
    ['a deadline', answerOf({ status: 'timeout', stdout: text('half\n') }), 'status: timeout\nhalf'],
    ['a deadline without output', answerOf({ status: 'timeout' }), 'status: timeout\nTimeout after 30 s'],
    ['a cancelled cell', answerOf({ status: 'cancelled' }), 'status: cancelled\nCancelled'],
    [
      'everything at once',
      full,
      'status: error\nexit: 3\none\n\ntwo\n42\nstderr:\ncareful\n' +
        'error:\nTraceback (most recent call last):\n  File "<cell 1>", line 1, in <module>\nValueError: no\n' +
        'notices:\nThe state of session "work" was lost: out of memory.',
    ],
  ])('%s', async (_name, answer, expected) => {
    expect((await renderAnswer(answer, 'compact')).content).toEqual([{ type: 'text', text: expected }]);
  });
});

describe('structuredContent', () => {
  test('has the fields that are not empty, and no status after success', async () => {
    const { structuredContent, isError } = await renderAnswer(
      answerOf({ stdout: text('a\n'), exitCode: 0, engine: podman }),
      'compact',
    );
    expect(structuredContent).toEqual({
      summary: 'Success',
      stdout: ['a'],
      timeoutSeconds: 30,
      engine: { name: 'podman', isolation: 'a container' },
    });
    expect(isError).toBe(false);
  });

  test('has the status in the other modes', async () => {
    for (const mode of ['toon', 'json'] as const) {
      expect((await renderAnswer(answerOf(), mode)).structuredContent).toEqual({
        status: 'success',
        summary: 'Success (no output)',
        timeoutSeconds: 30,
      });
    }
  });

  test('has every field', async () => {
    const { structuredContent, isError } = await renderAnswer(full, 'compact');
    expect(structuredContent).toEqual({
      status: 'error',
      summary: 'ValueError: no',
      notices: ['The state of session "work" was lost: out of memory.'],
      exitCode: 3,
      stdout: ['one', '', 'two'],
      stderr: ['careful'],
      result: '42',
      error: traceback.trimEnd(),
      servers: ['github', 'memory'],
      timeoutSeconds: 30,
      session: 'work',
      engine: embedded,
    });
    expect(isError).toBe(true);
  });

  test.each([
    [
      'a code',
      { code: 'ENGINE_UNAVAILABLE', message: 'no engine', hint: 'install podman' },
      'ENGINE_UNAVAILABLE: no engine',
    ],
    ['a traceback', exception, 'ValueError: no'],
    ['a traceback that looks like a code', { ...exception, traceback: 'A_CODE: x\nValueError: no' }, 'ValueError: no'],
    ['an empty text', { message: '' }, 'Error'],
    ['a line that is too long', { message: `E: ${'😀'.repeat(300)}` }, `E: ${'😀'.repeat(98)}…`],
  ] as const)('sums up %s in one line', async (_name, error, summary) => {
    const { structuredContent } = await renderAnswer(answerOf({ status: 'error', error }), 'compact');
    expect(structuredContent.summary).toBe(summary);
  });

  test.each(['error', 'timeout', 'cancelled', 'validation_error'] as const)('%s is an error', async (status) => {
    const { structuredContent, isError } = await renderAnswer(answerOf({ status }), 'compact');
    expect(isError).toBe(true);
    expect(structuredContent.status).toBe(status);
  });
});

describe('output', () => {
  test.each([
    ['inner blank lines', '\n\na\n\n\nb\n\n', ['a', '', '', 'b']],
    ['lines of blanks at either end', ' \na\n\t\n', [' ', 'a', '\t']],
    ['a lone pair of parentheses', '()\n', ['()']],
    ['spaces, tabs and carriage returns', '  a\t\r\nb  \n', ['  a\t\r', 'b  ']],
    ['control characters that move nothing', 'red\u0000\u0007\f\n', ['red\u0000\u0007\f']],
    ['line separators that do not end a line', 'a\u2028b\u0085c\n', ['a\u2028b\u0085c']],
  ])('keeps %s', async (_name, written, lines) => {
    const { structuredContent } = await renderAnswer(answerOf({ stdout: text(written) }), 'compact');
    expect(structuredContent.stdout).toEqual(lines);
  });

  test('is made well-formed everywhere', async () => {
    const lone = 'a\ud800b';
    const answer = answerOf({
      stdout: text(lone),
      stderr: text(lone),
      value: lone,
      error: { message: lone },
      notices: [lone],
    });
    const { structuredContent } = await renderAnswer(answer, 'compact');
    const repaired = 'a\ufffdb';
    expect(structuredContent).toMatchObject({
      stdout: [repaired],
      stderr: [repaired],
      result: repaired,
      error: repaired,
      notices: [repaired],
    });
  });
});

describe('toon', () => {
  test('is one block, and decodes to the payload', async () => {
    const { content, structuredContent } = await renderAnswer(full, 'toon');
    const block = /^```toon\n([\s\S]*)\n```$/.exec(content[0].text)?.[1] ?? '';
    expect(decode(block)).toEqual(structuredContent);
    expect(block).toContain('stdout[3]: one,"",two');
  });

  test('escapes text that looks like its own syntax', async () => {
    const lines = [
      '```',
      'key: value',
      '[2]: a,b',
      '- item',
      '"quoted"',
      'true',
      '1e5',
      '#',
      '\t',
      '  spaces  ',
      'back\\slash',
    ];
    const { content, structuredContent } = await renderAnswer(answerOf({ stdout: text(lines.join('\n')) }), 'toon');
    expect(decode(content[0].text.slice('```toon\n'.length, -'\n```'.length))).toEqual(structuredContent);
  });
});

test('json is the payload on one line', async () => {
  const { content, structuredContent } = await renderAnswer(full, 'json');
  expect(content[0].text).not.toContain('\n');
  expect(JSON.parse(content[0].text)).toEqual(structuredContent);
});
