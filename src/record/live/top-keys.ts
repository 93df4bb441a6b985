/** The keys of `top`, from the bytes that a terminal sends. */

export type KeyAction = 'up' | 'down' | 'interrupt' | 'end' | 'hibernate' | 'yes' | 'quit' | 'other';

const KEYS: ReadonlyMap<string, KeyAction> = new Map([
  ['\u001b[A', 'up'],
  ['\u001bOA', 'up'],
  ['k', 'up'],
  ['\u001b[B', 'down'],
  ['\u001bOB', 'down'],
  ['j', 'down'],
  ['i', 'interrupt'],
  ['e', 'end'],
  ['h', 'hibernate'],
  ['y', 'yes'],
  ['q', 'quit'],
  // In raw mode, Ctrl-C and Ctrl-D are keys.
  ['\u0003', 'quit'],
  ['\u0004', 'quit'],
]);
// biome-ignore lint/suspicious/noControlCharactersInRegex: a key is such a sequence.
const SEQUENCE = /\u001b(?:\[[0-9;]*[ -/]*[@-~]|O.|.)?|[^]/gu;

/** Several keys may arrive together. */
export function keyActions(data: string): KeyAction[] {
  return [...data.matchAll(SEQUENCE)].map(([key]) => KEYS.get(key) ?? 'other');
}
