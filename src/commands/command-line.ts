/** What the user typed, as data. Pure; every mistake is `USAGE_INVALID` with the right form. */
import { parseArgs } from 'node:util';
import { CLIENT_IDS, type ClientId } from '../clients/table.ts';
import { BridgeError } from '../errors.ts';
import { didYouMean } from '../suggest.ts';

export const COMMANDS = ['run', 'exec', 'servers', 'install', 'uninstall', 'doctor', 'help'] as const;
const SCOPES = ['user', 'project'] as const;
const SERVERS_ACTIONS = ['list', 'show', 'tools', 'search', 'refresh'] as const;

export interface ExecCommand {
  readonly command: 'exec';
  readonly source: { readonly kind: 'code'; readonly code: string } | { readonly kind: 'file'; readonly path: string };
  readonly servers: readonly string[];
  /** As typed; checked with the other arguments of the cell. */
  readonly session: string | undefined;
  /** Not checked against the bounds yet. */
  readonly timeoutSeconds: number | undefined;
}

interface HelpCommand {
  readonly command: 'help';
  /** The code of an error, as typed; undefined for the text about everything. */
  readonly code?: string;
}

export interface DoctorCommand {
  readonly command: 'doctor';
  readonly isJson: boolean;
}

export interface ServersCommand {
  readonly command: 'servers';
  readonly action: (typeof SERVERS_ACTIONS)[number];
  /** Names of servers; the words of a search. */
  readonly names: readonly string[];
  /** Hits of a search at most. */
  readonly limit: number;
  readonly isJson: boolean;
}

export interface InstallCommand {
  readonly command: 'install' | 'uninstall';
  /** At least one, each once. */
  readonly clients: readonly ClientId[];
  readonly scope: (typeof SCOPES)[number];
  readonly isDryRun: boolean;
  /** Whether the client's own servers move to the bridge. */
  readonly isImport: boolean;
  readonly isPrint: boolean;
}

export type CommandLine =
  | { readonly command: 'run' | 'version' }
  | HelpCommand
  | ExecCommand
  | ServersCommand
  | InstallCommand
  | DoctorCommand;

const GLOBAL_OPTIONS = {
  help: { type: 'boolean', short: 'h' },
  version: { type: 'boolean', short: 'v' },
} as const;

const EXEC_OPTIONS = {
  ...GLOBAL_OPTIONS,
  code: { type: 'string', short: 'c' },
  server: { type: 'string', multiple: true },
  session: { type: 'string' },
  timeout: { type: 'string' },
} as const;

const DOCTOR_OPTIONS = { ...GLOBAL_OPTIONS, json: { type: 'boolean' } } as const;

const SERVERS_OPTIONS = { ...DOCTOR_OPTIONS, limit: { type: 'string' } } as const;
const DEFAULT_LIMIT = '10';
const MAX_LIMIT = 1_000;

const UNINSTALL_OPTIONS = {
  ...GLOBAL_OPTIONS,
  'dry-run': { type: 'boolean' },
  scope: { type: 'string' },
} as const;
const INSTALL_OPTIONS = { ...UNINSTALL_OPTIONS, import: { type: 'boolean' }, print: { type: 'boolean' } } as const;

type OptionTable = Readonly<Record<string, { readonly type: 'boolean' | 'string'; readonly multiple?: boolean }>>;

/** The command line after `node cli.js`. Rejects with `USAGE_INVALID`. */
export async function parseCommandLine(argv: readonly string[]): Promise<CommandLine> {
  const [first, ...rest] = argv;
  const isCommand = first !== undefined && !first.startsWith('-');
  if (isCommand && !(COMMANDS as readonly string[]).includes(first)) {
    throw usage(
      `There is no command '${first}'; the commands are ${COMMANDS.join(', ')}.${await didYouMean(first, COMMANDS)}`,
    );
  }
  if (first === 'exec') {
    return parseExec(rest);
  }
  if (first === 'servers') {
    return parseServers(rest);
  }
  if (first === 'doctor') {
    return parseDoctor(rest);
  }
  if (first === 'install' || first === 'uninstall') {
    return parseInstall(first, rest);
  }
  const { values, positionals } = await parseOptions(isCommand ? rest : argv, GLOBAL_OPTIONS);
  if (values['version'] !== undefined) {
    return { command: 'version' };
  }
  if (first === 'help') {
    return parseHelp(positionals);
  }
  if (values['help'] !== undefined) {
    return { command: 'help' };
  }
  refuseMore(positionals, 'run');
  return { command: 'run' };
}

function parseHelp([code, ...more]: readonly string[]): CommandLine {
  if (more.length > 0) {
    throw usage(`'${more[0]}' is one argument too many; \`help\` takes the code of one error.`);
  }
  return code === undefined ? { command: 'help' } : { command: 'help', code };
}

async function parseServers(argv: readonly string[]): Promise<CommandLine> {
  const { values, positionals } = await parseOptions(argv, SERVERS_OPTIONS);
  if (values['help'] !== undefined) {
    return { command: 'help' };
  }
  const [word = 'list', ...names] = positionals;
  const action = SERVERS_ACTIONS.find((candidate) => candidate === word);
  if (action === undefined) {
    const guess = await didYouMean(word, SERVERS_ACTIONS);
    throw usage(`There is no \`servers ${word}\`; there are ${SERVERS_ACTIONS.join(', ')}.${guess}`);
  }
  if (action === 'list' && names.length > 0) {
    refuseMore(names, 'servers list');
  }
  if ((action === 'show' || action === 'tools') && names.length !== 1) {
    throw usage(`\`servers ${action}\` needs the name of one server.`);
  }
  if (action === 'search' && names.length === 0) {
    throw usage('`servers search` needs words to look for.');
  }
  const limit = last(values['limit']) ?? DEFAULT_LIMIT;
  if (!/^[1-9]\d{0,3}$/.test(limit) || Number(limit) > MAX_LIMIT) {
    throw usage(`The option '--limit' is '${limit}'; it must be a whole number from 1 to ${MAX_LIMIT}.`);
  }
  return { command: 'servers', action, names, limit: Number(limit), isJson: values['json'] !== undefined };
}

async function parseDoctor(argv: readonly string[]): Promise<CommandLine> {
  const { values, positionals } = await parseOptions(argv, DOCTOR_OPTIONS);
  refuseMore(positionals, 'doctor');
  return values['help'] === undefined
    ? { command: 'doctor', isJson: values['json'] !== undefined }
    : { command: 'help' };
}

async function parseInstall(command: InstallCommand['command'], argv: readonly string[]): Promise<CommandLine> {
  const options = command === 'install' ? INSTALL_OPTIONS : UNINSTALL_OPTIONS;
  const { values, positionals } = await parseOptions(argv, options);
  if (values['help'] !== undefined) {
    return { command: 'help' };
  }
  const clients: ClientId[] = [];
  for (const name of new Set(positionals.map((word) => word.toLowerCase()))) {
    const id = CLIENT_IDS.find((candidate) => candidate === name);
    if (id === undefined) {
      const guess = await didYouMean(name, CLIENT_IDS);
      throw usage(`There is no client '${name}'; the clients are ${CLIENT_IDS.join(', ')}.${guess}`);
    }
    clients.push(id);
  }
  if (clients.length === 0) {
    throw usage(`\`${command}\` needs at least one of ${CLIENT_IDS.join(', ')}.`);
  }
  const word = last(values['scope']) ?? 'user';
  const scope = SCOPES.find((candidate) => candidate === word);
  if (scope === undefined) {
    throw usage(`The option '--scope' is '${word}'; it must be ${SCOPES.join(' or ')}.`);
  }
  const [isDryRun, isImport, isPrint] = ['dry-run', 'import', 'print'].map((name) => values[name] !== undefined);
  return {
    command,
    clients,
    scope,
    isDryRun: isDryRun === true,
    isImport: isImport === true,
    isPrint: isPrint === true,
  };
}

function refuseMore(positionals: readonly string[], command: string): void {
  if (positionals.length > 0) {
    throw usage(`'${positionals[0]}' is one argument too many; \`${command}\` takes none.`);
  }
}

async function parseExec(argv: readonly string[]): Promise<CommandLine> {
  const { values, positionals } = await parseOptions(argv, EXEC_OPTIONS);
  if (values['help'] !== undefined) {
    return { command: 'help' };
  }
  const code = last(values['code']);
  if ((code === undefined ? 0 : 1) + positionals.length !== 1) {
    throw usage('`exec` needs exactly one of a file, `-` (standard input) and `-c CODE`.');
  }
  const timeout = last(values['timeout']);
  if (timeout !== undefined && !/^\d+$/.test(timeout)) {
    throw usage(`The option '--timeout' is '${timeout}'; it must be a whole number of seconds.`);
  }
  return {
    command: 'exec',
    source: code === undefined ? { kind: 'file', path: String(positionals[0]) } : { kind: 'code', code },
    servers: values['server'] ?? [],
    session: last(values['session']),
    timeoutSeconds: timeout === undefined ? undefined : Number(timeout),
  };
}

/** Options by long name, each with every value given (flags: one empty text), and the rest. */
async function parseOptions(argv: readonly string[], options: OptionTable) {
  // Not strict, because strict mode throws sentences of its own that name neither the command nor what is near.
  const { tokens, positionals } = parseArgs({
    args: [...argv],
    options,
    strict: false,
    tokens: true,
    allowPositionals: true,
  });
  const given = tokens.filter((token) => token.kind === 'option');
  const unknown = given.find((token) => !Object.hasOwn(options, token.name));
  if (unknown !== undefined) {
    const names = Object.keys(options).map((name) => `--${name}`);
    const guess = await didYouMean(unknown.rawName, names);
    throw usage(`There is no option '${unknown.rawName}'; the options are ${names.join(', ')}.${guess}`);
  }
  const values: Record<string, string[]> = {};
  for (const { name, rawName, value } of given) {
    checkValue(rawName, value, options[name]?.type ?? 'boolean');
    (values[name] ??= []).push(value ?? '');
  }
  return { values, positionals };
}

function checkValue(name: string, value: string | undefined, type: 'boolean' | 'string'): void {
  if (type === 'string' && value === undefined) {
    throw usage(`The option '${name}' needs a value.`);
  }
  if (type === 'boolean' && value !== undefined) {
    throw usage(`The option '${name}' takes no value.`);
  }
}

function last(values: readonly string[] | undefined): string | undefined {
  return values?.at(-1);
}

function usage(message: string): BridgeError {
  return new BridgeError('USAGE_INVALID', message, { hint: 'Run with --help to see what there is.' });
}
