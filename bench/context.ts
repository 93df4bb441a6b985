/** The context that every measure receives. */
import { messageOf } from '../src/core/base/errors.ts';
import { findTestEngines, processEnvironment, TEST_IMAGES, type TestEngine } from '../test/support/engines.ts';
import type { Options } from './options.ts';

export interface BenchContext {
  /** The engine to measure. Throws with the reason if there is none. */
  engine(): TestEngine;
  /** The same for figures and floors about containers. Throws with the reason if the engine runs none. */
  containerEngine(): TestEngine;
  /** Environment for a bridge on that engine; this process's environment if there is none. */
  readonly env: Readonly<Record<string, string>>;
  /** The built command: path of a script for `node`. */
  readonly script: string;
  readonly images: {
    /** `MCP_BRIDGE_IMAGE`, or the product's default. */
    readonly usual: BenchImage;
    readonly compiled: BenchImage;
  };
  /** How many repetitions to do: `full`, or a fifth of it (at least 3) in a quick run. */
  repeats(full: number): number;
}

export interface BenchImage {
  readonly name: string;
  /** Its name in a figure. */
  readonly title: string;
}

interface Found {
  /** The engine, or the reason why there is none. */
  readonly engine: TestEngine | string;
  readonly missing: readonly string[];
}

const LEAST_REPEATS = 3;
const QUICK_PART = 5;

/** Looks for the engine. Never rejects, because some figures need no engine. */
export async function createContext({ engine: label, script, isQuick }: Options): Promise<BenchContext> {
  const usual = usualImage(process.env['MCP_BRIDGE_IMAGE']);
  const found = await findEngine(label, usual.name);
  return {
    engine: () => anyEngine(found),
    containerEngine: () => containerEngine(found),
    env: typeof found.engine === 'string' ? processEnvironment() : found.engine.env,
    script,
    images: { usual, compiled: { name: TEST_IMAGES.compiled, title: 'image with .pyc files' } },
    repeats: (full) => (isQuick ? Math.max(LEAST_REPEATS, Math.round(full / QUICK_PART)) : full),
  };
}

/** A user's image may or may not have compiled files, so its title is its name. */
export function usualImage(chosen: string | undefined): BenchImage {
  return chosen === undefined || chosen === TEST_IMAGES.slim
    ? { name: TEST_IMAGES.slim, title: 'image without .pyc files' }
    : { name: chosen, title: `image ${chosen}` };
}

/** The engine with this label, otherwise the first that runs containers, otherwise the first. */
async function findEngine(label: string | undefined, image: string): Promise<Found> {
  try {
    const { engines, missing } = await findTestEngines(image);
    const fitting = engines.filter((engine) => label === undefined || engine.label === label);
    const found = fitting.find(({ isContainer }) => isContainer) ?? fitting[0];
    const reason = missing.find((text) => label === undefined || text.startsWith(`${label}: `));
    return { engine: found ?? `needs the engine ${reason ?? label ?? 'but none is installed'}`, missing };
  } catch (error) {
    return { engine: `needs an engine: ${messageOf(error)}`, missing: [] };
  }
}

function anyEngine({ engine }: Found): TestEngine {
  if (typeof engine === 'string') {
    throw new Error(engine);
  }
  return engine;
}

/** Throws for an engine without containers, whose figures would get the labels of a container. */
export function containerEngine(found: Found): TestEngine {
  const engine = anyEngine(found);
  if (!engine.isContainer) {
    const reasons = found.missing.length === 0 ? '' : ` (${found.missing.join('; ')})`;
    throw new Error(`needs a container engine, but ${engine.label} is not one${reasons}`);
  }
  return engine;
}
