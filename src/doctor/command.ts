/** The command `doctor`. */
import type { Command } from '../terminal/command.ts';
import type { Examination } from '../terminal/finding.ts';
import { type DoctorCommand, defineDoctor } from './command-line.ts';

/** @param examinations checks that other features add. */
export function doctorCommand(examinations: readonly Examination[]): Command<DoctorCommand> {
  return {
    names: ['doctor'],
    define: defineDoctor,
    async run(line, host) {
      const { doctor } = await import('./run.ts');
      return doctor(line, { ...host, examinations });
    },
  };
}
