/**
 * Puts the contents of files and the output of commands into an entry, when its server is about to start: `${file:PATH}` and
 * `${cmd:COMMAND}` in its command, args, env, url, headers and oauth. Until then they stand there as they were written, so that
 * nothing that only looks at entries reads or runs anything, and no hash or name is made of a secret.
 */
import { dirname, resolve } from 'node:path';
import { BridgeError, messageOf } from '../base/errors.ts';
import { splitWords } from '../base/shell-words.ts';
import { expandHome, type Holder, placesOf, plainText, REFERENCE } from '../servers/expand.ts';
import { explainUrl } from '../servers/remote-entry.ts';
import { type CommandPlace, runCommand } from './secret-command.ts';
import { decodeSecret, readSecretFile } from './secret-file.ts';

/**
 * The entry with the values of its references, which are added to its `secrets`; itself when it has none. Rejects with
 * `SECRET_UNAVAILABLE`, which names server and key, and nothing of a value.
 */
export type PutInSecrets = <Entry extends Holder>(entry: Entry) => Promise<Entry>;

interface SecretValuesOptions {
  readonly home: string;
  readonly env: CommandPlace['env'];
  /** Of a command; 30 s when left out. */
  readonly timeLimitMs?: number;
}

export function createSecretValues(options: SecretValuesOptions): PutInSecrets {
  /** What commands gave, for as long as this process runs: a keyring asks once. */
  const given = new Map<string, Promise<string>>();

  function read(kind: string, text: string, file: string): Promise<string> {
    const cwd = dirname(file);
    if (kind === 'file') {
      return readSecretFile(resolve(cwd, expandHome(text.trim(), options)));
    }
    const key = JSON.stringify([cwd, text]);
    const value = given.get(key) ?? runAndDecode(text, { ...options, cwd });
    given.set(key, value);
    value.catch(() => given.delete(key));
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
            const value = checkedValue(place, await read(kind, what, entry.file));
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
      throw unavailable(entry, 'url', new Error(`with what was put in, the entry ${fault}`));
    }
    return filled;
  };
}

async function mapPlaces(entry: Holder, fill: (place: string, text: string) => Promise<string>): Promise<object> {
  const values = new Map<string, string>();
  await Promise.all(placesOf(entry).map(async ([place, text]) => values.set(place, await fill(place, text))));
  const at = (place: string): string => values.get(place) ?? '';
  const record = (name: string, members: object): object =>
    Object.fromEntries(Object.keys(members).map((key) => [key, at(`${name}.${key}`)]));
  const { command, args, env, url, headers, oauth } = entry;
  return {
    ...(command === undefined ? {} : { command: at('command') }),
    ...(args === undefined ? {} : { args: args.map((_, index) => at(`args[${index}]`)) }),
    ...(env === undefined ? {} : { env: record('env', env) }),
    ...(url === undefined ? {} : { url: at('url') }),
    ...(headers === undefined ? {} : { headers: record('headers', headers) }),
    ...(oauth === undefined ? {} : { oauth: { ...oauth, ...record('oauth', textsOf(oauth)) } }),
  };
}

function textsOf(record: object): object {
  return Object.fromEntries(Object.entries(record).filter(([, value]) => typeof value === 'string'));
}

/** What it is put into cannot hold every character; `SECRET_UNAVAILABLE` says so before anything else repeats the value. */
function checkedValue(place: string, value: string): string {
  if (value === '') {
    throw new Error('it is empty');
  }
  const isHeaderOrAddress = place === 'url' || place.startsWith('headers.');
  if (value.includes('\0') || (isHeaderOrAddress && /[\u0000-\u001f\u007f]/.test(value))) {
    throw new Error('it holds a control character, which cannot stand there');
  }
  return value;
}

function unavailable({ name, file }: Holder, place: string, cause: unknown): BridgeError {
  return new BridgeError(
    'SECRET_UNAVAILABLE',
    `server '${name}' was not started: no value for ${place}: ${messageOf(cause)}`,
    {
      hint: `Look at ${place} of '${name}' in ${file}; run its command by hand, or look at its file.`,
      data: { server: name, key: place },
    },
  );
}

async function runAndDecode(command: string, place: CommandPlace): Promise<string> {
  const words = splitWords(command);
  if (words === undefined) {
    throw new Error('its command is empty, or a quote in it is not closed');
  }
  return decodeSecret(await runCommand(words, place));
}
