import { expect, test } from 'vitest';
import { readErrorText, renderErrorReport, reportError } from '../../../src/base/error-report.ts';
import { BridgeError, renderError } from '../../../src/base/errors.ts';

test.each([
  [{ code: 'ENGINE_FAILED', message: 'it failed: no room', hint: 'Make room.' }],
  [{ code: 'CELL_CANCELLED', message: 'the client cancelled the cell' }],
] as const)('%j is read from its text', (report) => {
  const error = new BridgeError(report.code, report.message, { hint: 'hint' in report ? report.hint : undefined });
  expect(reportError(error)).toEqual(report);
  expect(readErrorText(renderError(error))).toEqual(report);
});

test('what follows, a traceback, is part of the message and not of the hint', () => {
  expect(readErrorText('CELL_DEADLINE: too long\nHint: Do less.\nTraceback:\n  x')).toEqual({
    code: 'CELL_DEADLINE',
    message: 'too long\nTraceback:\n  x',
    hint: 'Do less.',
  });
});

test.each(['Traceback (most recent call last):\nValueError: no', 'NOT_A_CODE: x', 'SystemExit: 3', ''])(
  '%j is all message',
  (text) => {
    expect(readErrorText(text)).toEqual({ message: text });
  },
);

test('a report is one line', () => {
  expect(renderErrorReport({ code: 'INTERNAL', message: 'a\nb' })).toBe(
    '{"error":{"code":"INTERNAL","message":"a\\nb"}}\n',
  );
});
