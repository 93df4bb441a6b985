/** `history recording`: what `MCP_BRIDGE_RECORD` has recorded. */
import type { Command as Program } from 'commander';
import type { Command } from '../terminal/command.ts';
import { addNotes, findGroup, jsonOption, type Settle } from '../terminal/define.ts';
import type { RecordCommand } from './run.ts';

export const recordCommand: Command<RecordCommand> = {
  names: ['record'],
  defaultActions: { record: 'show' },
  define,
  async run(line, host) {
    host.endWhenUnread();
    const { showRecording } = await import('./run.ts');
    return showRecording(line, { ...host, ...(await host.loadContext()) });
  },
};

/** Also as `record show`, as it was called before. */
function define(program: Program, settle: Settle<RecordCommand>): void {
  defineShow(findGroup(program, 'history').command('recording'), settle);
  const former = program.command('record', { hidden: true }).helpCommand(false);
  defineShow(former.command('show'), settle);
}

function defineShow(show: Program, settle: Settle<RecordCommand>): void {
  show
    .description('Show the cells of a recording of MCP_BRIDGE_RECORD with their calls, results and times.')
    .argument('[file]', 'the recording; by default the newest in the folder that MCP_BRIDGE_RECORD names')
    .addOption(jsonOption())
    .action((path: string | undefined, { json }: { json?: true }) =>
      settle({ command: 'record', action: 'show', path, isJson: json === true }),
    );
  addNotes(
    show,
    '--json prints one object per line for each cell, with its calls as recorded, then one for each call of a background job.',
  );
}
