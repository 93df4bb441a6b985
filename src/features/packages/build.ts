/**
 * Runs builders: short-lived sandboxes with a network, which fill the package store. They get no secrets but those in the
 * addresses of the indexes, and these go through the pipe. The host only reads reports; it never sees a wheel.
 */
import { BridgeError, toBridgeError } from '../../core/base/errors.ts';
import { escapeControls, escapeInLines } from '../../core/base/log.ts';
import { didYouMean } from '../../core/base/suggest.ts';
import {
  BUILDER_UID,
  type Engine,
  NATIVE_ENGINES,
  OPERATORS_PACKAGES_FOLDER,
  PACKAGES_FOLDER,
  type Sandbox,
  type SandboxExit,
} from '../../core/session/engine.ts';
import { COMMON_PACKAGES } from './common.ts';
import type { PackageIndex } from './package-index.ts';
import { type LockedPackage, parseReport, type Report, type ReportOf } from './report.ts';

export interface BuildJob {
  readonly requirements: readonly string[];
  /** Versions that are fixed, because the session has them already. */
  readonly constraints: readonly string[];
  /** Only files uploaded before this time; undefined for no limit. */
  readonly uploadedBefore: Date | undefined;
  /** What an earlier build chose; the same bytes are fetched again, and nothing is chosen again. */
  readonly lock?: readonly LockedPackage[] | undefined;
  /** The Python that the lock is for. A builder with another one chooses again. */
  readonly lockFor?: string | undefined;
}

export interface BuilderOptions {
  readonly engine: Engine;
  /** Source of the builder's program. */
  readonly program: string;
}

/** Beyond these, sets that no session uses are removed. */
export interface StoreLimits {
  /** Of the whole store. */
  readonly maxBytes: number;
  /** Since a set was used last; 0 for no limit. */
  readonly maxAgeMs: number;
  /** When each set was used last, in seconds since 1970. */
  readonly usedAt: Readonly<Record<string, number>>;
}

export interface BuildOptions extends BuilderOptions, StoreLimits {
  readonly index: PackageIndex;
  readonly onProgress: (report: ReportOf<'progress'>) => void;
  /** Called once versions are chosen, before anything is fetched. If it rejects, so does the build. */
  readonly onResolved?: ((packages: ReportOf<'resolved'>['packages']) => Promise<void>) | undefined;
}

type Ending = 'done' | 'listed' | 'removed' | 'checked';

interface BuilderRun<Type extends Ending> extends BuilderOptions {
  /** The type of the last report if all goes well. */
  readonly ending: Type;
  readonly isOffline?: boolean;
  readonly mask?: (text: string) => string;
  readonly onReport?: (report: ReportOf<'progress' | 'set'>) => void;
  readonly onResolved?: BuildOptions['onResolved'];
}

/** Chosen: fetching gigabytes over a slow line takes this long. */
const BUILD_TIMEOUT_MS = 15 * 60_000;
/** As for sessions. A failed start teaches the engine what to change. */
const MAX_START_ROUNDS = 8;
const MAX_LINE_CHARS = 1024 * 1024;
const KEPT_STDERR_CHARS = 4_096;
/** Of all reports of a builder. Chosen: several times what a list of the fullest store has. */
const MAX_OUTPUT_CHARS = 64 * MAX_LINE_CHARS;

/** Resolves with the report of a finished set. Rejects with `PACKAGE_UNAVAILABLE`, which has the reason in at most two lines. */
export async function buildPackages(job: BuildJob, options: BuildOptions): Promise<ReportOf<'done'>> {
  const { engine, index, onProgress, onResolved, program } = options;
  const line = {
    do: 'build',
    requirements: job.requirements,
    constraints: job.constraints,
    uploaded_before: job.uploadedBefore?.toISOString().replace(/\.\d+Z$/, 'Z') ?? null,
    lock: job.lock ?? null,
    lock_for: job.lockFor ?? null,
    operators: OPERATORS_PACKAGES_FOLDER,
    confirm: onResolved !== undefined,
    ...limitsOfJob(options),
    index: indexOfJob(index),
  };
  return runBuilder(line, {
    engine,
    program,
    ending: 'done',
    mask: index.mask,
    onReport: (report) => (report.type === 'progress' ? onProgress(report) : undefined),
    onResolved,
  });
}

/** The part of a job that says where packages come from. */
export function indexOfJob({ absent, certificates, links, proxies, trusted, urls }: PackageIndex) {
  return { urls, links, absent, trusted, certificates: certificates ?? null, proxies };
}

/** The part of a job that says what may stay in the store. */
export function limitsOfJob({ maxAgeMs, maxBytes, usedAt }: StoreLimits) {
  return { max_bytes: maxBytes, max_age: maxAgeMs === 0 ? null : maxAgeMs / 1000, used_at: usedAt };
}

/** Runs a builder for a job. Resolves with its last report; rejects with `PACKAGE_UNAVAILABLE`. */
export async function runBuilder<Type extends Ending>(
  job: Readonly<Record<string, unknown>>,
  options: BuilderRun<Type>,
): Promise<ReportOf<Type>> {
  for (let round = 1; ; round += 1) {
    const outcome = await runOnce(job, options);
    if (!(outcome instanceof BridgeError)) {
      return outcome;
    }
    if (outcome.data['retryNow'] !== true || round === MAX_START_ROUNDS) {
      throw outcome;
    }
  }
}

async function runOnce<Type extends Ending>(
  job: Readonly<Record<string, unknown>>,
  options: BuilderRun<Type>,
): Promise<ReportOf<Type> | BridgeError> {
  const { engine, isOffline, program } = options;
  if (engine.canBuild !== true) {
    throw new BridgeError('PACKAGE_UNAVAILABLE', `the engine ${engine.name} has no package store`, {
      hint: 'Install Podman or Docker, or choose an installed one with MCP_BRIDGE_RUNTIME.',
    });
  }
  await engine.prepare(() => undefined);
  const sandbox = await engine.start({
    command: ['python3', '-I', '-u', '-X', 'utf8', '-c', program, String(BUILDER_UID), PACKAGES_FOLDER],
    session: 'packages',
    isBuilder: true,
    isOffline,
  });
  sandbox.stdin.write(`${JSON.stringify(job)}\n`);
  const timer = setTimeout(() => void sandbox.kill(), BUILD_TIMEOUT_MS);
  try {
    return await readOutcome(sandbox, options);
  } finally {
    clearTimeout(timer);
    await sandbox.kill();
  }
}

async function readOutcome<Type extends Ending>(
  sandbox: Sandbox,
  { ending, engine, mask = (text) => text, onReport, onResolved }: BuilderRun<Type>,
): Promise<ReportOf<Type> | BridgeError> {
  let end: ReportOf<Type> | undefined;
  let failure: ReportOf<'failed'> | undefined;
  let refusal: BridgeError | undefined;
  const agree = async (packages: ReportOf<'resolved'>['packages']): Promise<void> => {
    try {
      await onResolved?.(packages);
      sandbox.stdin.write('agreed\n');
    } catch (error) {
      refusal ??= toBridgeError(error);
      await sandbox.kill();
    }
  };
  let stderr = '';
  let hasSpoken = false;
  sandbox.stderr.on('data', (chunk: Buffer) => {
    stderr = `${stderr}${chunk.toString('utf8')}`.slice(-KEPT_STDERR_CHARS);
  });
  readReports(sandbox, (report) => {
    hasSpoken = true;
    if (report === undefined) {
      // It may wait for an answer to what cannot be read.
      refusal ??= noReport();
      void sandbox.kill();
    }
    if (report?.type === 'progress' || report?.type === 'set') {
      onReport?.(report);
    } else if (report?.type === 'resolved') {
      void agree(report.packages);
    } else if (report?.type === 'failed') {
      failure ??= report;
    } else if (hasType(report, ending)) {
      end ??= report;
    }
  });
  const exit = await sandbox.exited;
  if (refusal !== undefined) {
    return refusal;
  }
  if (failure !== undefined) {
    return failedBuild(failure, mask);
  }
  if (end !== undefined) {
    return end;
  }
  return hasSpoken ? endedEarly(exit, mask(stderr)) : engine.explainStartFailure(sandbox, exit, stderr);
}

/** Calls `take` for each line; undefined stands for one that is no report. A builder that writes too much is killed. */
function readReports(sandbox: Sandbox, take: (report: Report | undefined) => void): void {
  let unread = '';
  let length = 0;
  sandbox.stdout.setEncoding('utf8').on('data', (chunk: string) => {
    length += chunk.length;
    if (length > MAX_OUTPUT_CHARS) {
      void sandbox.kill();
      return;
    }
    const lines = `${unread}${chunk}`.slice(-MAX_LINE_CHARS).split('\n');
    unread = lines.pop() ?? '';
    lines.map(parseReport).forEach(take);
  });
}

function noReport(): BridgeError {
  return new BridgeError('PACKAGE_UNAVAILABLE', 'the builder sent something that is not a report', {
    hint: 'Nothing was installed. Choose other packages, and report this as a bug.',
  });
}

function endedEarly({ exitCode, signal }: SandboxExit, stderr: string): BridgeError {
  const how = signal ?? (exitCode === undefined ? 'without a reason' : `with code ${exitCode}`);
  const last = escapeControls(stderr.trim().split('\n').at(-1) ?? '');
  const message = `the builder ended ${how}${last === '' ? '' : `: ${last}`}`;
  return new BridgeError('PACKAGE_UNAVAILABLE', message, { hint: 'Try again; nothing was installed.' });
}

function hasType<Type extends Ending>(report: Report | undefined, type: Type): report is ReportOf<Type> {
  return report?.type === type;
}

const HINTS: Readonly<Record<ReportOf<'failed'>['kind'], string>> = {
  network: 'Check the network of this machine, and HTTPS_PROXY if it needs a proxy.',
  isolated:
    'Check the network of this machine. If it has one, the engine gives containers none: set MCP_BRIDGE_PACKAGES_NETWORK=host.',
  index: 'Try again later, or check the address of the index (PIP_INDEX_URL).',
  conflict: 'Ask for versions that fit together, or start over with runtime.reset().',
  missing: 'Check the name and the version.',
  login: 'Correct the credentials in the address of the index (PIP_INDEX_URL) or in ~/.netrc.',
  certificate: 'Name the certificates of the authority in PIP_CERT, or the host in PIP_TRUSTED_HOST.',
  age: 'Ask for an older version. Only the user can take newer files, with MCP_BRIDGE_PACKAGES_MIN_AGE; 0 takes any.',
  times: 'Only the user can take files of any age, with MCP_BRIDGE_PACKAGES_MIN_AGE=0.',
  hash: 'The index or something on the way changed the file; nothing was installed.',
  wheel: 'Choose another version; nothing was installed.',
  limit: 'Install less, or raise MCP_BRIDGE_PACKAGES_MAX_SIZE.',
  tool: 'Choose an image with pip 22.2 or newer, or add an index that has pip.',
  disk: 'Free some disk space where the engine keeps its volumes.',
  store: 'Check the package store of the engine.',
  busy: 'Try again when that is done.',
  platform: `With ${NATIVE_ENGINES} it works. Install one and restart the bridge, which then uses it by itself.`,
  internal: 'Report this as a bug.',
};

const CHOSEN_HINT = `With ${NATIVE_ENGINES} it works. Install one, and start the bridge with MCP_BRIDGE_RUNTIME=auto.`;

/** Some indexes do not tell what they lack from what they refuse. */
const FORBIDDEN_HINT =
  ' If it answers 403 for every name that it does not have, add ignore-error-codes = [403] to its [[index]] in uv.toml.';

/**
 * `data.kind` shows that the builder did its work and that the next one would meet the same.
 * @param isChosen says that `MCP_BRIDGE_RUNTIME` names the engine.
 */
export async function failedBuild(
  { kind, reason }: Pick<ReportOf<'failed'>, 'kind' | 'reason'>,
  mask: PackageIndex['mask'],
  isChosen = false,
): Promise<BridgeError> {
  const [, name] = kind === 'missing' ? (/ of ([A-Za-z0-9._-]+)/.exec(reason) ?? []) : [];
  const near = name === undefined ? '' : await didYouMean(name, [...COMMON_PACKAGES]);
  const hint = kind === 'platform' && isChosen ? CHOSEN_HINT : HINTS[kind];
  const absent = kind === 'login' && / answered 403\b/.test(reason) ? FORBIDDEN_HINT : '';
  return new BridgeError('PACKAGE_UNAVAILABLE', escapeInLines(mask(reason)), {
    hint: `${hint}${near}${absent}`,
    data: { kind },
  });
}
