import type { CellAnswer, OutputText } from '../../../src/base/cell.ts';

/** A stream that holds `head` and misses nothing. */
export const text = (head: string): OutputText => ({ head, droppedBytes: 0, droppedLines: 0, tail: '' });

/** A successful answer without output, with `fields` in the place of its own. */
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
