/** Describes the engine of a session to people and models. */
import type { EngineReport } from '../base/cell.ts';
import { CONTAINER_ENGINE_NAMES, type Engine, takesPackages } from './engine.ts';

/** The engine as it is now. */
export function reportEngine({ name, isolation, refused = [] }: Engine): EngineReport {
  return { name, isolation, refused: refused.map(({ engine, reason }) => ({ engine, reason })) };
}

/**
 * A notice that the engine isolates less than others that could not be used. Undefined for podman and docker, which are
 * equally strong, and for an engine that the user chose.
 */
export function standInNotice({ name, isolation, refused }: EngineReport): string | undefined {
  if (refused.length === 0 || (CONTAINER_ENGINE_NAMES as readonly string[]).includes(name)) {
    return undefined;
  }
  const reasons = refused.map(({ reason }) => reason).join('; ');
  return `${name} runs this session, which is weaker than a container: ${isolation}. Not used: ${reasons}.`;
}

/** In which languages programs can be run (`runtime.run`). */
export interface LanguagesHere {
  readonly ready: readonly string[];
  readonly absent: readonly string[];
  /** What else must be so, as a sentence. */
  readonly condition?: string | undefined;
}

/**
 * The end of the manual: what code finds on this engine and what not. `languages` is undefined if the table of languages cannot be
 * read; `wantsPackages` says whether the settings allow installations.
 */
export function surroundings(engine: Engine, languages: LanguagesHere | undefined, wantsPackages: boolean): string {
  const { missing, provides } = engine;
  const { absent = [], condition, ready = [] } = languages ?? {};
  const [example] = ready;
  const programs =
    example === undefined
      ? []
      : [`\`await runtime.run("${example}", code)\` runs programs in ${inWords(ready)}.`, condition ?? []].flat();
  const other = ready.length > 0 ? inWords(absent) : 'other languages (`runtime.run`)';
  const lacks = [
    ...(absent.length === 0 ? [] : [`Programs in ${other}.`]),
    ...(wantsPackages && !takesPackages(engine) ? ['The installation of packages.'] : []),
    ...(missing === undefined ? [] : [missing]),
  ];
  const has = ['The standard library', ...(provides === undefined ? [] : [provides])].join(', ');
  return [
    `\n**Available here.** ${[`${has}.`, ...programs].join(' ')}\n`,
    ...(lacks.length === 0 ? [] : [`\n**Missing here.** ${lacks.join(' ')}\n`]),
  ].join('');
}

function inWords(names: readonly string[]): string {
  return names.length < 2 ? names.join('') : `${names.slice(0, -1).join(', ')} and ${names.at(-1)}`;
}

/** The engine in one paragraph. */
export function describeEngine(engine: Engine): string {
  const { isolation, name, refused } = reportEngine(engine);
  const reasons = refused.map(({ reason }) => reason).join('; ');
  return [`Sessions run on ${name}: ${isolation}.`, ...(reasons === '' ? [] : [`Not used: ${reasons}.`])].join(' ');
}
