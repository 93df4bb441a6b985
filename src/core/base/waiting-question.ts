/**
 * The contract of questions that wait in files until someone answers, because no one was there when a scheduled run asked. Where they
 * are kept is for the feature `waiting-questions`; the page, the local API and the client only list and answer them.
 */
import type { Question, Reply } from './cell.ts';

/** Their folder in the state directory. It is missing if none was ever asked. */
export const QUESTIONS_FOLDER = 'questions';

export interface WaitingQuestion {
  /** 12 hexadecimal digits; the same question of the same run has the same id. */
  readonly id: string;
  /** Name of the schedule. */
  readonly schedule: string;
  /** Id of the run, such as `2026-11-30T06-00-00Z`. */
  readonly run: string;
  /** ISO 8601. */
  readonly askedAt: string;
  readonly question: Question;
}

/** Where a person has answered. */
export type AnsweredAt = 'terminal' | 'page' | 'client';

export interface WaitingAnswer {
  readonly reply: Reply;
  readonly by: AnsweredAt;
  /** ISO 8601. */
  readonly at: string;
}

export interface WaitingQuestions {
  /** Those without an answer, the oldest first; of one run if given. */
  open(of?: { readonly schedule: string; readonly run: string }): Promise<readonly WaitingQuestion[]>;
  /** False if there is no such question or it has an answer: exactly one counts. */
  answer(id: string, reply: Reply, by: AnsweredAt): Promise<boolean>;
}
