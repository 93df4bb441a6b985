/** Questions of scheduled runs, which wait in files until someone answers: the queue, and the ways to answer at a terminal and in a client. */
export type { WaitingAnswer as Answer, WaitingQuestion } from '../../core/base/waiting-question.ts';
export { QuestionQueue } from './question-queue.ts';
