import { expect, test } from 'vitest';
import { renderErrorReport, reportError } from '../../../src/base/error-report.ts';
import { BridgeError } from '../../../src/base/errors.ts';

test.each([
  [{ code: 'ENGINE_FAILED', message: 'it failed: no room', hint: 'Make room.' }],
  [{ code: 'CELL_CANCELLED', message: 'the client cancelled the cell' }],
] as const)('%j is what is reported of its error', (report) => {
  const error = new BridgeError(report.code, report.message, { hint: 'hint' in report ? report.hint : undefined });
  expect(reportError(error)).toEqual(report);
});

test('a report is one line', () => {
  expect(renderErrorReport({ code: 'INTERNAL', message: 'a\nb' })).toBe(
    '{"error":{"code":"INTERNAL","message":"a\\nb"}}\n',
  );
});
