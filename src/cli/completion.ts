/** `completion`: the completion scripts, and the hidden command that they call for candidates. */
import { Argument, type Command } from 'commander';
import { COMMAND_NAME, type Settle } from '../terminal/define.ts';
import { helpCandidates } from './help/command-line.ts';

export interface CompletionCommand {
  readonly command: 'completion';
  readonly script: string;
}

export interface CompleteCommand {
  readonly command: 'complete';
  /** The last one is the word being completed, and may be empty. */
  readonly words: readonly string[];
}

/** Each script calls `complete` for the candidates, so names of servers are always current. */
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
    .description('Print a completion script for commands, options, servers, tools and help topics.')
    .addArgument(new Argument('<shell>', 'the shell').choices(Object.keys(SCRIPTS)))
    .addHelpText('after', `\nFor bash: eval "$(${COMMAND_NAME} completion bash)" in ~/.bashrc.`)
    .action((shell: Shell) => settle({ command: 'completion', script: SCRIPTS[shell] }));
  program
    .command('complete', { hidden: true })
    .argument('[words...]')
    .action((words: readonly string[]) => settle({ command: 'complete', words }));
}

/** Names that come from the configuration. */
export interface KnownNames {
  readonly servers: readonly string[];
  readonly disabledServers: readonly string[];
  /** Of the server definitions that ship with the package. */
  readonly examples: readonly string[];
  /** Cached tools of a server. */
  readonly toolsOf: (server: string) => readonly string[];
}

/** The candidates for the last of `words`. */
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
  const prefix = words.at(-1) ?? '';
  const positionals = words.slice(index, -1).filter((word) => !word.startsWith('-'));
  const candidates =
    command.name() === 'help' && !prefix.startsWith('-')
      ? helpCandidates(program, positionals, prefix)
      : wordsAt(command, prefix, { option: words.at(-2), positionals, known });
  return candidates.filter((word) => word.startsWith(prefix));
}

interface Position {
  /** The previous word, which may be an option that takes a value. */
  readonly option: string | undefined;
  /** The words after the command that are not options. */
  readonly positionals: readonly string[];
  readonly known: KnownNames;
}

function wordsAt(command: Command, prefix: string, { option, positionals, known }: Position): string[] {
  const unfinished = command.options.find(
    ({ long, optional, required, short }) => (required || optional) && (long === option || short === option),
  );
  if (unfinished !== undefined && option !== undefined) {
    return [...(unfinished.argChoices ?? valuesFor(unfinished.long, known))];
  }
  if (prefix.startsWith('-')) {
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

/** Tools are those of the server named before them. */
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
