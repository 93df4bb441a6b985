/** The value of `MCP_BRIDGE_ANSWER_WITHIN`. */
import { parseDurationMs } from '../../core/base/units.ts';

/** The longest deadline of a cell. */
const MAX_MS = 24 * 3_600_000;

/** The value of `MCP_BRIDGE_ANSWER_WITHIN`: what is known of the client, until the end of the cell, or a time in ms. */
export type AnswerWithin = 'auto' | 'off' | number;

/** Throws an `Error` that says what is wrong. */
export function parseAnswerWithin(text: string): AnswerWithin {
  const word = text.trim().toLowerCase();
  if (word === 'auto' || word === 'off') {
    return word;
  }
  const ms = parseDurationMs(text);
  if (!(ms >= 1_000 && ms <= MAX_MS)) {
    throw new Error('a duration must be from 1s to 24h');
  }
  return ms;
}
