/**
 * Runs one builder: a short-lived sandbox with a network, which fills the package store. It gets no secrets but those in the
 * addresses of the indexes, and they go through the pipe. The host only reads reports; it never sees a wheel.
 */
import { BridgeError } from '../base/errors.ts';
import { didYouMean } from '../base/suggest.ts';
import { BUILDER_UID, type Engine, type Sandbox } from '../engines/engine.ts';
import { COMMON_PACKAGES } from './common.ts';
import type { PackageIndex } from './package-index.ts';
import { type LockedPackage, parseReport, type ReportOf } from './report.ts';

export interface BuildJob {
  readonly requirements: readonly string[];
  /** Versions that are fixed, because the session has them already. */
  readonly constraints: readonly string[];
  /** Only files uploaded before this time; undefined for no limit. */
  readonly uploadedBefore: Date | undefined;
  /** What an earlier build chose; the same bytes are fetched again, and nothing is chosen again. */
  readonly lock: readonly LockedPackage[] | undefined;
}

export interface BuildOptions {
  readonly engine: Engine;
  /** Source of the builder's program. */
  readonly program: string;
  readonly index: PackageIndex;
  /** Of the whole store. If it has more, sets that no session uses are removed. */
  readonly maxBytes: number;
  /** Ids of sets, the one that was used last at the end. */
  readonly recentlyUsed: readonly string[];
  readonly onProgress: (report: ReportOf<'progress'>) => void;
}

/** Chosen: fetching gigabytes over a slow line takes this long. */
const BUILD_TIMEOUT_MS = 15 * 60_000;
/** As for sessions. A failed start teaches the engine what to change. */
const MAX_START_ROUNDS = 8;
const MAX_LINE_CHARS = 1024 * 1024;
const KEPT_STDERR_CHARS = 4_096;

/** Resolves with the report of a finished set. Rejects with `PACKAGE_UNAVAILABLE`, which has the reason in at most two lines. */
export async function buildPackages(job: BuildJob, options: BuildOptions): Promise<ReportOf<'done'>> {
  for (let round = 1; ; round += 1) {
    const outcome = await buildOnce(job, options);
    if ('type' in outcome) {
      return outcome;
    }
    if (outcome.data['retryNow'] !== true || round === MAX_START_ROUNDS) {
      throw outcome;
    }
  }
}

async function buildOnce(job: BuildJob, options: BuildOptions): Promise<ReportOf<'done'> | BridgeError> {
  const { engine, index, maxBytes, program, recentlyUsed } = options;
  await engine.prepare(() => undefined);
  const sandbox = await engine.start({
    command: ['python3', '-I', '-u', '-X', 'utf8', '-c', program],
    session: 'packages',
    isBuilder: true,
  });
  const line = JSON.stringify({
    uid: BUILDER_UID,
    requirements: job.requirements,
    constraints: job.constraints,
    uploaded_before: job.uploadedBefore?.toISOString().replace(/\.\d+Z$/, 'Z') ?? null,
    lock: job.lock ?? null,
    max_bytes: maxBytes,
    recently_used: recentlyUsed,
    index: {
      url: index.url,
      extra: index.extra,
      certificates: index.certificates ?? null,
      proxies: index.proxies,
    },
  });
  sandbox.stdin.write(`${line}\n`);
  const timer = setTimeout(() => void sandbox.kill(), BUILD_TIMEOUT_MS);
  try {
    return await readOutcome(sandbox, options);
  } finally {
    clearTimeout(timer);
    await sandbox.kill();
  }
}

async function readOutcome(sandbox: Sandbox, options: BuildOptions): Promise<ReportOf<'done'> | BridgeError> {
  const { engine, index, onProgress } = options;
  let outcome: ReportOf<'done'> | ReportOf<'failed'> | undefined;
  let unread = '';
  let stderr = '';
  let hasSpoken = false;
  sandbox.stderr.on('data', (chunk: Buffer) => {
    stderr = `${stderr}${chunk.toString('utf8')}`.slice(-KEPT_STDERR_CHARS);
  });
  sandbox.stdout.setEncoding('utf8').on('data', (chunk: string) => {
    const lines = `${unread}${chunk}`.slice(-MAX_LINE_CHARS).split('\n');
    unread = lines.pop() ?? '';
    for (const report of lines.map(parseReport)) {
      hasSpoken = true;
      if (report?.type === 'progress') {
        onProgress(report);
      } else if (report !== undefined) {
        outcome ??= report;
      }
    }
  });
  const exit = await sandbox.exited;
  if (outcome !== undefined) {
    return outcome.type === 'done' ? outcome : failedBuild(outcome, index);
  }
  if (!hasSpoken) {
    return engine.explainStartFailure(sandbox, exit, stderr);
  }
  const how = exit.signal ?? (exit.exitCode === undefined ? 'without a reason' : `with code ${exit.exitCode}`);
  const last = stderr.trim().split('\n').at(-1) ?? '';
  const message = `the builder ended ${how}${last === '' ? '' : `: ${index.mask(last)}`}`;
  return new BridgeError('PACKAGE_UNAVAILABLE', message, { hint: 'Run the cell again; nothing was installed.' });
}

const HINTS: Readonly<Record<ReportOf<'failed'>['kind'], string>> = {
  network: 'Check the network of this machine, and HTTPS_PROXY if it needs a proxy.',
  index: 'Try again later, or check the address of the index (PIP_INDEX_URL).',
  conflict: 'Ask for versions that fit together, or start over with runtime.reset().',
  missing: 'Check the name and the version.',
  hash: 'The index or something on the way changed the file; nothing was installed.',
  wheel: 'Choose another version; nothing was installed.',
  limit: 'Install less, or raise MCP_BRIDGE_PACKAGES_MAX_SIZE.',
  tool: 'Choose an image with pip 26 or newer, or an index that has pip.',
  disk: 'Free some disk space where the engine keeps its volumes.',
  store: 'Check the package store of the engine.',
  internal: 'Report this as a bug.',
};

/** `data.kind` shows that the builder did its work and that the next one would meet the same. */
async function failedBuild({ kind, reason }: ReportOf<'failed'>, index: PackageIndex): Promise<BridgeError> {
  const [, name] = kind === 'missing' ? (/ of ([A-Za-z0-9._-]+)/.exec(reason) ?? []) : [];
  const near = name === undefined ? '' : await didYouMean(name, [...COMMON_PACKAGES]);
  return new BridgeError('PACKAGE_UNAVAILABLE', index.mask(reason), { hint: `${HINTS[kind]}${near}`, data: { kind } });
}
