/** Answers of the operator: what a body means, and what it must not be taken for. */
import { expect, it } from 'vitest';
import type { Question } from '../../../src/core/base/cell.ts';
import { replyOf } from '../../../src/core/base/replies.ts';
import { approvalForm } from '../../../src/features/approvals/approval-form.ts';

const CALL = { server: 's', tool: 't', reason: 'r', arguments: {}, parameters: [], count: 1 };
const APPROVAL = approvalForm('work', [CALL]);
const OTHER: Question = {
  mode: 'form',
  message: 'Where?',
  requestedSchema: { type: 'object', properties: { city: { type: 'string' } } },
};

it('the short answers are those of an approval', () => {
  const answers = ['once', 'cell', 'session', 'no'].map((answer) => replyOf(APPROVAL, { answer }));
  expect(answers).toEqual(
    ['Allow once', 'Allow for this cell', 'Allow for this session', 'Do not allow'].map((answer) => ({
      action: 'accept',
      content: { answer },
    })),
  );
  expect(replyOf(APPROVAL, { answer: 'Allow once' })).toEqual(replyOf(APPROVAL, { answer: 'once' }));
});

it.each([
  [APPROVAL, { answer: 'yes' }, /must be one of: Allow once, /],
  [OTHER, { answer: 'once' }, /send "action"/],
  [APPROVAL, undefined, /must be an object/],
  [APPROVAL, ['once'], /must be an object|Send "answer"/],
  [APPROVAL, { answer: 1 }, /Send "answer"/],
  [OTHER, { action: 'allow' }, /accept, decline, cancel/],
  [OTHER, { action: 'accept', content: { city: { name: 'x' } } }, /"content" must be/],
])('a mistake is no answer: %#', (question, body, message) => {
  expect(replyOf(question, body)).toMatch(message);
});

it('other forms are filled in, declined and dismissed', () => {
  const content = { city: 'Bonn', days: 2, warm: true, with: ['a'] };
  expect(replyOf(OTHER, { action: 'accept', content })).toEqual({ action: 'accept', content });
  expect(replyOf(OTHER, { action: 'decline' })).toEqual({ action: 'decline' });
  expect(replyOf({ mode: 'url', message: 'm', url: 'https://x' }, { action: 'cancel' })).toEqual({ action: 'cancel' });
});
