/** What the actions of `schedule` work with. */
import type { CommandContext, CommandHost, RunQuestions } from '../../edges/terminal/command.ts';
import type { ScheduleStore } from './store.ts';

export type ScheduleOptions = CommandContext &
  Pick<CommandHost, 'findPerson' | 'isShown' | 'terminal' | 'writeError' | 'writeOut'>;

export interface Work extends ScheduleOptions {
  readonly context: CommandContext;
  readonly store: ScheduleStore;
  readonly questions: RunQuestions;
  /** Prints the result, as JSON with `--json`. */
  readonly print: (json: unknown, text: string) => void;
  /** Prints what a person reads before the result. */
  readonly say: (text: string) => void;
}
