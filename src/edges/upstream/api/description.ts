/**
 * The description of one API, compiled: from the cache of the state directory if it is there, otherwise read and compiled in a
 * worker. A copy stays in use until the tools are listed again; what then has changed is seen by the pins, as with any server.
 */
import { createHash } from 'node:crypto';
import { statSync } from 'node:fs';
import { messageOf } from '../../../core/base/errors.ts';
import type { Logger } from '../../../core/base/log.ts';
import { VERSION } from '../../../core/base/package.ts';
import type { ApiSource, RemoteDefinition } from '../../../core/base/server-definition.ts';
import { parseExact } from '../../../core/protocol/exact-json.ts';
import { LineCache } from '../../../core/state/line-cache.ts';
import { isAbortError } from '../deadline.ts';
import type { ApiClient } from './api-client.ts';
import { compileInWorker } from './compile.ts';
import type { DescriptionKind } from './compile-thread.ts';
import { type ReadApi, readLines } from './compiled-lines.ts';
import { readDescription } from './description-source.ts';

/** Of the lines. What is compiled may change with each version of the bridge. */
const FORMAT = 1;
const MAX_FILE_BYTES = 96 * 1024 * 1024;
/** The address of a description is not asked again before. Chosen. */
const MIN_AGE_MS = 60_000;
/** While the one in use would do. Chosen. */
const MAX_REFRESH_MS = 10_000;

/** The first line of a kept description. */
interface Kept {
  /** SHA-256 of the text. */
  readonly hash: string;
  readonly readAt: number;
  readonly etag?: string | undefined;
  /** The version of the bridge that compiled it. */
  readonly version: string;
}

interface DescriptionOptions {
  readonly definition: RemoteDefinition & { readonly api: DescribedSource };
  readonly client: Pick<ApiClient, 'send' | 'close'>;
  /** Where compiled descriptions are kept; undefined if they are not. */
  readonly folder: string | undefined;
  readonly logger: Logger;
}

/** A source that must be read. */
export type DescribedSource = ApiSource & { readonly kind: DescriptionKind };

/** What the tools of an API come from. */
export interface ApiDescription {
  /** Throws before `open`. */
  readonly current: ReadApi;
  /** Whether its file is another one than was read last. */
  hasChanged(): boolean;
  /** Loads it. Rejects with an error whose message says what is wrong with the description. */
  open(signal: AbortSignal): Promise<void>;
  /** Reads it again. If that fails, the one in use stays, and the log says so. */
  refresh(signal: AbortSignal): Promise<void>;
}

export class Description implements ApiDescription {
  readonly #options: DescriptionOptions;
  readonly #cache: LineCache | undefined;
  #kept: Kept = { hash: '', readAt: 0, version: VERSION };
  #read: ReadApi | undefined;
  /** Of the file, when it was read last. */
  #stamp: string | undefined;

  constructor(options: DescriptionOptions) {
    this.#options = options;
    const { folder } = options;
    this.#cache =
      folder === undefined
        ? undefined
        : new LineCache({ directory: folder, format: FORMAT, maxFileBytes: MAX_FILE_BYTES });
  }

  get current(): ReadApi {
    if (this.#read === undefined) {
      throw new Error('the description was not opened');
    }
    return this.#read;
  }

  async open(signal: AbortSignal): Promise<void> {
    const [first, ...rest] = (await this.#load()) ?? [];
    const kept = first && (parseExact(first.toString('utf8')) as Kept);
    if (kept?.version === VERSION) {
      this.#kept = kept;
      this.#read = await readLines(rest);
    }
    if (this.#read === undefined || this.#file !== undefined) {
      await this.#renew(signal);
    }
  }

  async refresh(signal: AbortSignal): Promise<void> {
    if (this.#file === undefined && Date.now() - this.#kept.readAt < MIN_AGE_MS) {
      return;
    }
    const abort = new AbortController();
    setTimeout(() => abort.abort(), MAX_REFRESH_MS).unref();
    signal.addEventListener('abort', () => abort.abort(), { once: true });
    // Only reading has this limit: a large description takes longer to compile.
    await this.#renew(signal, abort.signal).catch((error: unknown) => {
      const { definition, logger } = this.#options;
      // Not asked again at once.
      this.#kept = { ...this.#kept, readAt: Date.now() };
      const why = isAbortError(error) ? `it was not read within ${MAX_REFRESH_MS / 1000} s` : messageOf(error);
      logger.warning(`The description of '${definition.name}' stays as it was: ${why}`);
    });
  }

  hasChanged(): boolean {
    return this.#file !== undefined && stampOf(this.#file) !== this.#stamp;
  }

  get #file(): string | undefined {
    const { description } = this.#options.definition.api;
    return description === undefined || /^https?:/i.test(description) ? undefined : description;
  }

  async #renew(signal: AbortSignal, readSignal = signal): Promise<void> {
    const { client, definition } = this.#options;
    const stamp = this.#file && stampOf(this.#file);
    const { etag } = this.#read === undefined ? {} : this.#kept;
    const found = await readDescription(definition, client, { signal: readSignal, etag });
    this.#stamp = stamp;
    const hash = found === 'same' ? this.#kept.hash : createHash('sha256').update(found.text).digest('hex');
    if (found === 'same' || (this.#read !== undefined && hash === this.#kept.hash)) {
      this.#kept = { ...this.#kept, readAt: Date.now() };
      return;
    }
    const { description = 'what the API says of itself', kind } = definition.api;
    const lines = await compileInWorker(found.text, { kind, signal }).catch((error: unknown) => {
      throw new Error(`${description} ${messageOf(error)}`, { cause: error });
    });
    this.#read = await readLines(lines.map((line) => Buffer.from(line)));
    this.#kept = { hash, readAt: Date.now(), etag: found.etag, version: VERSION };
    await this.#save(lines);
  }

  async #load(): Promise<readonly Buffer[] | undefined> {
    try {
      return await this.#cache?.load(this.#options.definition.definitionHash);
    } catch (error) {
      this.#options.logger.debug(`A kept description cannot be used and is read again: ${messageOf(error)}`);
      return undefined;
    }
  }

  async #save(lines: readonly string[]): Promise<void> {
    const { definition, logger } = this.#options;
    try {
      await this.#cache?.save(definition.definitionHash, [`${JSON.stringify(this.#kept)}\n`, ...lines]);
    } catch (error) {
      logger.warning(`The description of '${definition.name}' is not kept for the next start: ${messageOf(error)}`);
    }
  }
}

function stampOf(file: string): string {
  const stat = statSync(file, { throwIfNoEntry: false });
  return stat === undefined ? '' : `${stat.mtimeMs} ${stat.size} ${stat.ino}`;
}
