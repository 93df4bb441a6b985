/** The error of a cell as text, as one line and as the fields of `--json`. */
import { expect, test } from 'vitest';
import { renderCellError, reportCellError, summarizeCellError } from '../../../src/core/render/cell-error.ts';

const TRACEBACK = 'Traceback (most recent call last):\nmcp.runtime.PolicyError: POLICY_DENIED: no\nHint: ask';

test.each([
  [
    'a code, a hint, and where an interrupt struck',
    { code: 'CELL_DEADLINE', message: 'too long', hint: 'Do less.', traceback: 'Traceback:\n  x' },
    'CELL_DEADLINE: too long\nHint: Do less.\nTraceback:\n  x',
    'CELL_DEADLINE: too long',
    { code: 'CELL_DEADLINE', message: 'too long\nTraceback:\n  x', hint: 'Do less.' },
  ],
  [
    'a code alone',
    { code: 'CELL_CANCELLED', message: 'cancelled' },
    'CELL_CANCELLED: cancelled',
    'CELL_CANCELLED: cancelled',
    { code: 'CELL_CANCELLED', message: 'cancelled' },
  ],
  [
    'the exception of a refused call',
    { code: 'POLICY_DENIED', message: 'no', hint: 'ask', exception: 'PolicyError', traceback: TRACEBACK },
    TRACEBACK,
    'POLICY_DENIED: no',
    { code: 'POLICY_DENIED', message: TRACEBACK, hint: 'ask' },
  ],
  [
    'an exception whose text is a code',
    { message: 'POLICY_DENIED: x', exception: 'ValueError', traceback: 'POLICY_DENIED: x\nValueError: y' },
    'POLICY_DENIED: x\nValueError: y',
    'ValueError: POLICY_DENIED: x',
    { message: 'POLICY_DENIED: x\nValueError: y' },
  ],
  [
    'a mistake in arguments, whose traceback ends with a hint',
    {
      message: 'TOOL_ARGUMENT_INVALID: path is missing\nHint: The signature is …',
      exception: 'ArgumentError',
      traceback:
        'Traceback:\nmcp.runtime.ArgumentError: TOOL_ARGUMENT_INVALID: path is missing\nHint: The signature is …',
    },
    'Traceback:\nmcp.runtime.ArgumentError: TOOL_ARGUMENT_INVALID: path is missing\nHint: The signature is …',
    'ArgumentError: TOOL_ARGUMENT_INVALID: path is missing',
    {
      message:
        'Traceback:\nmcp.runtime.ArgumentError: TOOL_ARGUMENT_INVALID: path is missing\nHint: The signature is …',
    },
  ],
  [
    'an exception whose message begins with a blank line',
    { message: '\n  first\nsecond', exception: 'ValueError', traceback: 'ValueError: \n  first\nsecond' },
    'ValueError: \n  first\nsecond',
    'ValueError: first',
    { message: 'ValueError: \n  first\nsecond' },
  ],
  [
    'an exception without a traceback',
    { message: '3', exception: 'SystemExit' },
    'SystemExit: 3',
    'SystemExit: 3',
    { message: 'SystemExit: 3' },
  ],
  [
    'an exception that says nothing',
    { message: '', exception: 'KeyError', traceback: '' },
    'KeyError',
    'KeyError',
    { message: 'KeyError' },
  ],
] as const)('%s', (...[, error, text, line, report]) => {
  expect(renderCellError(error)).toBe(text);
  expect(summarizeCellError(error)).toBe(line);
  expect(reportCellError(error)).toEqual(report);
});
