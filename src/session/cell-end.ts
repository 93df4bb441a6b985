/**
 * The end of a cell as the sandbox told it, with the code that the host vouches for. Code in the sandbox can forge a frame,
 * so nothing in one is read for a code.
 */
import type { ErrorCode } from '../base/errors.ts';
import type { ResultFrame } from '../protocol/frames.ts';

export interface CellEnd {
  readonly result: ResultFrame;
  /** Undefined for what the code brought about by itself. */
  readonly code: ErrorCode | undefined;
}

/** What the host itself knows of the calls of a cell. */
interface CallsOfCell {
  /** Whether something other than the check before the cell has made a call, so that its code runs. */
  readonly hasCodeCalled: boolean;
  /** The code with which the host refused a call of this cell; undefined for any other number. */
  codeOfRefused(call: number): ErrorCode | undefined;
}

export function endOfCell(result: ResultFrame, calls: CallsOfCell): CellEnd {
  return { result, code: codeOf(result, calls) };
}

/** The frame may name a refused call, and it may say that the check stopped the cell, unless its code has made calls. */
function codeOf({ outcome, error }: ResultFrame, calls: CallsOfCell): ErrorCode | undefined {
  if (outcome === 'not_run') {
    return calls.hasCodeCalled ? undefined : 'CHECK_FAILED';
  }
  return outcome === 'error' && error?.call !== undefined ? calls.codeOfRefused(error.call) : undefined;
}
