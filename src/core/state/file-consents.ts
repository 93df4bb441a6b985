/**
 * Shared files that a person has consented to, each as it was then: `toolbox.json` in the state directory has its hash. A file that
 * is new or has changed needs consent again before anything of it is used.
 */
import { createHash } from 'node:crypto';
import { join } from 'node:path';
import { z } from 'zod';
import { messageOf } from '../base/errors.ts';
import { changeJsonFile } from './change-file.ts';
import { readBounded } from './state-files.ts';

export type ConsentState = 'approved' | 'changed' | 'new';

/** A file as it is now. */
export interface FileContent {
  /** Absolute. */
  readonly path: string;
  /** Hexadecimal. */
  readonly sha256: string;
}

const ConsentsSchema = z.object({
  version: z.literal(1),
  /** By path. */
  approved: z.array(z.object({ path: z.string(), sha256: z.string(), at: z.string() })),
});
type Consents = z.infer<typeof ConsentsSchema>;

/** Room for 10,000 files. */
const MAX_FILE_BYTES = 4 * 1024 * 1024;

export class FileConsents {
  readonly #file: string;
  readonly #report: (problem: string) => void;

  /** `report` gets the reason if the file cannot be used; then everything needs consent again. */
  constructor(stateDir: string, report: (problem: string) => void) {
    this.#file = join(stateDir, 'toolbox.json');
    this.#report = report;
  }

  /** A function that says whether a file has consent. Never rejects. */
  async read(): Promise<(content: FileContent) => ConsentState> {
    const { approved } = await this.#read();
    const hashes = new Map(approved.map(({ path, sha256 }) => [path, sha256]));
    return ({ path, sha256 }) => {
      const consented = hashes.get(path);
      return consented === undefined ? 'new' : consented === sha256 ? 'approved' : 'changed';
    };
  }

  /** Notes the person's consent to a file as it is. Rejects with `STATE_WRITE_FAILED`. */
  async give({ path, sha256 }: FileContent): Promise<void> {
    await changeJsonFile(this.#file, async () => {
      const { approved } = await this.#read();
      const others = approved.filter((one) => one.path !== path);
      return { version: 1, approved: [...others, { path, sha256, at: new Date().toISOString() }] };
    });
  }

  async #read(): Promise<Consents> {
    try {
      return ConsentsSchema.parse(JSON.parse((await readBounded(this.#file, MAX_FILE_BYTES)).toString('utf8')));
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ENOENT') {
        this.#report(`${this.#file} was ignored, so shared files need your consent again: ${messageOf(error)}`);
      }
      return { version: 1, approved: [] };
    }
  }
}

/** The SHA-256 of a text, hexadecimal. */
export function hashText(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}
