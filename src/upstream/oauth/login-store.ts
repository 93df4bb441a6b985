/**
 * Logins at remote servers, below the state directory: one file each, for the owner alone, named after server and address,
 * so that a changed address gets no token of another one. Several bridges may use a login at the same time. With a key of
 * the system's keyring they are sealed.
 */
import { createHash } from 'node:crypto';
import { rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { BridgeError, messageOf } from '../../base/errors.ts';
import { COMMAND } from '../../base/package.ts';
import type { Keyring } from '../../secrets/keyring.ts';
import { withFileLock } from '../../state/file-lock.ts';
import { seal, unseal } from '../../state/seal.ts';
import { ensureDirectory, readBounded, writeAtomically } from '../../state/state-files.ts';

const FOLDER = '.logins';
/** A token and metadata take a few KiB. */
const MAX_FILE_BYTES = 256 * 1024;

interface Key {
  readonly name: string;
  readonly url: string;
}

/** What every login has; the rest is unchecked, because only the owner can write it. */
interface KeptLogin {
  readonly url: string;
  readonly redirectUrl: string;
  readonly tokens: { readonly access_token: string };
  readonly client: { readonly client_id: string };
}

/** `Login` is what is kept of one. */
export function createLoginStore<Login extends KeptLogin>(stateDir: string, keyring: Keyring) {
  const folder = join(stateDir, FOLDER);
  const fileOf = (key: Key): string => join(folder, `${digestOf(placeOf(key))}.json`);

  return {
    /** Rejects with `LOGIN_REQUIRED` when the keyring does not open it. */
    async load(key: Key): Promise<Login | undefined> {
      try {
        const text = (await readBounded(fileOf(key), MAX_FILE_BYTES)).toString('utf8');
        const login = await opened<Login>(JSON.parse(text), key, keyring);
        return isLogin(login) && login.url === key.url ? login : undefined;
      } catch (error) {
        if (error instanceof BridgeError) {
          throw error;
        }
        // None yet, or a file that is none of ours: a new login mends both.
        return undefined;
      }
    },

    async save(key: Key, login: Login): Promise<void> {
      try {
        await ensureDirectory(folder);
        const text = JSON.stringify(login);
        const secret = await keyring.keyForSaving();
        await writeAtomically(fileOf(key), [secret === undefined ? text : sealed(text, secret, key)]);
      } catch (error) {
        throw new BridgeError('STATE_WRITE_FAILED', `the login could not be kept in ${folder}: ${messageOf(error)}`, {
          hint: 'Make the state directory writable, then log in again.',
          cause: error,
        });
      }
    },

    /** Whether what is kept from now on is sealed. */
    async seals(): Promise<boolean> {
      return (await keyring.keyForSaving()) !== undefined;
    },

    async remove(key: Key): Promise<boolean> {
      const existed = (await stat(fileOf(key)).catch(() => undefined)) !== undefined;
      await rm(fileOf(key), { force: true });
      return existed;
    },

    exclusively<Value>(key: Key, work: () => Promise<Value>): Promise<Value> {
      return withFileLock(`${fileOf(key)}.lock`, work);
    },
  };
}

function placeOf({ name, url }: Key): string {
  return `${name}\n${url}`;
}

function digestOf(text: string): string {
  return createHash('sha256').update(text).digest('hex').slice(0, 32);
}

function sealed(text: string, secret: Buffer, key: Key): string {
  return JSON.stringify({ sealed: seal(text, secret, placeOf(key)) });
}

/** Rejects with `LOGIN_REQUIRED` when there is no key, and otherwise when the key is not the right one. */
async function opened<Login>(kept: Login | { readonly sealed: string }, key: Key, keyring: Keyring): Promise<Login> {
  if (typeof kept !== 'object' || kept === null || !('sealed' in kept)) {
    return kept;
  }
  const secret = await keyring.keyForReading();
  if (secret !== undefined) {
    return JSON.parse(unseal(kept.sealed, secret, placeOf(key))) as Login;
  }
  const { name } = key;
  const message = `the login at server '${name}' cannot be opened: the keyring of the system does not give its key`;
  throw new BridgeError('LOGIN_REQUIRED', message, {
    hint: `Unlock the keyring, or log in anew where it is not needed: MCP_BRIDGE_KEYRING=off ${COMMAND} servers login ${name}`,
    data: { server: name },
  });
}

function isLogin({ url, redirectUrl, tokens, client }: Partial<KeptLogin>): boolean {
  return [url, redirectUrl, tokens?.access_token, client?.client_id].every((text) => typeof text === 'string');
}
