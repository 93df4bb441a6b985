/** What a builder does for other engines, for the embedded one: chooses versions, and fetches wheels that run on any platform. */
import { createHash } from 'node:crypto';
import { BridgeError, messageOf } from '../../../core/base/errors.ts';
import { type BuildJob, type BuildOptions, failedBuild } from '../build.ts';
import type { PackageIndex } from '../package-index.ts';
import type { LockedPackage, ReportOf } from '../report.ts';
import { FetchFailure } from './failure.ts';
import { type Choice, type FileMetadata, resolvePackages } from './resolve.ts';
import { type ListedFile, SimpleIndex } from './simple-index.ts';
import { sha256Of, type WheelFolder } from './wheel-folder.ts';
import { wheelMetadata } from './wheel-metadata.ts';

export interface FetchOptions
  extends Pick<BuildOptions, 'index' | 'maxAgeMs' | 'maxBytes' | 'onProgress' | 'onResolved'> {
  readonly folder: WheelFolder;
  /** Whether `MCP_BRIDGE_RUNTIME` names the engine. */
  readonly isChosen?: boolean | undefined;
  /** The interpreter and the platform, as the kernel says it: `cpython-314 wasi wasm32`. */
  readonly python: string;
}

/** As for builders. */
const FETCH_TIMEOUT_MS = 15 * 60_000;
/** The host holds a wheel in memory while it is fetched, and so does a sandbox. Chosen: wheels of pure Python are smaller. */
const MAX_WHEEL_BYTES = 64 * 1024 * 1024;
const DISK_FULL = /ENOSPC|EDQUOT/;

/** Resolves with what a builder reports at its end. Rejects with `PACKAGE_UNAVAILABLE`, which has the reason in at most two lines. */
export async function fetchWheels(job: BuildJob, options: FetchOptions): Promise<ReportOf<'done'>> {
  const source = new SimpleIndex(options.index, AbortSignal.timeout(FETCH_TIMEOUT_MS));
  try {
    return await new WheelFetch(job, options, source).run();
  } catch (error) {
    throw error instanceof BridgeError ? error : await explained(error, options.index, options.isChosen);
  } finally {
    source.close();
  }
}

/** Why an index cannot be used; undefined if all answer. */
export async function checkIndex(index: PackageIndex, timeoutMs: number): Promise<BridgeError | undefined> {
  const source = new SimpleIndex(index, AbortSignal.timeout(timeoutMs));
  try {
    await source.check();
    return undefined;
  } catch (error) {
    return await explained(error, index);
  } finally {
    source.close();
  }
}

async function explained(error: unknown, { mask }: PackageIndex, isChosen = false): Promise<BridgeError> {
  const failure = error instanceof FetchFailure ? error : new FetchFailure(kindOf(error), messageOf(error));
  return failedBuild({ kind: failure.kind, reason: failure.message }, mask, isChosen);
}

class WheelFetch {
  readonly #job: BuildJob;
  readonly #options: FetchOptions;
  readonly #source: SimpleIndex;
  #fetchedBytes = 0;

  constructor(job: BuildJob, options: FetchOptions, source: SimpleIndex) {
    this.#job = job;
    this.#options = options;
    this.#source = source;
  }

  async run(): Promise<ReportOf<'done'>> {
    const { folder, maxAgeMs, maxBytes, python } = this.#options;
    const wheels = this.#job.lock ?? (await this.#choose());
    await this.#fetchAll(wheels);
    const kept = new Set(wheels.map(({ sha256 }) => sha256));
    const left = await folder.prune({ maxAgeMs, maxBytes, kept });
    const set = wheels.length === 0 ? null : idOf(wheels, python);
    return { type: 'done', set, packages: [...wheels], fetched_bytes: this.#fetchedBytes, python, store_bytes: left };
  }

  async #choose(): Promise<LockedPackage[]> {
    const { onProgress, onResolved, python } = this.#options;
    onProgress({ type: 'progress', stage: 'resolve' });
    const choices = await resolvePackages(
      { ...this.#job, pythonVersion: versionOf(python) },
      { project: async (name) => this.#source.project(name), metadata: async (file) => this.#metadata(file) },
    );
    await onResolved?.(choices.map(({ name, neededBy, version }) => ({ name, version, needed_by: [...neededBy] })));
    return choices.map(toLocked);
  }

  /** From beside the file (PEP 658). Companies' indexes seldom have it there; then from the wheel, which stays for later. */
  async #metadata(file: ListedFile): Promise<FileMetadata> {
    const { filename, sha256, url } = file;
    const listed = sha256 === undefined ? undefined : await this.#source.metadata(file);
    if (listed !== undefined && sha256 !== undefined) {
      return { text: listed, sha256 };
    }
    const kept = sha256 && (await this.#options.folder.read(sha256, 0, MAX_WHEEL_BYTES));
    const wheel = kept ? kept.data : await this.#fetch({ file: filename, url, sha256 });
    return { text: wheelMetadata(wheel, filename), sha256: sha256 ?? sha256Of(wheel) };
  }

  /** One after the other: the wheels of pure Python are small. */
  async #fetchAll(wheels: readonly LockedPackage[]): Promise<void> {
    const { folder, onProgress } = this.#options;
    const isThere = await Promise.all(wheels.map(async ({ sha256 }) => folder.has(sha256)));
    const missing = wheels.filter((_, at) => isThere[at] !== true);
    if (missing.length > 0) {
      onProgress({ type: 'progress', stage: 'fetch', names: missing.map(({ name, version }) => `${name} ${version}`) });
    }
    for (const wheel of missing) {
      // biome-ignore lint/performance/noAwaitInLoops: see above.
      if (!(await folder.copyFromOperator(wheel.sha256, MAX_WHEEL_BYTES))) {
        await this.#fetch({ ...wheel, url: new URL(wheel.url) });
      }
    }
  }

  /** Adds a wheel to the folder. If its hash is not known, any content is right. */
  async #fetch(wheel: { file: string; url: URL; sha256: string | undefined }): Promise<Buffer> {
    const { file, sha256, url } = wheel;
    const { folder, maxBytes, onProgress } = this.#options;
    const left = Math.min(MAX_WHEEL_BYTES, maxBytes - this.#fetchedBytes);
    const bytes = await this.#source.content(url, left, (done, total) =>
      onProgress({
        type: 'progress',
        stage: 'fetch',
        done: this.#fetchedBytes + done,
        total: this.#fetchedBytes + total,
      }),
    );
    const found = sha256Of(bytes);
    if (sha256 !== undefined && found !== sha256) {
      throw new FetchFailure('hash', `${file} has the SHA-256 ${found}\nexpected ${sha256}`);
    }
    this.#fetchedBytes += bytes.length;
    await folder.write(found, bytes);
    return bytes;
  }
}

function toLocked({ file, name, sha256, version }: Choice): LockedPackage {
  const url = new URL(file.url);
  if (!/^https?:$/.test(url.protocol)) {
    throw new FetchFailure('index', `the index names an address of ${name} that is not http or https`);
  }
  // The lock keeps no secrets; those of the index are added again.
  [url.username, url.password, url.hash] = ['', '', ''];
  return { name, version, file: file.filename, url: url.href, sha256 };
}

/** As builders name sets: by the interpreter and the wheels. */
function idOf(wheels: readonly LockedPackage[], python: string): string {
  const content = [python, ...wheels.map(({ sha256 }) => sha256).toSorted()].join('\n');
  return createHash('sha256').update(content).digest('hex');
}

function versionOf(python: string): string {
  const [, major, minor] = /^cpython-(\d)(\d{1,2}) /.exec(python) ?? [];
  if (major === undefined || minor === undefined) {
    throw new FetchFailure('internal', 'the sandbox does not say which Python it runs');
  }
  return `${major}.${minor}`;
}

function kindOf(error: unknown): FetchFailure['kind'] {
  const { code } = error as { code?: unknown };
  return typeof code !== 'string' ? 'internal' : DISK_FULL.test(code) ? 'disk' : 'store';
}
