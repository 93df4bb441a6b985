import type { CellAnswer, OutputText } from '../../../src/core/base/cell.ts';

/** A complete stream with the text `head`. */
export const text = (head: string): OutputText => ({ head, droppedBytes: 0, droppedLines: 0, tail: '' });

/** A successful answer without output, except for `fields`. */
export function answerOf(fields: Partial<CellAnswer> = {}): CellAnswer {
  return {
    status: 'success',
    stdout: text(''),
    stderr: text(''),
    servers: [],
    session: 'default',
    timeoutSeconds: 30,
    notices: [],
    ...fields,
  };
}
