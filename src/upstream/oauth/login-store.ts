/**
 * Logins at remote servers, below the state directory: one file each, for the owner alone, named after server and address,
 * so that a changed address gets no token of another one. Several bridges may use a login at the same time.
 */
import { createHash } from 'node:crypto';
import { rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { BridgeError, messageOf } from '../../base/errors.ts';
import type { Logger } from '../../base/log.ts';
import { COMMAND } from '../../base/package.ts';
import { quoteShellWord } from '../../base/shell-words.ts';
import { withFileLock } from '../../state/file-lock.ts';
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
export function createLoginStore<Login extends KeptLogin>(stateDir: string, logger: Logger) {
  const folder = join(stateDir, FOLDER);
  const fileOf = ({ name, url }: Key): string => join(folder, `${digestOf(`${name}\n${url}`)}.json`);
  const reportedAsSealed = new Set<string>();
  /** Versions before the first release could encrypt the file with a key from the system's keyring. */
  const reportSealed = ({ name }: Key): void => {
    if (!reportedAsSealed.has(name)) {
      reportedAsSealed.add(name);
      logger.warning(
        `The login at server '${name}' is encrypted with a key from the system's keyring, which this version no longer reads. To log in again, run: ${COMMAND} servers login ${quoteShellWord(name)}`,
      );
    }
  };

  return {
    /** Undefined when there is none, and when the file is not a login that this version reads. */
    async load(key: Key): Promise<Login | undefined> {
      try {
        const text = (await readBounded(fileOf(key), MAX_FILE_BYTES)).toString('utf8');
        const kept = JSON.parse(text) as Login | { readonly sealed: string };
        if ('sealed' in kept) {
          reportSealed(key);
          return undefined;
        }
        return isLogin(kept) && kept.url === key.url ? kept : undefined;
      } catch {
        // No login yet, or a file that is not a login: logging in fixes both.
        return undefined;
      }
    },

    async save(key: Key, login: Login): Promise<void> {
      try {
        await ensureDirectory(folder);
        await writeAtomically(fileOf(key), [JSON.stringify(login)]);
      } catch (error) {
        throw new BridgeError('STATE_WRITE_FAILED', `the login could not be kept in ${folder}: ${messageOf(error)}`, {
          hint: 'Make the state directory writable, then log in again.',
          cause: error,
        });
      }
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

function digestOf(text: string): string {
  return createHash('sha256').update(text).digest('hex').slice(0, 32);
}

function isLogin({ url, redirectUrl, tokens, client }: Partial<KeptLogin>): boolean {
  return [url, redirectUrl, tokens?.access_token, client?.client_id].every((text) => typeof text === 'string');
}
