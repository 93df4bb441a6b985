/** `doctor`: what is well here, what is not, and what to do. */
import type { Command } from 'commander';
import { addNotes, jsonOption, type Settle } from '../terminal/define.ts';

export interface DoctorCommand {
  readonly command: 'doctor';
  readonly isJson: boolean;
  /** Whether to put right what is safe to. */
  readonly isFix: boolean;
  readonly isStartingServers: boolean;
}

interface Given {
  readonly json?: true;
  readonly fix?: true;
  readonly servers: boolean;
}

export function defineDoctor(program: Command, settle: Settle<DoctorCommand>): void {
  const doctor = program
    .command('doctor')
    .summary('say what is well here, what is not, and what to do')
    .description(
      'Look at the machine, the engines, every server and the clients, and say what is not well and what to do about it. Starts an empty session and every server.',
    )
    .option('--fix', 'remove what bridges that are gone have left, pull a missing image, make the state directory safe')
    .option('--no-servers', 'start no server')
    .addOption(jsonOption())
    .action(({ fix, json, servers }: Given) =>
      settle({ command: 'doctor', isJson: json === true, isFix: fix === true, isStartingServers: servers }),
    );
  addNotes(
    doctor,
    'Ends with 0 when there is no problem (warnings may remain), 69 when no cell can run, and 1 for any other problem.',
  );
}
