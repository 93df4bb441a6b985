/** How long clients wait for the answer of a call. Measured with a tool that answers late, unless the entry says otherwise. */
import type { AnswerWithin } from './answer-within.ts';

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
