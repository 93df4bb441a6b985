/** The keys of `top` as terminals send them. */
import { expect, it } from 'vitest';
import { keyActions } from '../../../src/record/live/top-keys.ts';

it.each([
  ['\u001b[A\u001b[B', ['up', 'down']],
  ['\u001bOA\u001bOB', ['up', 'down']],
  ['kjieh', ['up', 'down', 'interrupt', 'end', 'hibernate']],
  ['y', ['yes']],
  ['q', ['quit']],
  ['\u0003', ['quit']],
  ['\u001b', ['other']],
  ['\u001b[1;5C', ['other']],
  // A pasted text must not end a session by the letters in a sequence.
  ['\u001b[200~', ['other']],
  ['é', ['other']],
  ['', []],
])('%j', (data, actions) => {
  expect(keyActions(data)).toEqual(actions);
});
