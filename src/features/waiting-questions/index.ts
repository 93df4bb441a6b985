/** Questions of scheduled runs, which wait in files until someone answers: the queue, and who asks the person: commands and chats. */
import type { Command } from '../../edges/terminal/command.ts';
import { APPROVALS } from './command.ts';

export type { WaitingAnswer as Answer, WaitingQuestion } from '../../core/base/waiting-question.ts';
export { ChatQuestions } from './chat-questions.ts';
export { QuestionQueue } from './question-queue.ts';

export const approvalsCommand: Command<typeof APPROVALS> = {
  table: APPROVALS,
  async run(line, host) {
    const { approvals } = await import('./run.ts');
    return approvals(line, { ...host, ...(await host.loadContext()) });
  },
};
