/** Which line of a cell a question quotes, and that finding it costs little. */
import { expect, it } from 'vitest';
import { CellLines } from '../../../src/approvals/call-line.ts';

const CALL = 'await mcp_notes.read_note(path="/tmp")';

it('the line is found among strings and comments', () => {
  const lines = new CellLines(`text = "read_note("\n# read_note(\n${CALL}  # why`);
  expect(lines.lineOfCall(3, ['read_note'])).toEqual({ number: 3, text: CALL, candidates: 1 });
  expect([1, 2, 4].map((number) => lines.lineOfCall(number, ['read_note']))).toEqual([undefined, undefined, undefined]);
});

// Each call that needed approval searched all of the code again: a thousand of them stopped the bridge for minutes.
it('a thousand calls of long code take less than a second', () => {
  const lines = new CellLines(`${'"x"\n'.repeat(16_000)}${CALL}`);
  const start = performance.now();
  for (let call = 0; call < 1_000; call += 1) {
    expect(lines.lineOfCall(16_001, ['read_note'])?.text).toBe(CALL);
  }
  expect(performance.now() - start).toBeLessThan(1_000);
});

it('in longer code, no line is searched', () => {
  expect(new CellLines(`${CALL}\n${'#'.repeat(65_536)}`).lineOfCall(1, ['read_note'])).toBeUndefined();
});
