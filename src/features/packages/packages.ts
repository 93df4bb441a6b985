/**
 * Installs packages for running sessions: who allows it, what it resolves to, which set of the store has it. Builders do the work
 * (`build.ts`); this file decides when one runs.
 */
import { z } from 'zod';
import { CancelSource, unlessAborted } from '../../core/base/cancel.ts';
import { CappedMap } from '../../core/base/capped-map.ts';
import { BridgeError } from '../../core/base/errors.ts';
import { checked, type Method } from '../../core/calls/method.ts';
import type { CallMethod } from '../../core/protocol/frames.ts';
import type { PackageSet } from '../../core/session/boot.ts';
import type { CallContext } from '../../core/session/dispatch.ts';
import { type Engine, PACKAGES_FOLDER, takesPackages } from '../../core/session/engine.ts';
import { settleEngine } from '../../edges/engines/probe.ts';
import { type AddedPackages, findAdded, hasPackage } from './added.ts';
import { type BuildJob, type BuildOptions, buildPackages } from './build.ts';
import { BuildTurns } from './build-turns.ts';
import { type AllowedBy, Consent, type ConsentOptions, refuseIfOff } from './consent.ts';
import { distributionOf, meantRequirement } from './import-names.ts';
import { createPackageLocks, lockKey, type PackageLock } from './locks.ts';
import type { PackageIndex } from './package-index.ts';
import { progressOf } from './progress.ts';
import { WheelFolder } from './pure/wheel-folder.ts';
import type { LockedPackage, ReportOf } from './report.ts';
import { MAX_REQUIREMENT_CHARS, parseRequirement, type Requirement } from './requirement.ts';
import { SharedProgress } from './shared-progress.ts';
import { StoreBudget } from './store-budget.ts';

/** The call that installs. */
export type InstallingCall = Pick<
  CallContext,
  'session' | 'generation' | 'cell' | 'call' | 'job' | 'signal' | 'asker' | 'sandbox' | 'python' | 'onToolProgress'
>;

/** An installation, for the record. */
export interface Installation {
  /** Who allowed it; `lock` if nothing new was fetched. */
  readonly allowedBy: AllowedBy | 'lock';
  readonly packages: PackageLock['packages'];
  readonly fetchedBytes: number;
}

/** A request that was refused, for the record. */
export interface RefusedInstallation {
  readonly requirements: readonly string[];
  readonly error: BridgeError;
}

export interface PackagesOptions extends ConsentOptions {
  readonly engine: Engine;
  /** Files uploaded more recently are not fetched; 0 for no limit. */
  readonly minAgeMs: number;
  readonly maxBytes: number;
  /** Sets that were not used for longer are removed; 0 for no limit. */
  readonly maxAgeMs: number;
  /** Read when it is first needed. Rejects with `CONFIG_INVALID`. */
  readonly readIndex: () => Promise<PackageIndex>;
  /** Source of the builder's program. */
  readonly readProgram: () => Promise<string>;
  /** Where the locks and wheels of these sessions are: of their principal, who has them alone. */
  readonly stateDir: string;
  /**
   * The state directory of the operator, if the sessions are not the operator's own: what `packages add` and `MCP_BRIDGE_PREINSTALL`
   * have put there is read, and nothing is written.
   */
  readonly operatorsDir?: string | undefined;
  /** The image, or another name for the Python of sessions. */
  readonly image: string;
  /** What every session can import without asking, as `MCP_BRIDGE_PREINSTALL` names it. */
  readonly preinstall?: readonly string[] | undefined;
  /** The same object for all bridges of one principal, whose builders wait for each other. */
  readonly countedFor?: object | undefined;
  readonly onInstalled?: (call: InstallingCall, installation: Installation) => void;
  /** Called for each request that the policy, the setting or the user refused. */
  readonly onRefused?: (call: InstallingCall, refused: RefusedInstallation) => void;
}

/** What packages to install, on top of those that a session has. */
interface Request {
  readonly wanted: readonly Requirement[];
  /** All that the session has asked for so far. */
  readonly requirements: readonly string[];
  /** The versions that the session has. */
  readonly constraints: readonly string[];
  /** What the session has. */
  readonly present: readonly LockedPackage[];
  /** Of its lock. */
  readonly key: string;
  /** Whether there is no need to ask. */
  readonly isAllowed?: boolean;
  /** Whether `MCP_BRIDGE_PREINSTALL` names it. */
  readonly isPreinstall?: boolean;
}

/** What a session has installed. */
interface Installed extends Request {
  readonly lock: PackageLock;
}

/** What serves a request. */
interface FoundPackages extends AddedPackages {
  /** The Python that they were chosen for; undefined for that of the sandbox. */
  readonly lockFor?: string;
}

interface BuildReason {
  readonly index: PackageIndex;
  readonly allowedBy: Installation['allowedBy'];
  /** The call that began it; others may join. */
  readonly call: InstallingCall;
  readonly wanted: readonly Requirement[];
  /** Whether only what the policy denies is refused. */
  readonly isAllowed: boolean;
}

/** Chosen: more than any script needs. */
const MAX_REQUIREMENTS = 64;
/** A failed request is not repeated sooner. Chosen: an index that is down is not asked again by every cell. */
const FAILURE_KEPT_MS = 60_000;
/** Code chooses what it asks for. Chosen. */
const MAX_FAILURES = 200;
/** Of a wheel in one answer. Chosen: far below the longest line, and a few milliseconds to decode. */
const MAX_PIECE_BYTES = 512 * 1024;

/** Kinds of failures that the next package meets, too. The kernel has the same list. */
const OF_ALL_PACKAGES: ReadonlySet<string> = new Set(['network', 'index', 'tool']);

/** The bridge itself, when it fetches what `MCP_BRIDGE_PREINSTALL` names. Sandboxes are numbered from 1. */
const BRIDGE_CALL: InstallingCall = {
  session: 'preinstall',
  generation: 0,
  cell: 0,
  call: 0,
  signal: new CancelSource(),
};

const InstallParams = z.strictObject({
  /** Modules that code imports. */
  modules: z.array(z.string().max(MAX_REQUIREMENT_CHARS)).max(MAX_REQUIREMENTS).default([]),
  requirements: z.array(z.string().max(1_000)).max(MAX_REQUIREMENTS).default([]),
  /** Whether the set of the last answer is not in the store. Then a builder looks, and fetches what the lock names if it is so. */
  is_gone: z.boolean().default(false),
  /** The set that the sandbox uses. It is not that of the last answer if a wheel could not be unpacked. */
  set: z
    .string()
    .regex(/^[0-9a-f]{64}$/)
    .nullable()
    .default(null),
});
type InstallParams = z.infer<typeof InstallParams>;

const WheelParams = z.strictObject({
  sha256: z.string().regex(/^[0-9a-f]{64}$/),
  offset: z.int().nonnegative(),
});

/** What the kernel gets. */
interface InstallAnswer {
  /** A folder for `sys.path`; null if the image has everything. */
  readonly path: string | null;
  /** Name and version of each package. */
  readonly packages: readonly (readonly [string, string])[];
  /** What the sandbox has to fetch and unpack, where it sees no store. */
  readonly wheels?: readonly { readonly file: string; readonly sha256: string }[];
}

export interface PackageInstaller {
  /** What code may call. */
  readonly methods: [CallMethod, Method][];
  /**
   * Fetches what `MCP_BRIDGE_PREINSTALL` names, unless a lock says that this has been done. Starts nothing then. Rejects with the
   * reason, which the first import that needs it also gets.
   */
  preinstall(): Promise<void>;
  /** What `MCP_BRIDGE_PREINSTALL` names, if it is in a store that sessions see. Never rejects: the first import says what is wrong. */
  firstSet(): Promise<PackageSet | undefined>;
  /** Why nothing can be installed: the setting, the engine, or what the last attempt met. Undefined if something may be. */
  whyNone(): string | undefined;
  /** The one lock of what `MCP_BRIDGE_PREINSTALL` names; undefined if there is none. */
  preinstalled(): Promise<PackageLock | undefined>;
  /** What `preinstall` would fetch now, of which it fetches nothing. Rejects with the reason why that cannot be done. */
  choosePreinstall(): Promise<ReportOf<'resolved'>['packages']>;
}

export function createPackageInstaller(options: PackagesOptions): PackageInstaller {
  const packages = new Packages(options);
  return {
    methods: [
      ['install_packages', checked(InstallParams, (params, call) => packages.install(params, call))],
      ['read_wheel', checked(WheelParams, ({ offset, sha256 }, call) => packages.readWheel(sha256, offset, call))],
    ],
    preinstall: () => packages.preinstall(),
    firstSet: () => packages.firstSet(),
    whyNone: () => packages.whyNone(),
    preinstalled: () => packages.preinstalled(),
    choosePreinstall: () => packages.choosePreinstall(),
  };
}

class Packages {
  readonly #options: PackagesOptions;
  readonly #consent: Consent;
  readonly #locks: ReturnType<typeof createPackageLocks>;
  /** Undefined if `#locks` are those of the operator. */
  readonly #operatorsLocks: ReturnType<typeof createPackageLocks> | undefined;
  readonly #wheels: WheelFolder;
  readonly #budget: StoreBudget;
  /** By sandbox, the last answers by set: the one that it uses is among them. */
  readonly #installed = new WeakMap<object, Map<string | null, Installed>>();
  readonly #turns: BuildTurns<PackageLock>;
  /** Of the builds that wait or run, by key. */
  readonly #progress = new Map<string, SharedProgress>();
  readonly #failures = new CappedMap<string, { readonly error: unknown; readonly at: number }>(MAX_FAILURES);
  /** When the last build succeeded. */
  #fetchedAt = 0;

  constructor(options: PackagesOptions) {
    this.#options = options;
    this.#consent = new Consent(options);
    this.#turns = new BuildTurns(options.countedFor);
    const { operatorsDir, stateDir } = options;
    this.#locks = createPackageLocks(stateDir);
    this.#operatorsLocks = operatorsDir === undefined ? undefined : createPackageLocks(operatorsDir);
    this.#wheels = new WheelFolder(stateDir, operatorsDir);
    this.#budget = new StoreBudget(stateDir, operatorsDir);
  }

  async install(params: InstallParams, call: InstallingCall): Promise<InstallAnswer> {
    const wanted = wantedOf(params);
    return this.#installWanted(wanted, params, call).catch((error: unknown) => {
      if (error instanceof BridgeError && isRefusal(error)) {
        this.#options.onRefused?.(call, { requirements: wanted.map(({ text }) => text), error });
      }
      throw error;
    });
  }

  /** A piece of a wheel that this sandbox has installed. */
  async readWheel(
    sha256: string,
    offset: number,
    { sandbox }: InstallingCall,
  ): Promise<{ data: string; size: number }> {
    const answers = [...((sandbox && this.#installed.get(sandbox))?.values() ?? [])];
    const isOwn = answers.some(({ lock }) => lock.packages.some((one) => one.sha256 === sha256));
    const piece = isOwn ? await this.#wheels.read(sha256, offset, MAX_PIECE_BYTES) : undefined;
    if (piece === undefined) {
      throw new BridgeError('PACKAGE_UNAVAILABLE', 'the wheel is not there', {
        hint: 'Install the package again with runtime.install().',
      });
    }
    return { data: piece.data.toString('base64'), size: piece.size };
  }

  async #installWanted(
    wanted: readonly Requirement[],
    params: InstallParams,
    call: InstallingCall,
  ): Promise<InstallAnswer> {
    const { engine, mode, preinstall = [] } = this.#options;
    if (preinstall.length === 0) {
      refuseIfOff(mode, wanted);
    }
    if (!takesPackages(engine)) {
      throw noBuilder(engine, wanted);
    }
    const before =
      (call.sandbox && this.#installed.get(call.sandbox)?.get(params.set)) ??
      (await this.#usedFromStart(params.set, call)) ??
      (await this.#preinstalled(wanted, call));
    const isThere =
      before !== undefined && wanted.every((one) => hasPackage(before.lock.packages, before.requirements, one));
    if (!isThere) {
      refuseIfOff(mode, wanted);
    }
    const installed =
      isThere && !params.is_gone
        ? before
        : await this.#install(
            isThere ? { ...before, isAllowed: true } : await this.#request(wanted, before),
            call,
            params.is_gone,
          );
    if (call.sandbox !== undefined) {
      this.#note(call.sandbox, params.set, installed);
    }
    return answerOf(installed.lock, engine);
  }

  /** The set that a sandbox has from its start or from a checkpoint: no answer to it named that one. */
  async #usedFromStart(set: string | null, call: InstallingCall): Promise<Installed | undefined> {
    const stored = set === null ? [] : await this.#locks.all();
    const found = stored.find(({ lock }) => lock.set === set && lock.python === this.#pythonOf(call));
    if (found === undefined) {
      return undefined;
    }
    const { key, lock } = found;
    this.#consent.refuseDenied(lock.packages);
    const { requirements } = lock;
    return { key, lock, requirements, wanted: requirements.map(parseRequirement), constraints: [], present: [] };
  }

  /** Keeps the set that the sandbox uses, and the one that it will use if all goes well. */
  #note(sandbox: object, used: string | null, installed: Installed): void {
    const current = this.#installed.get(sandbox)?.get(used);
    const kept = current === undefined ? [] : [[used, current] as const];
    this.#installed.set(sandbox, new Map([...kept, [installed.lock.set, installed]]));
  }

  async preinstall(): Promise<void> {
    const { engine } = this.#options;
    const request = await this.#preinstallRequest();
    if (request === undefined || (await this.#lockOf(request)) !== undefined) {
      return;
    }
    // A builder runs on the engine that sessions get, which must be known by then.
    await settleEngine(engine);
    // A session may have fetched it meanwhile.
    if ((await this.#lockOf(request)) !== undefined) {
      return;
    }
    if (!takesPackages(engine)) {
      throw noBuilder(engine, request.wanted);
    }
    // Which Python sessions have is not known yet; the builder says it.
    await this.#install(request, BRIDGE_CALL);
  }

  async preinstalled(): Promise<PackageLock | undefined> {
    const request = await this.#preinstallRequest();
    return request && (await this.#lockOf(request))?.lock;
  }

  whyNone(): string | undefined {
    const { engine, mode, preinstall = [] } = this.#options;
    if (mode === 'off' && preinstall.length === 0) {
      return 'MCP_BRIDGE_PACKAGES is off';
    }
    if (!takesPackages(engine)) {
      return `the engine ${engine.name} has no packages`;
    }
    const { at = 0, error } = [...this.#failures.values()].at(-1) ?? {};
    const isOfAll = error instanceof BridgeError && OF_ALL_PACKAGES.has(String(error.data['kind']));
    return isOfAll && at > this.#fetchedAt && Date.now() - at < FAILURE_KEPT_MS ? error.message : undefined;
  }

  async firstSet(): Promise<PackageSet | undefined> {
    const { engine, preinstall = [] } = this.#options;
    if (engine.canBuild !== true || preinstall.length === 0) {
      return undefined;
    }
    try {
      const lock = await this.preinstalled();
      const path = lock === undefined ? null : pathOf(lock);
      if (lock === undefined || path === null) {
        return undefined;
      }
      // The policy may have changed since.
      this.#consent.refuseDenied(lock.packages);
      return { path, python: lock.python };
    } catch {
      return undefined;
    }
  }

  async choosePreinstall(): Promise<ReportOf<'resolved'>['packages']> {
    const { engine, minAgeMs, readIndex } = this.#options;
    const request = await this.#preinstallRequest();
    if (request === undefined) {
      return [];
    }
    if (!takesPackages(engine)) {
      throw noBuilder(engine, request.wanted);
    }
    const uploadedBefore = minAgeMs === 0 ? undefined : new Date(Date.now() - minAgeMs);
    const job = { requirements: request.requirements, constraints: [], uploadedBefore };
    let chosen: ReportOf<'resolved'>['packages'] | undefined;
    const onResolved = async (packages: ReportOf<'resolved'>['packages']): Promise<void> => {
      this.#consent.refuseDenied(packages);
      chosen = packages;
      throw new BridgeError('CALL_REFUSED', 'nothing is fetched');
    };
    await this.#fetch(job, { index: await readIndex(), onProgress: () => undefined, onResolved }).catch(
      (error: unknown) => {
        if (chosen === undefined) {
          throw error;
        }
      },
    );
    return chosen ?? [];
  }

  /** The set of `MCP_BRIDGE_PREINSTALL`; undefined if there is none, or it cannot be built and the code asks for something else. */
  async #preinstalled(wanted: readonly Requirement[], call: InstallingCall): Promise<Installed | undefined> {
    const request = await this.#preinstallRequest();
    if (request === undefined) {
      return undefined;
    }
    try {
      return await this.#install(request, call);
    } catch (error) {
      if (request.wanted.some(({ name }) => wanted.some((one) => one.name === name))) {
        throw error instanceof BridgeError ? notPreinstalled(error) : error;
      }
      // What the code asks for may work without it.
      return undefined;
    }
  }

  async #preinstallRequest(): Promise<Request | undefined> {
    const { preinstall = [] } = this.#options;
    return preinstall.length === 0
      ? undefined
      : { ...(await this.#request(preinstall.map(parseRequirement), undefined)), isAllowed: true, isPreinstall: true };
  }

  /**
   * What a session will find for a request, unless the image has got another Python; without `lock` if several additions serve it.
   * Its use is noted, so that it stays.
   */
  async #lockOf({ key, wanted }: Request): Promise<Pick<AddedPackages, 'lock'> | undefined> {
    await this.#locks.touch(key);
    const locks = await this.#locks.all();
    const image = this.#image;
    const own = locks.find(({ key: other }) => other === key);
    if (this.#operatorsLocks !== undefined) {
      return own;
    }
    const pythons = [...new Set(locks.map(({ lock }) => lock.python))];
    return own ?? pythons.map((python) => findAdded(locks, { image, python, present: [], wanted })).find(Boolean);
  }

  async #request(wanted: readonly Requirement[], before: Installed | undefined): Promise<Request> {
    const { minAgeMs, readIndex } = this.#options;
    const image = this.#image;
    const index = await readIndex();
    const requirements = [...new Set([...(before?.requirements ?? []), ...wanted.map(({ text }) => text)])].toSorted();
    const present = before?.lock.packages ?? [];
    const constraints = present.map(({ name, version }) => `${name}==${version}`).toSorted();
    const key = lockKey({ requirements, constraints, index, image, minAgeMs });
    return { wanted, requirements, constraints, present, key };
  }

  async #install(request: Request, call: InstallingCall, isGone = false): Promise<Installed> {
    const { maxAgeMs, minAgeMs, readIndex } = this.#options;
    const { constraints, isAllowed = false, isPreinstall = false, key, requirements, wanted } = request;
    const python = this.#pythonOf(call);
    const stored = await this.#locks.find(key, python);
    const lock = stored && !isAllowed ? await this.#agreeTo(stored, request, call) : stored;
    const found = lock === undefined ? await this.#findAdded(request, python) : { lock, packages: lock.packages };
    // The policy may have changed since.
    this.#consent.refuseDenied(found?.packages ?? []);
    if (found?.lock !== undefined && !isGone) {
      return { ...request, lock: found.lock };
    }
    if (!isPreinstall) {
      await this.#locks.makeRoom(key, maxAgeMs);
    }
    const uploadedBefore = minAgeMs === 0 ? undefined : new Date(Date.now() - minAgeMs);
    const lockFor = found?.lockFor ?? python;
    const job = { requirements, constraints, uploadedBefore, lock: found?.packages, lockFor };
    const allowedBy: Installation['allowedBy'] =
      found !== undefined ? 'lock' : isAllowed ? 'setting' : await this.#consent.toLookUp(wanted, call);
    const reason = { index: await readIndex(), allowedBy, call, wanted, isAllowed };
    return { ...request, lock: await this.#build(key, job, reason) };
  }

  /** The lock, once the user allows what, with an earlier version, only principals of HTTP had allowed. Rejects as `Consent` does. */
  async #agreeTo(lock: PackageLock, { key, wanted }: Request, call: InstallingCall): Promise<PackageLock> {
    const { onInstalled } = this.#options;
    const { allowed_for: allowedFor = [''], ...agreed } = lock;
    const { added_at: addedAt, allowed_by: allowedBy, packages } = lock;
    if (allowedBy !== 'user' || addedAt !== undefined || allowedFor.includes('')) {
      return lock;
    }
    const chosen = packages.map(({ name, version }) => ({ name, version, needed_by: [] }));
    const byLookUp = await this.#consent.toLookUp(wanted, call);
    const isAsked = await this.#consent.toFetch(chosen, wanted, call);
    await this.#locks.write(key, agreed);
    onInstalled?.(call, { allowedBy: isAsked ? 'user' : byLookUp, packages, fetchedBytes: 0 });
    return agreed;
  }

  /**
   * What the operator has added serves a request without an index, and without another question. For a principal, its builder copies
   * that into the principal's store, so there is no lock yet.
   */
  async #findAdded(request: Request, python: string | undefined): Promise<FoundPackages | undefined> {
    const { isPreinstall = false, key, present, wanted } = request;
    const locks = this.#operatorsLocks ?? this.#locks;
    const same = isPreinstall ? await this.#operatorsLocks?.find(key, python) : undefined;
    if (same !== undefined) {
      return { packages: same.packages, lockFor: same.python };
    }
    if (python === undefined) {
      return undefined;
    }
    const found = findAdded(await locks.all(), { image: this.#image, python, present, wanted });
    if (found?.key !== undefined) {
      await locks.touch(found.key);
    }
    return found && this.#operatorsLocks !== undefined ? { packages: found.packages } : found;
  }

  /** Waits for the build, which continues if the call is cancelled: the next cell finds its lock. */
  async #build(key: string, job: BuildJob, reason: BuildReason): Promise<PackageLock> {
    const failed = this.#failures.get(key);
    if (failed !== undefined && Date.now() - failed.at < FAILURE_KEPT_MS) {
      throw failed.error;
    }
    const progress = this.#progress.get(key) ?? new SharedProgress();
    const { onToolProgress, session, signal } = reason.call;
    const running = this.#turns.take(session, key, () => this.#run(key, job, reason, progress));
    this.#progress.set(key, progress);
    const leave = progress.join(onToolProgress);
    return unlessAborted(running, signal).finally(leave);
  }

  async #run(key: string, job: BuildJob, reason: BuildReason, progress: SharedProgress): Promise<PackageLock> {
    try {
      return await this.#runBuilder(key, job, reason, progress);
    } catch (error) {
      if (error instanceof BridgeError && error.data['kind'] !== undefined) {
        this.#noteFailure(key, error);
      }
      throw error;
    } finally {
      this.#progress.delete(key);
    }
  }

  #noteFailure(key: string, error: BridgeError): void {
    const now = Date.now();
    for (const [old, { at }] of this.#failures) {
      if (now - at >= FAILURE_KEPT_MS) {
        this.#failures.delete(old);
      }
    }
    this.#failures.set(key, { error, at: now });
  }

  async #runBuilder(key: string, job: BuildJob, reason: BuildReason, progress: SharedProgress): Promise<PackageLock> {
    const { call, index, isAllowed, wanted } = reason;
    const { onInstalled } = this.#options;
    const messageOfReport = progressOf();
    const onProgress = (report: ReportOf<'progress'>): void => {
      const { done = 0, total } = report;
      const message = index.mask(messageOfReport(report));
      progress.report({ tool: 'packages.install', progress: done, ...(total ? { total } : {}), message });
    };
    let { allowedBy } = reason;
    const onResolved = async (chosen: ReportOf<'resolved'>['packages']): Promise<void> => {
      if (isAllowed) {
        this.#consent.refuseDenied(chosen);
      } else if (await this.#consent.toFetch(chosen, wanted, call)) {
        allowedBy = 'user';
      }
    };
    const done = await this.#fetch(job, { index, onProgress, onResolved });
    // A builder handles what an index sends, so it is not trusted to fetch only what it reported.
    this.#consent.refuseDenied(done.packages);
    const earlier = await this.#locks.find(key, done.python);
    const lock = {
      ...earlier,
      ...(allowedBy === 'lock' ? {} : { allowed_by: allowedBy }),
      ...(allowedBy === 'user' ? { allowed_for: undefined } : {}),
      image: this.#image,
      version: 1 as const,
      requirements: [...job.requirements],
      python: done.python,
      set: done.set,
      packages: done.packages,
    };
    await this.#locks.write(key, lock);
    await this.#budget.note(done.store_bytes);
    this.#fetchedAt = Date.now();
    onInstalled?.(call, { allowedBy, packages: done.packages, fetchedBytes: done.fetched_bytes });
    return lock;
  }

  /** Fills the store with a builder or, for sandboxes that see none, the folder of wheels. */
  async #fetch(
    job: BuildJob,
    { index, onProgress, onResolved }: Pick<BuildOptions, 'index' | 'onProgress' | 'onResolved'>,
  ): Promise<ReportOf<'done'>> {
    const { engine, maxAgeMs, readProgram } = this.#options;
    const maxBytes = await this.#budget.maxBytes(this.#options.maxBytes);
    if (engine.wheelsFor !== undefined) {
      const { fetchWheels } = await import('./pure/fetch-wheels.ts');
      const wheels = { folder: this.#wheels, isChosen: isChosen(engine), python: engine.wheelsFor };
      return fetchWheels(job, { ...wheels, index, maxAgeMs, maxBytes, onProgress, onResolved });
    }
    const [program, usedAt] = await Promise.all([readProgram(), this.#locks.usedAt()]);
    return buildPackages(job, { engine, program, index, maxAgeMs, maxBytes, usedAt, onProgress, onResolved });
  }

  /** The Python that a sandbox runs. What the call says is that of its code, and could replace the locks of other sessions. */
  #pythonOf({ python }: InstallingCall): string | undefined {
    return this.#options.engine.wheelsFor ?? python;
  }

  /** What sessions run, as locks name it. */
  get #image(): string {
    const { engine, image } = this.#options;
    return engine.wheelsFor === undefined ? image : engine.name;
  }
}

/** Whether someone decided against it; that packages are off is no decision about this one. */
function isRefusal({ code }: BridgeError): boolean {
  return code === 'POLICY_DENIED' || code.startsWith('APPROVAL_');
}

function pathOf({ set }: PackageLock): string | null {
  return set === null ? null : `${PACKAGES_FOLDER}/sets/${set}`;
}

function answerOf(lock: PackageLock, engine: Engine): InstallAnswer {
  const { packages } = lock;
  return {
    path: pathOf(lock),
    packages: packages.map(({ name, version }) => [name, version] as const),
    ...(engine.wheelsFor === undefined ? {} : { wheels: packages.map(({ file, sha256 }) => ({ file, sha256 })) }),
  };
}

function wantedOf({ modules, requirements }: InstallParams): Requirement[] {
  const stated = requirements.map((text) => parseRequirement(meantRequirement(text)));
  // A requirement that the code states says more than its import.
  const ofModules = modules
    .flatMap((module) => distributionOf(module) ?? [])
    .map(parseRequirement)
    .filter(({ name }) => !stated.some((one) => one.name === name));
  const all = [...stated, ...ofModules];
  if (all.length === 0) {
    throw new BridgeError('CALL_REFUSED', 'no package was named', { hint: 'Name one, such as "pandas>=2".' });
  }
  return [...new Map(all.map((one) => [one.text, one])).values()];
}

/** The user has allowed it, so neither a question nor `MCP_BRIDGE_PACKAGES` is the reason. */
function notPreinstalled(error: BridgeError): BridgeError {
  const { code, data, hint, message } = error;
  return new BridgeError(code, `the packages of MCP_BRIDGE_PREINSTALL could not be installed: ${message}`, {
    hint,
    data,
    cause: error,
  });
}

/** Whether `MCP_BRIDGE_RUNTIME` names the engine: otherwise, it would be the last choice. */
function isChosen({ refused = [] }: Engine): boolean {
  return refused.length === 0;
}

function noBuilder({ name }: Engine, wanted: readonly Requirement[]): BridgeError {
  const names = wanted.map(({ name: one }) => one).join(', ');
  return new BridgeError('PACKAGE_UNAVAILABLE', `${names} cannot be installed on the engine ${name}`, {
    hint: 'Install Podman or Docker, or choose an installed one with MCP_BRIDGE_RUNTIME.',
    data: { kind: 'engine' },
  });
}
