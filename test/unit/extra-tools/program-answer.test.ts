import { expect, it } from 'vitest';
import type { ProgramResult } from '../../../src/core/base/program.ts';
import { renderNotRun, renderProgram } from '../../../src/front/extra-tools/program-answer.ts';

const RESULT: ProgramResult = {
  status: 'success',
  exitCode: 0,
  stdout: 'Hello\n',
  stderr: '',
  droppedBytes: 0,
  durationMs: 12.4,
  files: [],
};

const rendered = (more: Partial<ProgramResult>, maxChars = 40_000) => renderProgram({ ...RESULT, ...more }, maxChars);

it('shows both streams', () => {
  expect(rendered({ stderr: 'warned' })).toEqual({
    content: [{ type: 'text', text: '--- stdout ---\nHello\n--- stderr ---\nwarned' }],
    structuredContent: { status: 'success', exit_code: 0, stdout: 'Hello\n', stderr: 'warned', duration_ms: 12 },
    isError: false,
  });
});

it('names a failure first', () => {
  expect(rendered({ status: 'error', exitCode: 3, stdout: '', stderr: 'no such file\n' })).toEqual({
    content: [
      {
        type: 'text',
        text: 'Execution Failed (error): the program exited with code 3\n--- stdout ---\n--- stderr ---\nno such file',
      },
    ],
    structuredContent: {
      status: 'error',
      exit_code: 3,
      stdout: '',
      stderr: 'no such file\n',
      duration_ms: 12,
      message: 'the program exited with code 3',
    },
    isError: true,
  });
});

it('says when a program was ended', () => {
  const { content, structuredContent, isError } = rendered({
    status: 'timeout',
    exitCode: undefined,
    durationMs: 5_040,
  });
  expect(content[0].text).toBe(
    'Execution Failed (timeout): the program was ended at its deadline, after 5.0 s\n--- stdout ---\nHello\n--- stderr ---',
  );
  expect(structuredContent).toMatchObject({ status: 'timeout', exit_code: null });
  expect(isError).toBe(true);
  expect(rendered({ status: 'error', exitCode: undefined }).structuredContent).toMatchObject({
    message: 'the program was ended',
  });
});

it('cuts long output in its middle, and says how much is missing', () => {
  const stdout = Array.from({ length: 1000 }, (_, index) => `line ${index}\n`).join('');
  const { content, structuredContent } = rendered({ stdout, droppedBytes: 1234 }, 100);
  expect(content[0].text).toBe(
    `--- stdout ---\n${String(structuredContent['stdout'])}--- stderr ---\n[1,234 bytes of output were not kept.]`,
  );
  expect(structuredContent['stdout']).toMatch(
    /^line 0\n(line \d\n)+\[[\d,]+ bytes \(\d+ lines\) omitted here\.\]\n(line 99\d\n)+$/,
  );
});

it('shows the last state of a progress bar, and only valid text', () => {
  expect(rendered({ stdout: '10 %\r99 %\n\uD800' }).structuredContent).toMatchObject({ stdout: '99 %\n\uFFFD' });
});

it('says why a program did not run', () => {
  const report = { code: 'IMAGE_MISSING', message: 'golang:1.26 is missing', hint: 'pull it' } as const;
  expect(renderNotRun(report)).toEqual({
    content: [{ type: 'text', text: 'Execution Failed (error): IMAGE_MISSING: golang:1.26 is missing\nHint: pull it' }],
    structuredContent: {
      status: 'error',
      exit_code: null,
      stdout: '',
      stderr: '',
      duration_ms: 0,
      message: 'IMAGE_MISSING: golang:1.26 is missing\nHint: pull it',
    },
    isError: true,
  });
});
