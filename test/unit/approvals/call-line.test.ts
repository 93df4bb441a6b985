/** Which line of a cell a question quotes, and that finding it costs little. */
import { expect, it } from 'vitest';
import { CellLines } from '../../../src/features/approvals/call-line.ts';
import { cpuTimeOf } from '../../support/cpu-time.ts';

const CALL = 'await mcp_notes.read_note(path="/tmp")';

it('the line is found among strings and comments', () => {
  const lines = new CellLines(`text = "read_note("\n# read_note(\n${CALL}  # why`);
  expect(lines.lineOfCall(3, ['read_note'])).toEqual({ number: 3, text: CALL, candidates: 1 });
  expect([1, 2, 4].map((number) => lines.lineOfCall(number, ['read_note']))).toEqual([undefined, undefined, undefined]);
});

// Each call that needed approval searched all of the code again: a thousand of them stopped the bridge for minutes.
it('a thousand calls of long code take less time than searching the code a hundred times', () => {
  const code = `${'"x"\n'.repeat(16_000)}${CALL}`;
  const timeOf = (calls: number) =>
    cpuTimeOf(() => {
      const lines = new CellLines(code);
      const found = Array.from({ length: calls }, () => lines.lineOfCall(16_001, ['read_note'])?.text);
      expect(new Set(found)).toEqual(new Set([CALL]));
    });
  timeOf(1);
  const once = timeOf(1);
  expect(timeOf(1_000)).toBeLessThan(100 * once);
});

it('in longer code, no line is searched', () => {
  expect(new CellLines(`${CALL}\n${'#'.repeat(65_536)}`).lineOfCall(1, ['read_note'])).toBeUndefined();
});
