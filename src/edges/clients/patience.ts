/** How long clients wait for the answer of a call. Measured with a tool that answers late, unless the entry says otherwise. */
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

/** Of the official SDK for TypeScript, which most clients have: 60 s, and time to send the answer. */
const USUAL_MS = 50_000;

/** In ms, by the name that a client gives; undefined if it waits until the end. */
const KNOWN: Readonly<Record<string, number | undefined>> = {
  'claude-code': undefined,
};

/** How long this client waits for one answer, in ms; undefined if until the end. */
export function patienceOf(within: AnswerWithin, client: string | undefined, hasProgress: boolean): number | undefined {
  if (within !== 'auto') {
    return within === 'off' ? undefined : within;
  }
  if (client !== undefined && Object.hasOwn(KNOWN, client)) {
    return KNOWN[client];
  }
  return hasProgress ? undefined : USUAL_MS;
}
