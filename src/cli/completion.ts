/** `completion`: what a shell needs to complete our words, and the hidden command that it then asks. */
import { Argument, type Command } from 'commander';
import { COMMAND_NAME, type Settle } from '../terminal/define.ts';
import { helpCandidates } from './help/define.ts';

export interface CompletionCommand {
  readonly command: 'completion';
  readonly script: string;
}

export interface CompleteCommand {
  readonly command: 'complete';
  /** The last one is not finished, perhaps not begun. */
  readonly words: readonly string[];
}

/** Each asks us for the candidates, so that names of servers are those of now. */
const SCRIPTS = {
  bash: `_mcp_bridge() {
  local IFS=$'\\n'
  COMPREPLY=($(${COMMAND_NAME} complete -- "\${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null))
}
complete -o default -F _mcp_bridge ${COMMAND_NAME}
`,
  zsh: `#compdef ${COMMAND_NAME}
_mcp_bridge() {
  local -a candidates
  candidates=("\${(@f)$(${COMMAND_NAME} complete -- "\${(@)words[2,CURRENT]}" 2>/dev/null)}")
  [[ -n "\${candidates[1]}" ]] && compadd -a candidates || _files
}
compdef _mcp_bridge ${COMMAND_NAME}
`,
  fish: `complete -c ${COMMAND_NAME} -a '(${COMMAND_NAME} complete -- (commandline -opc)[2..] (commandline -ct) 2>/dev/null)'
`,
  powershell: `Register-ArgumentCompleter -Native -CommandName ${COMMAND_NAME} -ScriptBlock {
  param($word, $ast, $position)
  $words = @($ast.CommandElements | Select-Object -Skip 1 | ForEach-Object { "$_" })
  if ($word -eq '') { $words += '' }
  & ${COMMAND_NAME} complete -- @words 2>$null
}
`,
} as const;

type Shell = keyof typeof SCRIPTS;

export function defineCompletion(program: Command, settle: Settle<CompletionCommand | CompleteCommand>): void {
  program
    .command('completion')
    .summary('print a completion script for a shell')
    .description('Print a script that completes commands, options, servers and help topics.')
    .addArgument(new Argument('<shell>', 'which shell').choices(Object.keys(SCRIPTS)))
    .addHelpText('after', `\nFor bash: eval "$(${COMMAND_NAME} completion bash)" in ~/.bashrc.`)
    .action((shell: Shell) => settle({ command: 'completion', script: SCRIPTS[shell] }));
  program
    .command('complete', { hidden: true })
    .argument('[words...]')
    .action((words: readonly string[]) => settle({ command: 'complete', words }));
}

/** Names that only the configuration knows. */
export interface KnownNames {
  readonly servers: readonly string[];
  readonly disabledServers: readonly string[];
  /** Of server definitions that come with the package. */
  readonly examples: readonly string[];
  /** Tools of a server, as far as they are known without asking it. */
  readonly toolsOf: (server: string) => readonly string[];
}

/** What may stand in place of the last of `words`. */
export function candidatesFor(program: Command, words: readonly string[], known: KnownNames): string[] {
  let command = program;
  let index = 0;
  for (const word of words.slice(0, -1)) {
    const further = command.commands.find((candidate) => candidate.name() === word);
    if (further === undefined) {
      break;
    }
    command = further;
    index += 1;
  }
  const begun = words.at(-1) ?? '';
  const positionals = words.slice(index, -1).filter((word) => !word.startsWith('-'));
  if (command.name() === 'help' && !begun.startsWith('-')) {
    return helpCandidates(program, positionals, begun).filter((word) => word.startsWith(begun));
  }
  return wordsAt(command, begun, { option: words.at(-2), positionals, known }).filter((word) => word.startsWith(begun));
}

interface Place {
  /** The word before, which may be an option that wants a value. */
  readonly option: string | undefined;
  /** Words that are no options, after the command. */
  readonly positionals: readonly string[];
  readonly known: KnownNames;
}

function wordsAt(command: Command, begun: string, { option, positionals, known }: Place): string[] {
  const wanting = command.options.find(
    ({ long, optional, required, short }) => (required || optional) && (long === option || short === option),
  );
  if (wanting !== undefined && option !== undefined) {
    return [...(wanting.argChoices ?? valuesFor(wanting.long, known))];
  }
  if (begun.startsWith('-')) {
    return [...command.options.flatMap(({ long }) => long ?? []), '--help'];
  }
  const subcommands = command
    .createHelp()
    .visibleCommands(command)
    .map((one) => one.name());
  const { registeredArguments: all } = command;
  const argument = all[positionals.length] ?? all.findLast(({ variadic }) => variadic);
  return [...subcommands, ...(argument?.argChoices ?? namesFor(argument?.name(), command.name(), positionals, known))];
}

function valuesFor(option: string | undefined, { examples, servers }: KnownNames): readonly string[] {
  return option === '--server' ? servers : option === '--example' ? examples : [];
}

/** The tools are those of the server that stands before them. */
function namesFor(
  argument: string | undefined,
  command: string,
  [server = '']: readonly string[],
  { disabledServers, servers, toolsOf }: KnownNames,
): readonly string[] {
  if (argument === 'tool') {
    return toolsOf(server);
  }
  if (argument !== 'server') {
    return [];
  }
  return command === 'enable' ? disabledServers : command === 'remove' ? [...servers, ...disabledServers] : servers;
}
