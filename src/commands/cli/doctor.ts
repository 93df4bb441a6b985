/** `doctor`: what runs here, and why not something better. */
import type { Command } from 'commander';
import { addNotes, jsonOption, type Settle } from './define.ts';

export interface DoctorCommand {
  readonly command: 'doctor';
  readonly isJson: boolean;
}

export function defineDoctor(program: Command, settle: Settle<DoctorCommand>): void {
  const doctor = program
    .command('doctor')
    .summary('say which engine runs sessions, and why others do not')
    .description('Try each engine and say which one runs sessions, and why others do not.')
    .addOption(jsonOption())
    .action(({ json }: { json?: true }) => settle({ command: 'doctor', isJson: json === true }));
  addNotes(doctor, 'Ends with 0 when an engine can be used, and with 69 when none can.');
}
