/**
 * Stored secrets, which entries refer to as `${secret:NAME}`: one file in the state directory for the operator's, and one in the
 * folder of each principal. Readable by the owner only; like a login, they are not encrypted.
 */
import { lstatSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import { BridgeError, messageOf } from '../../core/base/errors.ts';
import { changeJsonFile } from '../../core/state/change-file.ts';
import { readBounded } from '../../core/state/state-files.ts';
import { SECRET_NAME } from './secret-name.ts';

/** The dot keeps it apart from server files, which may have any other name. */
const FILE = '.secrets.json';
const MAX_FILE_BYTES = 4 * 1024 * 1024;
/** Chosen, so that the file stays below its limit unless many secrets are huge. */
const MAX_SECRETS = 1_000;

const FileSchema = z.strictObject({
  version: z.literal(1),
  secrets: z
    .array(z.strictObject({ name: z.string().regex(SECRET_NAME), value: z.string().min(1), set_at: z.iso.datetime() }))
    .max(MAX_SECRETS),
});

type StoredSecret = z.infer<typeof FileSchema>['secrets'][number];

/** The secrets in `folder`, which need not exist yet. */
export class SecretFile {
  readonly path: string;

  constructor(folder: string) {
    this.path = join(folder, FILE);
  }

  /** Changes whenever the file does. Synchronous, because it is asked for before every cell. */
  version(): string {
    try {
      const { ino, size, mtimeMs } = lstatSync(this.path);
      return `${ino}:${size}:${mtimeMs}`;
    } catch {
      // A reader reports the reason.
      return '';
    }
  }

  /** Undefined if it is not set. Rejects with an error that contains no part of a value. */
  async value(name: string): Promise<string | undefined> {
    return (await this.#read()).find((secret) => secret.name === name)?.value;
  }

  /** Without the values, in the order of their names. Rejects with `CONFIG_INVALID`. */
  async list(): Promise<Omit<StoredSecret, 'value'>[]> {
    const secrets = await this.#read();
    return secrets.map(({ name, set_at }) => ({ name, set_at })).toSorted((a, b) => (a.name < b.name ? -1 : 1));
  }

  /** Rejects with `STATE_WRITE_FAILED`, `CONFIG_INVALID` or `USAGE_INVALID`. */
  async set(name: string, value: string): Promise<void> {
    await this.#change((secrets) => {
      const others = secrets.filter((secret) => secret.name !== name);
      if (others.length >= MAX_SECRETS) {
        throw new BridgeError('USAGE_INVALID', `there are ${MAX_SECRETS} secrets, which is the limit`, {
          hint: 'Remove those that no entry refers to.',
        });
      }
      return [...others, { name, value, set_at: new Date().toISOString() }];
    });
  }

  /** Resolves with the names that were not set. Rejects like `set`. */
  async remove(names: readonly string[]): Promise<string[]> {
    let unknown: string[] = [];
    await this.#change((secrets) => {
      unknown = names.filter((name) => !secrets.some((secret) => secret.name === name));
      return secrets.filter(({ name }) => !names.includes(name));
    });
    return unknown;
  }

  async #read(): Promise<readonly StoredSecret[]> {
    try {
      const text = (await readBounded(this.path, MAX_FILE_BYTES)).toString('utf8');
      return parse(text);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ENOENT') {
        return [];
      }
      throw new BridgeError('CONFIG_INVALID', `${this.path} cannot be read: ${messageOf(error)}`, {
        hint: 'Fix its permissions, or remove it and set the secrets again.',
      });
    }
  }

  async #change(change: (secrets: readonly StoredSecret[]) => readonly StoredSecret[]): Promise<void> {
    await changeJsonFile(this.path, async () => ({ version: 1, secrets: change(await this.#read()) }));
  }
}

/** Errors of the parsers would repeat parts of the text. */
function parse(text: string): readonly StoredSecret[] {
  try {
    return FileSchema.parse(JSON.parse(text)).secrets;
  } catch {
    throw new Error('it is not a list of secrets');
  }
}
