/**
 * Chooses versions for the embedded engine, where pip cannot run: the newest release that fits and has a wheel for any platform.
 * If a later requirement does not fit a choice, everything is chosen again with that requirement known from the start. pip looks
 * further (it also tries older versions of the packages that make the demand), so a conflict here may not be one for pip.
 */
import { compareVersions, isPreRelease, meetsSpecifier } from '../../../core/base/package-versions.ts';
import { MAX_SET_PACKAGES } from '../report.ts';
import { normalizeName } from '../requirement.ts';
import { FetchFailure } from './failure.ts';
import { type Dependency, type MarkerValues, meetsMarker, parseDependency } from './markers.ts';
import type { ListedFile, Project } from './simple-index.ts';

/** What a resolution asks of an index. */
export interface ProjectSource {
  project(name: string): Promise<Project>;
  /** The metadata of a file, and the SHA-256 that it must have. */
  metadata(file: ListedFile): Promise<FileMetadata>;
}

export interface FileMetadata {
  readonly text: string;
  readonly sha256: string;
}

export interface ResolveRequest {
  readonly requirements: readonly string[];
  /** `name==version` of what the session has. */
  readonly constraints: readonly string[];
  /** Only files uploaded before this time; undefined for no limit. */
  readonly uploadedBefore: Date | undefined;
  /** Such as `3.14`. */
  readonly pythonVersion: string;
}

/** A package that was chosen. */
export interface Choice {
  readonly name: string;
  readonly version: string;
  readonly file: ListedFile;
  readonly sha256: string;
  /** Names of the chosen packages that need it. */
  readonly neededBy: ReadonlySet<string>;
}

/** What asks for a package: a specifier, and who states it, for messages. */
interface Demand extends Dependency {
  /** Undefined for the request itself. */
  readonly by: string | undefined;
}

interface Chosen {
  readonly version: string;
  readonly file: ListedFile;
  readonly requires: Requires;
  readonly neededBy: Set<string>;
  readonly extras: Set<string>;
}

/** What a release needs, how long that is as text, and which file says so. */
interface Requires {
  readonly sha256: string;
  readonly dependencies: readonly Dependency[];
  readonly chars: number;
}

interface Release {
  readonly version: string;
  readonly file: ListedFile;
}

/** Chosen: each round learns a demand; real sets need a few. */
const MAX_ROUNDS = 100;
/** Chosen: takes about a second, in which the bridge does nothing else. Each extra and each round counts what it reads again. */
const MAX_REQUIRES_CHARS = 8 * 1024 * 1024;
/** Chosen, for one package. */
const MAX_REQUIRES = 10_000;
const WHEEL = /^[^-]+-(?<version>[^-]+)(?:-\d[^-]*)?-(?<python>[^-]+)-none-any\.whl$/;

/** Rejects with `FetchFailure`. */
export async function resolvePackages(request: ResolveRequest, source: ProjectSource): Promise<Choice[]> {
  return new Resolution(request, source).run();
}

/** Chosen before: everything was chosen again, because of one more demand. */
class Retry extends Error {}

class Resolution {
  readonly #request: ResolveRequest;
  readonly #source: ProjectSource;
  readonly #values: MarkerValues;
  readonly #projects = new Map<string, Promise<Project>>();
  readonly #requires = new Map<string, Promise<Requires>>();
  /** Demands that did not fit an earlier choice. */
  readonly #learned: Demand[] = [];
  #requiresChars = 0;

  constructor(request: ResolveRequest, source: ProjectSource) {
    this.#request = request;
    this.#source = source;
    this.#values = markerValues(request.pythonVersion);
  }

  async run(): Promise<Choice[]> {
    for (let round = 0; round < MAX_ROUNDS; round += 1) {
      try {
        // biome-ignore lint/performance/noAwaitInLoops: each round builds on the one before.
        return await this.#choose();
      } catch (error) {
        if (!(error instanceof Retry)) {
          throw error;
        }
      }
    }
    throw new FetchFailure('conflict', `no versions that fit together were found in ${MAX_ROUNDS} attempts`);
  }

  async #choose(): Promise<Choice[]> {
    const chosen = new Map<string, Chosen>();
    const queue = this.#request.requirements.map((text) => this.#stated(text));
    // It grows meanwhile.
    for (const demand of queue) {
      if (demand.marker === '' || this.#applies(demand, '')) {
        // biome-ignore lint/performance/noAwaitInLoops: what one package needs decides about the next.
        queue.push(...(await this.#take(demand, chosen)));
      }
    }
    return [...chosen].map(([name, { file, neededBy, requires, version }]) => ({
      name,
      version,
      file,
      sha256: requires.sha256,
      neededBy,
    }));
  }

  /** Chooses a package, or checks the choice. Resolves with what it needs beyond what is known. */
  async #take(demand: Demand, chosen: Map<string, Chosen>): Promise<Demand[]> {
    const { by, extras, name } = demand;
    const earlier = chosen.get(name);
    if (earlier !== undefined && !fits(earlier.version, demand.specifier)) {
      this.#learn(demand, earlier.version);
    }
    const one = earlier ?? (await this.#best(demand));
    if (earlier === undefined) {
      if (chosen.size === MAX_SET_PACKAGES) {
        throw new FetchFailure('limit', `more than ${MAX_SET_PACKAGES} packages are needed`);
      }
      chosen.set(name, one);
    }
    if (by !== undefined) {
      one.neededBy.add(by);
    }
    const added = [...(earlier === undefined ? [''] : []), ...extras.filter((extra) => !one.extras.has(extra))];
    added.forEach((extra) => one.extras.add(extra));
    return added.length === 0 ? [] : this.#neededBy(name, one, added);
  }

  /** Notes a demand that a choice does not meet, and starts again. */
  #learn(demand: Demand, version: string): never {
    const isKnown = this.#learned.some(({ name, specifier }) => name === demand.name && specifier === demand.specifier);
    if (isKnown) {
      throw new FetchFailure(
        'conflict',
        `${demand.by ?? 'the request'} requires ${demand.name}${demand.specifier}, and ${demand.name} ${version} was needed, too`,
      );
    }
    this.#learned.push(demand);
    throw new Retry();
  }

  async #best(demand: Demand): Promise<Chosen> {
    const { constraints, uploadedBefore } = this.#request;
    const { name } = demand;
    this.#projects.set(name, this.#projects.get(name) ?? this.#source.project(name));
    const project = (await this.#projects.get(name)) ?? { files: [], hasCompiled: false };
    const demands = [demand, ...this.#learned.filter((one) => one.name === name)];
    const fixed = constraints.map((text) => parseDependency(text)).find((one) => one?.name === name);
    const specifiers = [...demands, ...(fixed ? [fixed] : [])].map(({ specifier }) => specifier).filter(Boolean);
    const releases = this.#releasesOf(project);
    const fitting = releases.filter(({ version }) => specifiers.every((specifier) => fits(version, specifier)));
    const old = fitting.filter(
      ({ file }) => uploadedBefore === undefined || (file.uploadedAt ?? LATE) < uploadedBefore,
    );
    const found = old.find(({ version }) => isPreRelease(version) === false) ?? old[0];
    if (found === undefined) {
      throw this.#nothingFits({ demands, fixed, fitting, project, releases });
    }
    const key = `${name} ${found.version}`;
    const requires = this.#requires.get(key) ?? this.#requiredBy(key, found.file);
    this.#requires.set(key, requires);
    return { ...found, requires: await requires, neededBy: new Set(), extras: new Set() };
  }

  /** Newest first, without those that were withdrawn or need another Python. */
  #releasesOf({ files }: Project): Release[] {
    const { pythonVersion } = this.#request;
    return files
      .flatMap((file): Release[] => {
        const { python = '', version = '' } = WHEEL.exec(file.filename)?.groups ?? {};
        const isForThis =
          isPreRelease(version) !== undefined &&
          !file.isYanked &&
          python.split('.').some((tag) => runsOn(tag, pythonVersion)) &&
          (file.requiresPython === '' || meetsSpecifier(`${pythonVersion}.0`, file.requiresPython) !== false);
        return isForThis ? [{ version, file }] : [];
      })
      .toSorted((one, other) => compareVersions(other.version, one.version));
  }

  #nothingFits(found: {
    readonly demands: readonly Demand[];
    readonly fixed: Dependency | undefined;
    readonly fitting: readonly Release[];
    readonly project: Project;
    readonly releases: readonly Release[];
  }): FetchFailure {
    const { demands, fitting, fixed, project, releases } = found;
    const { name } = demands[0] ?? { name: '' };
    const before = this.#request.uploadedBefore?.toISOString().slice(0, 10);
    const asked = demands.map(({ by, specifier }) => `${by ?? 'the request'} requires ${name}${specifier}`);
    if (fitting.length > 0) {
      const isDated = fitting.some(({ file }) => file.uploadedAt !== undefined);
      const told = fitting
        .slice(0, 5)
        .map(({ file, version }) => `${version} (${file.uploadedAt?.toISOString().slice(0, 10)})`);
      return isDated
        ? new FetchFailure(
            'age',
            `no version of ${name} fits that was uploaded before ${before}\nuploaded since: ${told.join(', ')}`,
          )
        : new FetchFailure(
            'times',
            `${fitting[0]?.file.host} gives no upload times, so the minimum age of files cannot be checked`,
          );
    }
    if (releases.length > 0 && (demands.length > 1 || fixed !== undefined)) {
      const present = fixed === undefined ? [] : [`the session has ${name}${fixed.specifier}`];
      return new FetchFailure('conflict', [...asked, ...present].slice(0, 2).join('\n'));
    }
    if (releases.length > 0) {
      const versions = releases
        .map(({ version }) => version)
        .toReversed()
        .join(', ');
      return new FetchFailure(
        'missing',
        `no version of ${name}${demands[0]?.specifier} fits\nthe index has ${versions.slice(-150)}`,
      );
    }
    if (project.hasCompiled) {
      const reason = `the embedded sandbox can only use packages in pure Python, and ${name} has compiled parts`;
      return new FetchFailure('platform', reason);
    }
    const python = project.files.length === 0 ? '' : ` for Python ${this.#request.pythonVersion}`;
    return new FetchFailure('missing', `the index has no wheel of ${name}${python}`);
  }

  #neededBy(name: string, { requires, version }: Chosen, extras: readonly string[]): Demand[] {
    const { chars, dependencies } = requires;
    this.#requiresChars += chars * extras.length;
    if (this.#requiresChars > MAX_REQUIRES_CHARS) {
      throw tooMany(`${name} ${version}`, `${MAX_REQUIRES_CHARS} characters to compare`);
    }
    return dependencies
      .filter((dependency) => extras.some((extra) => this.#applies(dependency, extra)))
      .map((dependency) => ({ ...dependency, marker: '', by: name }));
  }

  async #requiredBy(key: string, file: ListedFile): Promise<Requires> {
    const { sha256, text } = await this.#source.metadata(file);
    const [head = ''] = text.split(/\r?\n\r?\n/, 1);
    const lines = [...head.matchAll(/^Requires-Dist:[ \t]*(.*)$/gim)].map(([, line = '']) => line);
    if (lines.length > MAX_REQUIRES) {
      throw tooMany(key, `${MAX_REQUIRES} lines`);
    }
    const dependencies = lines.map((line) => {
      const dependency = parseDependency(line);
      if (dependency === undefined) {
        throw new FetchFailure(
          'wheel',
          `${key} requires ${JSON.stringify(line.slice(0, 100))}, which names no package of an index`,
        );
      }
      return dependency;
    });
    return { sha256, dependencies, chars: lines.reduce((sum, line) => sum + line.length, 0) };
  }

  #applies({ marker }: Dependency, extra: string): boolean {
    // What cannot be read may matter.
    return marker === '' ? extra === '' : (meetsMarker(marker, { ...this.#values, extra }) ?? true);
  }

  #stated(text: string): Demand {
    const dependency = parseDependency(text);
    if (dependency === undefined) {
      throw new FetchFailure(
        'missing',
        `${JSON.stringify(text.slice(0, 100))} cannot be looked up for the embedded engine`,
      );
    }
    return { ...dependency, name: normalizeName(dependency.name), by: undefined };
  }
}

/** After every limit: an index that gives no time cannot be judged. */
const LATE = new Date(8.64e15);

function tooMany(key: string, limit: string): FetchFailure {
  return new FetchFailure('limit', `${key} states too many requirements: more than ${limit}`);
}

function fits(version: string, specifier: string): boolean {
  return specifier === '' || meetsSpecifier(version, specifier) === true;
}

/** Whether a tag such as `py3` or `py311` includes this Python. */
function runsOn(tag: string, pythonVersion: string): boolean {
  const [, digits] = /^(?:py|cp)3(\d{0,2})$/.exec(tag) ?? [];
  return digits !== undefined && Number(digits) <= Number(pythonVersion.split('.')[1]);
}

function markerValues(pythonVersion: string): MarkerValues {
  return {
    python_version: pythonVersion,
    python_full_version: `${pythonVersion}.0`,
    implementation_version: `${pythonVersion}.0`,
    implementation_name: 'cpython',
    platform_python_implementation: 'CPython',
    os_name: 'posix',
    'os.name': 'posix',
    sys_platform: 'wasi',
    'sys.platform': 'wasi',
    platform_system: 'wasi',
    platform_machine: 'wasm32',
    platform_release: '0.0.0',
    platform_version: '0.0.0',
  };
}
