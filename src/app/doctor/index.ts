/** Checks everything that a cell needs, and reports what is wrong and how to fix it. */
import type { Command } from '../../edges/terminal/command.ts';
import type { Examination } from '../../edges/terminal/finding.ts';
import { DOCTOR } from './command.ts';

export { examineStateDirectory } from './machine.ts';

/** @param examinations checks that other features add. */
export function doctorCommand(examinations: readonly Examination[]): Command<typeof DOCTOR> {
  return {
    table: DOCTOR,
    async run(line, host) {
      const { doctor } = await import('./run.ts');
      return doctor(line, { ...host, examinations });
    },
  };
}
