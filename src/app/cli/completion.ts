/** `completion`: the completion scripts, and the hidden command that they call for candidates. */
import { Argument, type Command, Option } from 'commander';
import { SETTINGS_TABLE } from '../../edges/settings/settings.ts';
import { COMMAND_NAME, type Settle, SHORT_NAME } from '../../edges/terminal/define.ts';
import { helpCandidates } from './help/command-line.ts';

export interface CompletionCommand {
  readonly command: 'completion';
  readonly script: string;
}

export interface CompleteCommand {
  readonly command: 'complete';
  /** The last one is the word being completed, and may be empty. */
  readonly words: readonly string[];
  /** Undefined in scripts that were saved before there was this option. They get only names that no shell would change. */
  readonly shell: Shell | undefined;
}

/**
 * Each script calls `complete` for the candidates, so names of servers are always current. Names are written by servers and
 * projects, and a shell would run some of them: bash and PowerShell insert candidates as they are, so `complete` quotes them;
 * zsh and fish quote them on their own.
 */
const SCRIPTS = {
  bash: `_mcp_bridge() {
  local word
  COMPREPLY=()
  while IFS= read -r word; do
    COMPREPLY+=("$word")
  done < <(${COMMAND_NAME} complete --shell bash -- "\${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null)
}
complete -o default -F _mcp_bridge ${COMMAND_NAME} ${SHORT_NAME}
`,
  zsh: `#compdef ${COMMAND_NAME} ${SHORT_NAME}
_mcp_bridge() {
  local -a candidates
  candidates=("\${(@f)$(${COMMAND_NAME} complete --shell zsh -- "\${(@)words[2,CURRENT]}" 2>/dev/null)}")
  [[ -n "\${candidates[1]}" ]] && compadd -a candidates || _files
}
compdef _mcp_bridge ${COMMAND_NAME} ${SHORT_NAME}
`,
  fish: `complete -c ${COMMAND_NAME} -c ${SHORT_NAME} -a '(${COMMAND_NAME} complete --shell fish -- (commandline -opc)[2..] (commandline -ct) 2>/dev/null)'
`,
  powershell: `Register-ArgumentCompleter -Native -CommandName ${COMMAND_NAME}, ${SHORT_NAME} -ScriptBlock {
  param($word, $ast, $position)
  $words = @($ast.CommandElements | Select-Object -Skip 1 | ForEach-Object { "$_" })
  if ($word -eq '') { $words += '' }
  & ${COMMAND_NAME} complete --shell powershell -- @words 2>$null
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
    .addOption(new Option('--shell <shell>', 'the shell to quote for').choices(Object.keys(SCRIPTS)))
    .action((words: readonly string[], { shell }: { shell?: Shell }) => settle({ command: 'complete', words, shell }));
}

/**
 * Letters, digits and most ASCII signs. No control or format characters; no quotes, also not the curly ones of PowerShell, and no
 * backslash, so a name cannot end a quotation that the user has begun; no hyphen at the start, which would make an option of it.
 */
const OFFERED = /^(?!-)[\p{L}\p{M}\p{N} !#$%&()*+,./:;<=>?@[\]^_{|}~-]+$/u;

/** Whether a name from the configuration or of a server may be a candidate at all. */
export function isOffered(name: string): boolean {
  return OFFERED.test(name);
}

/** No shell changes words of these, wherever it inserts them. */
const PLAIN = /^[\p{L}\p{M}\p{N}_-][\p{L}\p{M}\p{N}_./:@+-]*$/u;

/** The candidates as the script of the shell inserts them. All are words of the program, or names for which `isOffered` holds. */
export function quoteCandidates(words: readonly string[], shell: Shell | undefined): string[] {
  switch (shell) {
    case 'bash':
      // Not in quotes, because bash inserts what several candidates have in common, and that would lack the closing one.
      return words.map((word) => word.replace(/[^\p{L}\p{M}\p{N}_./:@+-]/gu, '\\$&'));
    case 'powershell':
      return words.map((word) => (PLAIN.test(word) ? word : `'${word}'`));
    case 'zsh':
    case 'fish':
      return [...words];
    case undefined:
      return words.filter((word) => PLAIN.test(word));
  }
}

/** Names that come from the configuration. */
export interface KnownNames {
  readonly servers: readonly string[];
  readonly disabledServers: readonly string[];
  /** Of the server definitions that ship with the package. */
  readonly examples: readonly string[];
  /** Packages that were installed or added. */
  readonly packages: readonly string[];
  readonly snippets: readonly string[];
  /** Languages of snippets. */
  readonly languages: readonly string[];
  /** Functions that code has kept, and shared ones. */
  readonly functions: readonly string[];
  /** Cached tools of a server. */
  readonly toolsOf: (server: string) => readonly string[];
}

/** The candidates for the last of `words`. */
export function candidatesFor(program: Command, words: readonly string[], known: KnownNames): string[] {
  let command = program;
  let index = 0;
  for (const word of words.slice(0, -1)) {
    const further = command.commands.find((candidate) => [candidate.name(), ...candidate.aliases()].includes(word));
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

function valuesFor(
  option: string | undefined,
  { examples, functions, languages, servers }: KnownNames,
): readonly string[] {
  const values = new Map([
    ['--server', servers],
    ['--example', examples],
    ['--language', languages],
    ['--tool', functions],
  ]);
  return values.get(option ?? '') ?? [];
}

/** Tools are those of the server named before them. */
/** As people type them. */
const SETTING_NAMES = SETTINGS_TABLE.map(({ variable }) => variable.replace('MCP_BRIDGE_', '').toLowerCase());

function namesFor(
  argument: string | undefined,
  command: string,
  [server = '']: readonly string[],
  { disabledServers, functions, packages, servers, snippets, toolsOf }: KnownNames,
): readonly string[] {
  if (argument === 'package') {
    return packages;
  }
  if (argument === 'snippet') {
    return snippets;
  }
  if (argument === 'function') {
    return functions;
  }
  if (argument === 'setting') {
    return SETTING_NAMES;
  }
  if (argument === 'tool') {
    return toolsOf(server);
  }
  if (argument !== 'server') {
    return [];
  }
  return command === 'enable' ? disabledServers : command === 'remove' ? [...servers, ...disabledServers] : servers;
}
