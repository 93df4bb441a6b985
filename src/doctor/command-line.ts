/** `doctor`: what works, what does not, and what to do about it. */
import type { Command } from 'commander';
import { addNotes, jsonOption, type Settle } from '../terminal/define.ts';

export interface DoctorCommand {
  readonly command: 'doctor';
  readonly isJson: boolean;
  /** Whether to fix what can be fixed safely. */
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
    .summary('find problems and show how to fix them')
    .description(
      'Check the machine, the engines, every server and the clients, and show a fix for each problem. Starts an empty session, and pulls the image for it as the first cell would; starts every server.',
    )
    .option(
      '--fix',
      'remove sandboxes that ended bridges left behind, pull the image on every engine that lacks it, fix permissions of the state directory',
    )
    .option('--no-servers', 'do not start servers')
    .addOption(jsonOption())
    .action(({ fix, json, servers }: Given) =>
      settle({ command: 'doctor', isJson: json === true, isFix: fix === true, isStartingServers: servers }),
    );
  addNotes(
    doctor,
    'Exit code: 0 without problems (warnings may remain), 69 if no cell can run, 1 for any other problem.',
  );
}
