/**
 * Logins at remote servers, in the state directory: one file for each, readable by the owner only. The file name is derived
 * from the server's name and address, so a changed address never gets the token of another. Several bridges may share a login.
 */
import { createHash } from 'node:crypto';
import { rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import type { StoredOAuthClientInformation, StoredOAuthTokens } from '@modelcontextprotocol/client';
import { BridgeError, messageOf } from '../../../core/base/errors.ts';
import type { JsonObject } from '../../../core/base/is-object.ts';
import type { Logger } from '../../../core/base/log.ts';
import { COMMAND } from '../../../core/base/package.ts';
import type { RemoteDefinition } from '../../../core/base/server-definition.ts';
import { quoteShellWord } from '../../../core/base/shell-words.ts';
import { withFileLock } from '../../../core/state/file-lock.ts';
import { ensureDirectory, readBounded, writeAtomically } from '../../../core/state/state-files.ts';

const FOLDER = '.logins';
/** Tokens and metadata take a few KiB. */
const MAX_FILE_BYTES = 256 * 1024;

/** One login at one server. Everything in it is secret. */
export interface LoginRecord {
  /** The `url` of the entry. The login is used for no other address. */
  readonly url: string;
  readonly tokens: StoredOAuthTokens;
  /** The bridge's client registration at the authorization server. */
  readonly client: StoredOAuthClientInformation;
  /** Address of the authorization server. */
  readonly authorizationServer: string;
  /** The authorization server's metadata, unchanged; undefined if it publishes none. */
  readonly metadata?: JsonObject | undefined;
  /** The resource that tokens are requested for, if the server names one (RFC 8707). */
  readonly resource?: string | undefined;
  /** The redirect address of the login. The client registration is valid for this address. */
  readonly redirectUrl: string;
}

/** Identifies a login. */
export interface LoginKey {
  readonly name: string;
  readonly url: string;
  /** The folder of the principal that it belongs to; undefined for the login that all share. */
  readonly folder?: string | undefined;
}

export function loginKeyOf({
  name,
  url,
  owner,
}: Pick<RemoteDefinition, 'name' | 'owner'> & { readonly url: string }): LoginKey {
  return { name, url, folder: owner?.folder };
}

/** Logins on disk, shared by all bridges of this user. */
export interface LoginStore {
  /** The current login; undefined if there is none, or if its file cannot be used. */
  load(key: LoginKey): Promise<LoginRecord | undefined>;
  /** Whether a person must log in: there is no login, or it has expired and cannot be renewed. Does not ask the server. */
  standing(key: LoginKey): Promise<'none' | 'expired' | 'usable'>;
  /** Writes the login to a file that only the owner can read. Rejects with `STATE_WRITE_FAILED`. */
  save(key: LoginKey, record: LoginRecord): Promise<void>;
  /** Resolves with whether there was a login. */
  remove(key: LoginKey): Promise<boolean>;
  /** Runs `work` while no other process runs work for the same login. */
  exclusively<Value>(key: LoginKey, work: () => Promise<Value>): Promise<Value>;
}

export function createLoginStore(stateDir: string, logger: Logger): LoginStore {
  const folderOf = ({ folder = stateDir }: LoginKey): string => join(folder, FOLDER);
  const fileOf = (key: LoginKey): string => join(folderOf(key), `${digestOf(`${key.name}\n${key.url}`)}.json`);
  const reportedAsSealed = new Set<string>();
  /** Versions before the first release could encrypt the file with a key from the system keyring. */
  const reportSealed = ({ name }: LoginKey): void => {
    if (!reportedAsSealed.has(name)) {
      reportedAsSealed.add(name);
      logger.warning(
        `The login at server '${name}' is encrypted with a key from the system keyring, which this version cannot read. To log in again, run: ${COMMAND} servers login ${quoteShellWord(name)}`,
      );
    }
  };

  const load = (key: LoginKey): Promise<LoginRecord | undefined> => readLogin(key, fileOf(key), reportSealed);

  return {
    load,

    async standing(key) {
      const login = await load(key);
      if (login === undefined) {
        return 'none';
      }
      return (await hasExpired(login, fileOf(key))) ? 'expired' : 'usable';
    },

    async save(key, login) {
      const folder = folderOf(key);
      try {
        await ensureDirectory(folder);
        await writeAtomically(fileOf(key), [JSON.stringify(login)]);
      } catch (error) {
        throw new BridgeError('STATE_WRITE_FAILED', `the login could not be saved in ${folder}: ${messageOf(error)}`, {
          hint: 'Make the state directory writable, then log in again.',
          cause: error,
        });
      }
    },

    async remove(key) {
      const existed = (await stat(fileOf(key)).catch(() => undefined)) !== undefined;
      await rm(fileOf(key), { force: true });
      return existed;
    },

    exclusively(key, work) {
      return withFileLock(`${fileOf(key)}.lock`, work);
    },
  };
}

/** No login yet, or a file that is not a login, is undefined: logging in fixes both. */
async function readLogin(
  key: LoginKey,
  file: string,
  reportSealed: (key: LoginKey) => void,
): Promise<LoginRecord | undefined> {
  try {
    const text = (await readBounded(file, MAX_FILE_BYTES)).toString('utf8');
    const kept = JSON.parse(text) as LoginRecord | { readonly sealed: string };
    if ('sealed' in kept) {
      reportSealed(key);
      return undefined;
    }
    return isLogin(kept) && kept.url === key.url ? kept : undefined;
  } catch {
    return undefined;
  }
}

/** Whether its token has expired and cannot be renewed. The file was written when the token was issued. */
async function hasExpired({ tokens }: LoginRecord, file: string): Promise<boolean> {
  const { expires_in: seconds, refresh_token: refresh } = tokens;
  if (seconds === undefined || refresh !== undefined) {
    return false;
  }
  const writtenMs = (await stat(file).catch(() => undefined))?.mtimeMs ?? 0;
  return writtenMs + seconds * 1000 <= Date.now();
}

function digestOf(text: string): string {
  return createHash('sha256').update(text).digest('hex').slice(0, 32);
}

/** Checks what every login has. The rest is unchecked, because only the owner can write the file. */
function isLogin({ url, redirectUrl, tokens, client }: Partial<LoginRecord>): boolean {
  return [url, redirectUrl, tokens?.access_token, client?.client_id].every((text) => typeof text === 'string');
}
