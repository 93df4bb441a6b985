/** The command-line reference, from its definition. */
import type { Argument, Command } from 'commander';
import { createProgram } from '../../src/app/cli/program.ts';
import { notesOf } from '../../src/edges/terminal/define.ts';

/**
 * A section for every command, except those that only shells call. The page itself says once which commands have `--json`.
 */
export function renderCommands(): string {
  const program = createProgram({ settle: () => undefined, show: () => undefined });
  return leavesOf(program).map(renderCommand).join('\n\n');
}

function leavesOf(command: Command): Command[] {
  const further = command.createHelp().visibleCommands(command);
  return further.length === 0 ? [command] : further.flatMap(leavesOf);
}

function renderCommand(command: Command): string {
  const help = command.createHelp();
  const usage = help.commandUsage(command);
  const name = usage
    .split(' ')
    .slice(1)
    .join(' ')
    .replace(/ [[<].*$/, '');
  const rows = [
    ...help.visibleArguments(command).map((one) => [termOf(one), help.argumentDescription(one)]),
    ...help
      .visibleOptions(command)
      .filter(({ long }) => long !== '--help' && long !== '--json')
      .map((one) => [help.optionTerm(one), help.optionDescription(one)]),
  ].map(([term, meaning]) => `- \`${term}\`: ${meaning}`);
  const parts = [`### \`${name}\``, help.commandDescription(command), rows.join('\n')];
  return [...parts, notesOf(command) ?? ''].filter((part) => part !== '').join('\n\n');
}

/** As usage lines show it: `<server...>`, `[file]`. */
function termOf(argument: Argument): string {
  const name = `${argument.name()}${argument.variadic ? '...' : ''}`;
  return argument.required ? `<${name}>` : `[${name}]`;
}
