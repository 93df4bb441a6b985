/** The entry that starts a new server: its exact command line or address, with what was filled in, and where it is from. */
import { BridgeError } from '../../core/base/errors.ts';
import { COMMAND } from '../../core/base/package.ts';
import { quoteShellWord } from '../../core/base/shell-words.ts';
import type { FileObject } from '../clients/file-format.ts';
import { type Input, inputsIn, type NewServer, type Run, showTemplate, type Template } from './new-server.ts';

export type Values = Readonly<Record<string, string>>;

export interface PlannedEntry {
  readonly entry: FileObject;
  /** As a person would type it, or the address. */
  readonly runs: string;
  /** Names of stored secrets that the entry refers to. */
  readonly secrets: readonly string[];
}

export interface EntryChoices {
  /** The name of the server: secrets are its own, so that a new server gets none that was stored for another. */
  readonly alias: string;
  readonly values: Values;
  /** Optional secrets are referred to if they are stored. */
  readonly isStored?: (secret: string) => boolean;
}

/** Whatever the bridge would replace in an entry: variables, files, commands and secrets of this machine. */
const REFERENCE = /\$\{|\{(?:env|file):|^(?:[A-Za-z]+ )?\$[A-Za-z_]/;
/** Around the names of secrets while the rest is checked; removed from every other text. */
const MARK = '\0';
const MAX_VALUE_CHARS = 4_000;

/**
 * Rejects nothing silently: throws `CALL_REFUSED` if the server cannot be added, if a required value is missing or unknown, or if a text
 * would read something of this machine.
 */
export function planEntry(server: NewServer, choices: EntryChoices): PlannedEntry {
  const { alias, values } = choices;
  const { inputs, name, run, version } = server;
  if (run === undefined) {
    throw refused(`server '${name}' cannot be added: ${server.refusal ?? 'it names nothing to run'}`);
  }
  checkValues(server, values);
  const secrets = new Set<string>();
  const fill = createFill(server, choices, secrets);
  const missing = missingInputs(run, inputs, values);
  if (missing.length > 0) {
    const names = missing.map((input) => input.name);
    throw refused(`server '${name}' needs a value for ${names.join(', ')}`, {
      hint: `In code: values={${names.map((one) => `"${one}": "…"`).join(', ')}}. In a shell: ${addCommand(name, names)}`,
    });
  }
  const given = Object.keys(values).length === 0 ? {} : { values };
  const entry = {
    ...(run.kind === 'remote' ? remoteEntry(run, fill) : processEntry(run, fill)),
    description: server.description,
    source: { name, version, ...given },
    policy: { preset: 'ask-destructive' },
  };
  return { entry, runs: commandLine(entry), secrets: [...secrets].map((input) => `${alias}.${input}`) };
}

/** What a person types to add the server. */
export function addCommand(name: string, inputs: readonly string[] = []): string {
  const sets = inputs.map((input) => ` --set ${quoteShellWord(`${input}=VALUE`)}`);
  return `${COMMAND} servers add --from ${quoteShellWord(name)}${sets.join('')}`;
}

/** The name that a server gets if no one chooses another: the last part of its own, as an identifier. */
export function aliasOf(name: string): string {
  const last = name.split('/').at(-1) ?? name;
  return (
    last
      .toLowerCase()
      .replaceAll(/[^a-z0-9_-]+/g, '-')
      .replace(/^[^a-z0-9]+/, '')
      .slice(0, 40) || 'server'
  );
}

/** The command line or address, with placeholders for what is to be filled in. */
export function showRun(run: Run): string {
  return run.kind === 'remote'
    ? showTemplate(run.url)
    : [run.command, ...run.args.flat().map(showTemplate)].map((word) => quoteWord(word)).join(' ');
}

/** The command line or address of an entry. */
export function commandLine(entry: FileObject): string {
  const { args, command, url } = entry;
  return typeof url === 'string'
    ? url
    : [command, ...(Array.isArray(args) ? args : [])].map((word) => quoteWord(String(word))).join(' ');
}

/** Placeholders stay readable; everything else is quoted as for a shell. */
function quoteWord(word: string): string {
  return /^[\w./:=@-]*<[\w.-]+>$/.test(word) ? word : quoteShellWord(word, 'linux');
}

function checkValues({ inputs, name }: NewServer, values: Values): void {
  for (const [key, value] of Object.entries(values)) {
    const input = inputs.find((one) => one.name === key);
    if (input === undefined) {
      const known = inputs.filter(({ isSecret }) => !isSecret).map((one) => one.name);
      throw refused(`server '${name}' has no value '${key}'; it has ${known.join(', ') || 'none'}`);
    }
    if (input.isSecret) {
      throw refused(`'${key}' of server '${name}' is a secret, which must not be in code or in the chat`, {
        hint: `The user stores it, once the server is added: ${COMMAND} secrets set NAME.${key}`,
      });
    }
    if (value.length > MAX_VALUE_CHARS || value.includes(MARK)) {
      throw refused(`the value '${key}' is too long or contains a NUL character`);
    }
  }
}

/** A text, or undefined if it contains an optional input that has no value. */
type Fill = (template: Template) => string | undefined;

function createFill(
  { inputs, name }: NewServer,
  { alias, isStored, values }: EntryChoices,
  secrets: Set<string>,
): Fill {
  return (template) => {
    const texts = template.map((part) => {
      if (typeof part === 'string') {
        return part.replaceAll(MARK, '');
      }
      const input = inputs.find((one) => one.name === part.input);
      if (input?.isSecret !== true) {
        return values[part.input] ?? input?.default?.replaceAll(MARK, '');
      }
      return input.isRequired || isStored?.(`${alias}.${input.name}`) === true
        ? `${MARK}${input.name}${MARK}`
        : undefined;
    });
    if (texts.includes(undefined)) {
      return undefined;
    }
    const text = texts.join('');
    if (REFERENCE.test(text)) {
      throw refused(
        `server '${name}' cannot be added: a text of it would read variables, files or secrets of this machine`,
      );
    }
    return text.replaceAll(/\0([^\0]*)\0/g, (_, input: string) => {
      secrets.add(input);
      return `\${secret:${alias}.${input}}`;
    });
  };
}

/** Required, without a value and without a default. */
function missingInputs(run: Run, inputs: readonly Input[], values: Values): Input[] {
  const templates =
    run.kind === 'remote' ? [run.url, ...Object.values(run.headers)] : [...run.args.flat(), ...Object.values(run.env)];
  const used = new Set(templates.flatMap(inputsIn));
  const isMissing = ({ default: fallback, isSecret, name }: Input): boolean =>
    !isSecret && fallback === undefined && values[name] === undefined;
  const inUrl = new Set(run.kind === 'remote' ? inputsIn(run.url) : []);
  return inputs.filter(
    (input) => used.has(input.name) && (input.isRequired || inUrl.has(input.name)) && isMissing(input),
  );
}

function processEntry(run: Extract<Run, { readonly args: unknown }>, fill: Fill): FileObject {
  const groups = run.args.map((words) => words.map(fill));
  const env = filled(run.env, fill);
  const args = groups.filter((words) => !words.includes(undefined)).flat();
  return { command: run.command, args, ...(Object.keys(env).length === 0 ? {} : { env }) };
}

function remoteEntry(run: Extract<Run, { readonly kind: 'remote' }>, fill: Fill): FileObject {
  const headers = filled(run.headers, fill);
  return {
    ...(run.transport === 'sse' ? { type: 'sse' } : {}),
    url: fill(run.url),
    ...(Object.keys(headers).length === 0 ? {} : { headers }),
  };
}

function filled(templates: Readonly<Record<string, Template>>, fill: Fill): Record<string, string> {
  const texts = Object.entries(templates).map(([key, template]) => [key, fill(template)] as const);
  return Object.fromEntries(texts.filter((pair): pair is [string, string] => pair[1] !== undefined));
}

function refused(message: string, options: { readonly hint?: string } = {}): BridgeError {
  return new BridgeError('CALL_REFUSED', message, options);
}
