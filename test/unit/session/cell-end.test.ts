/** Which error codes the host sets, whatever a frame says. */
import { expect, it } from 'vitest';
import type { ResultFrame } from '../../../src/core/protocol/frames.ts';
import { endOfCell } from '../../../src/core/session/cell-end.ts';

const raised = { name: 'PolicyError', message: 'POLICY_DENIED: x', traceback: 'POLICY_DENIED: x' };
const refused = new Map([[7, 'POLICY_DENIED']] as const);

const codeOf = (frame: Omit<ResultFrame, 'type' | 'cell'>, hasCodeCalled: boolean) =>
  endOfCell({ type: 'result', cell: 1, ...frame }, { hasCodeCalled, codeOfRefused: (call) => refused.get(call as 7) })
    .code;

it.each([
  ['an exception without a call', { outcome: 'error', error: raised }, undefined],
  ['a call that was not refused', { outcome: 'error', error: { ...raised, call: 8 } }, undefined],
  ['a refused call', { outcome: 'error', error: { ...raised, call: 7 } }, 'POLICY_DENIED'],
  ['a refused call of a cell that succeeded', { outcome: 'ok', error: { ...raised, call: 7 } }, undefined],
  ['an interrupt', { outcome: 'interrupted', error: { ...raised, call: 7 } }, undefined],
  ['sys.exit', { outcome: 'exit', exit_code: 77, error: { ...raised, call: 7 } }, undefined],
] as const)('of %s', (_name, frame, code) => {
  expect([codeOf(frame, true), codeOf(frame, false)]).toEqual([code, code]);
});

it('of a cell that was not run, unless its code has made a call', () => {
  expect(codeOf({ outcome: 'not_run', error: raised }, false)).toBe('CHECK_FAILED');
  expect(codeOf({ outcome: 'not_run', error: raised }, true)).toBeUndefined();
});
