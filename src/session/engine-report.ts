/** Describes the engine of a session to people and models. */
import type { EngineReport } from '../base/cell.ts';
import { CONTAINER_ENGINE_NAMES, type Engine } from '../engines/engine.ts';

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

/** The manual of the sandbox, with what this engine lacks. */
export function withMissing(manual: string, { missing }: Engine): string {
  return missing === undefined ? manual : `${manual}\n**Missing here.** ${missing}\n`;
}

/** The engine in one paragraph. */
export function describeEngine(engine: Engine): string {
  const { isolation, name, refused } = reportEngine(engine);
  const reasons = refused.map(({ reason }) => reason).join('; ');
  return [
    `Sessions run on ${name}: ${isolation}.`,
    ...(reasons === '' ? [] : [`Not used: ${reasons}.`]),
    ...(engine.missing === undefined ? [] : [`Missing here: ${engine.missing}`]),
  ].join(' ');
}
