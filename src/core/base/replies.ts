/** What a person who does not see the form itself may answer to a question: in words, over the local API or at a terminal. */
import type { FieldValue, Question, Reply } from './cell.ts';
import { isObject } from './is-object.ts';

const ACTIONS = ['accept', 'decline', 'cancel'] as const;
/** Of an approval, as short as people type it. */
const SHORT: Readonly<Record<string, string>> = {
  once: 'Allow once',
  cell: 'Allow for this cell',
  session: 'Allow for this session',
  always: 'Always allow in this schedule',
  no: 'Do not allow',
};

/** The reply that a body of `POST /v1/approvals/ID` means, or what is wrong with it. */
export function replyOf(question: Question, body: unknown): Reply | string {
  if (!isObject(body)) {
    return 'The body must be an object, such as {"answer": "once"}.';
  }
  const { action, answer, content } = body;
  if (typeof answer === 'string') {
    const choices = choicesOf(question);
    const choice = SHORT[answer] ?? answer;
    return choices.includes(choice)
      ? { action: 'accept', content: { answer: choice } }
      : `"answer" must be one of: ${choices.join(', ') || 'none, because the question has other fields; send "action"'}.`;
  }
  const known = ACTIONS.find((each) => each === action);
  if (known === undefined) {
    return `Send "answer", or "action" as one of ${ACTIONS.join(', ')}.`;
  }
  if (content === undefined) {
    return { action: known };
  }
  return isObject(content) && Object.values(content).every(isFieldValue)
    ? { action: known, content: content as Record<string, FieldValue> }
    : '"content" must be an object of texts, numbers, booleans and lists of texts.';
}

/** Answers that a form offers in its field `answer`. */
export function choicesOf(question: Question): readonly string[] {
  const { properties } = question.mode === 'form' ? question.requestedSchema : {};
  const field = isObject(properties) ? properties['answer'] : undefined;
  const choices = isObject(field) ? field['enum'] : undefined;
  return Array.isArray(choices) ? choices.filter((one): one is string => typeof one === 'string') : [];
}

/** The choice of a form in a reply; undefined for anything a person could have typed. */
export function choiceIn(question: Question, { content }: Reply): string | undefined {
  const answer = content?.['answer'];
  return choicesOf(question).find((choice) => choice === answer);
}

function isFieldValue(value: unknown): boolean {
  const isPlain = ['string', 'number', 'boolean'].includes(typeof value);
  return isPlain || (Array.isArray(value) && value.every((one) => typeof one === 'string'));
}
