/**
 * Resolves `${file:PATH}`, `${cmd:COMMAND}` and `${secret:NAME}` in the texts of an entry when its server is about to start
 * (`placesOf`). Until then the references stay as written, so that looking at entries reads and runs nothing, and no
 * hash or name derives from a secret.
 */
import { dirname, resolve } from 'node:path';
import { BridgeError, messageOf } from '../../core/base/errors.ts';
import { COMMAND } from '../../core/base/package.ts';
import { quoteShellWord } from '../../core/base/shell-words.ts';
import { expandHome, type Holder, placesOf, plainText, REFERENCE } from '../../edges/servers/expand.ts';
import { explainUrl } from '../../edges/servers/remote-entry.ts';
import { SecretFile } from './secret-file.ts';
import { SECRET_NAME } from './secret-name.ts';
import { type CommandPlace, readSecretFile, runSecretCommand } from './secret-sources.ts';

/**
 * Resolves with a copy of the entry in which the references are replaced by their values, which are also added to `secrets`;
 * with the entry itself if it has no references. Rejects with `SECRET_UNAVAILABLE`, which names the server and the key, and
 * contains no part of a value.
 */
export type ResolveReferences = <Entry extends Holder>(entry: Entry) => Promise<Entry>;

interface SecretValuesOptions {
  readonly home: string;
  /** Has the secrets of entries that belong to no principal. */
  readonly stateDir: string;
  readonly env: CommandPlace['env'];
  /** For a command; 30 s by default. */
  readonly timeLimitMs?: number;
}

export function createSecretValues(options: SecretValuesOptions): ResolveReferences {
  /** Output of commands, kept while this process runs so that a keyring asks once. */
  const outputs = new Map<string, Promise<string>>();

  function read(kind: string, text: string, { file, owner }: Holder): Promise<string> {
    if (kind === 'secret') {
      return readStored(text.trim(), owner, options.stateDir);
    }
    const cwd = dirname(file);
    if (kind === 'file') {
      return readSecretFile(resolve(cwd, expandHome(text.trim(), options)));
    }
    const key = JSON.stringify([cwd, text]);
    const value = outputs.get(key) ?? runSecretCommand(text, { ...options, cwd });
    outputs.set(key, value);
    value.catch(() => outputs.delete(key));
    return value;
  }

  return async (entry) => {
    if (!placesOf(entry).some(([, text]) => text !== plainText(text) || text.match(REFERENCE) !== null)) {
      return entry;
    }
    const secrets: string[] = [...(entry.secrets ?? [])];
    const fill = async (place: string, text: string): Promise<string> => {
      const values = await Promise.all(
        [...text.matchAll(REFERENCE)].map(async ([, kind = '', what = '']) => {
          try {
            const value = checkedValue(place, await read(kind, what, entry));
            secrets.push(value);
            return value;
          } catch (error) {
            throw unavailable(entry, place, error);
          }
        }),
      );
      return plainText(text.replace(REFERENCE, () => values.shift() ?? ''));
    };
    const filled = { ...entry, ...(await mapPlaces(entry, fill)), secrets };
    const fault = filled.url === undefined ? undefined : explainUrl(filled.url);
    if (fault !== undefined) {
      throw unavailable(entry, 'url', new Error(`with its references resolved, the entry ${fault}`));
    }
    return filled;
  };
}

/** One principal's secret is never another's, nor that of the operator: there is no default. */
async function readStored(name: string, owner: Holder['owner'], stateDir: string): Promise<string> {
  const value = await new SecretFile(owner?.folder ?? stateDir).value(name);
  if (value === undefined) {
    throw new MissingSecretError(name, owner?.name);
  }
  return value;
}

class MissingSecretError extends Error {
  readonly hint: string;

  constructor(name: string, owner: string | undefined) {
    const shown = SECRET_NAME.test(name) ? `'${name}'` : 'with a name that no secret can have';
    super(`there is no secret ${shown}${owner === undefined ? '' : ` of ${owner}`}`);
    const command = `${COMMAND} secrets set ${SECRET_NAME.test(name) ? name : 'NAME'}`;
    this.hint =
      owner === undefined
        ? `Store it: ${command}`
        : `Each user has their own secrets for this server. The operator of this bridge can store yours: ${command} --for ${quoteShellWord(owner)}`;
  }
}

async function mapPlaces(entry: Holder, fill: (place: string, text: string) => Promise<string>): Promise<object> {
  const values = new Map<string, string>();
  await Promise.all(placesOf(entry).map(async ([place, text]) => values.set(place, await fill(place, text))));
  const at = (place: string): string => values.get(place) ?? '';
  const record = (name: string, members: object): object =>
    Object.fromEntries(Object.keys(members).map((key) => [key, at(`${name}.${key}`)]));
  const { command, args, env, url, headers, keys, oauth, signing } = entry;
  return {
    ...(command === undefined ? {} : { command: at('command') }),
    ...(args === undefined ? {} : { args: args.map((_, index) => at(`args[${index}]`)) }),
    ...(env === undefined ? {} : { env: record('env', env) }),
    ...(url === undefined ? {} : { url: at('url') }),
    ...(headers === undefined ? {} : { headers: record('headers', headers) }),
    ...(keys === undefined ? {} : { keys: record('keys', keys) }),
    ...(signing === undefined ? {} : { signing: record('signing', signing) }),
    ...(oauth === undefined ? {} : { oauth: { ...oauth, ...record('oauth', textsOf(oauth)) } }),
  };
}

function textsOf(record: object): object {
  return Object.fromEntries(Object.entries(record).filter(([, value]) => typeof value === 'string'));
}

/** Rejects characters that the place cannot contain, before a later error could repeat the value. */
function checkedValue(place: string, value: string): string {
  if (value === '') {
    throw new Error('it is empty');
  }
  const isHeaderOrAddress = place === 'url' || /^(?:headers|keys)\./.test(place);
  if (value.includes('\0') || (isHeaderOrAddress && /[\u0000-\u001f\u007f]/.test(value))) {
    throw new Error('it contains a control character, which is not allowed there');
  }
  return value;
}

function unavailable({ name, file }: Holder, place: string, cause: unknown): BridgeError {
  return new BridgeError(
    'SECRET_UNAVAILABLE',
    `server '${name}' was not started, because ${place} cannot be resolved: ${messageOf(cause)}`,
    {
      hint:
        cause instanceof MissingSecretError
          ? cause.hint
          : `Check ${place} of '${name}' in ${file}: run its command yourself, or check its file.`,
      data: { server: name, key: place },
    },
  );
}
