/** Questions as the local API and the page show them, and the answers to those of scheduled runs. */
import type { Question, Reply } from '../../core/base/cell.ts';
import { replyOf } from '../../core/base/replies.ts';
import type { WaitingQuestion, WaitingQuestions } from '../../core/base/waiting-question.ts';
import type { LiveApproval } from './schema.ts';

export function describeQuestion(
  question: Question,
): Pick<LiveApproval, 'calls' | 'message' | 'mode' | 'schema' | 'url'> {
  const { message, mode } = question;
  if (mode === 'url') {
    return { mode, message, url: question.url };
  }
  const { calls, requestedSchema: schema } = question;
  return { mode, message, schema, ...(calls && { calls: calls.map((call) => ({ ...call })) }) };
}

export function ofSchedule({ askedAt, id, question, run, schedule }: WaitingQuestion): LiveApproval {
  return { id, schedule: { name: schedule, run }, asked: askedAt, ...describeQuestion(question) };
}

/** The reply that the body of a request means and that now counts; what is wrong with the body; or undefined if no such question waits. */
export async function answerWaiting(
  waiting: WaitingQuestions,
  id: string,
  body: unknown,
): Promise<Reply | string | undefined> {
  const asked = (await waiting.open()).find((one) => one.id === id);
  const reply = asked && replyOf(asked.question, body);
  const isCounted = typeof reply === 'object' && (await waiting.answer(id, reply, 'page'));
  return typeof reply === 'string' || isCounted ? reply : undefined;
}
