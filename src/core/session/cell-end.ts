/**
 * The end of a cell as the sandbox reports it, with an error code that only the host sets. Code in the sandbox can forge a
 * frame, so no code is read from one.
 */
import type { ErrorCode } from '../base/errors.ts';
import type { ResultFrame } from '../protocol/frames.ts';

export interface CellEnd {
  readonly result: ResultFrame;
  /** Undefined if the code itself caused the end. */
  readonly code: ErrorCode | undefined;
}

/** What the host itself knows about the calls of a cell. */
interface CallsOfCell {
  /** Whether the code has made a call, which shows that it runs: the check before the cell makes calls, too. */
  readonly hasCodeCalled: boolean;
  /** The code with which the host refused a call of this cell; undefined for every other call. */
  codeOfRefused(call: number): ErrorCode | undefined;
}

export function endOfCell(result: ResultFrame, calls: CallsOfCell): CellEnd {
  return { result, code: codeOf(result, calls) };
}

/** A frame may name a refused call. It may claim that the check stopped the cell only if its code has made no calls. */
function codeOf({ outcome, error }: ResultFrame, calls: CallsOfCell): ErrorCode | undefined {
  if (outcome === 'not_run') {
    return calls.hasCodeCalled ? undefined : 'CHECK_FAILED';
  }
  return outcome === 'error' && error?.call !== undefined ? calls.codeOfRefused(error.call) : undefined;
}
