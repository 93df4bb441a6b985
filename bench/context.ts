/** What every measure is given. */
import { messageOf } from '../src/base/errors.ts';
import { findTestEngines, processEnvironment, TEST_IMAGES, type TestEngine } from '../test/support/engines.ts';
import type { Options } from './options.ts';

export interface BenchContext {
  /** The engine to measure on. Throws the reason when there is none. */
  engine(): TestEngine;
  /** The same, for a figure or a floor that is about containers. Throws the reason when it runs none. */
  containerEngine(): TestEngine;
  /** Environment for a bridge on that engine; that of this process when there is none. */
  readonly env: Readonly<Record<string, string>>;
  /** The built command: path of a script for `node`. */
  readonly script: string;
  readonly images: {
    /** `MCP_BRIDGE_IMAGE`, or the product's default. */
    readonly usual: BenchImage;
    readonly compiled: BenchImage;
  };
  /** How often to repeat something: `full` times, or a fifth of it (at least 3) in a quick run. */
  repeats(full: number): number;
}

export interface BenchImage {
  readonly name: string;
  /** Names it in a figure. */
  readonly title: string;
}

interface Found {
  /** The engine, or why there is none. */
  readonly engine: TestEngine | string;
  readonly missing: readonly string[];
}

const LEAST_REPEATS = 3;
const QUICK_PART = 5;

/** Looks for the engine; never rejects, because some figures need none. */
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

/** An image of the user's may come with or without compiled files, so it goes by its name. */
export function usualImage(chosen: string | undefined): BenchImage {
  return chosen === undefined || chosen === TEST_IMAGES.slim
    ? { name: TEST_IMAGES.slim, title: 'image without .pyc files' }
    : { name: chosen, title: `image ${chosen}` };
}

/** The engine with this label, else the first that runs containers, else the first. */
async function findEngine(label: string | undefined, image: string): Promise<Found> {
  try {
    const { engines, missing } = await findTestEngines(image);
    const fitting = engines.filter((engine) => label === undefined || engine.label === label);
    const found = fitting.find(({ isContainer }) => isContainer) ?? fitting[0];
    const reason = missing.find((text) => label === undefined || text.startsWith(`${label}: `));
    return { engine: found ?? `needs the engine ${reason ?? label ?? 'that nobody installed'}`, missing };
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

/** Throws for an engine without containers: its figures would stand under the labels of a container. */
export function containerEngine(found: Found): TestEngine {
  const engine = anyEngine(found);
  if (!engine.isContainer) {
    const reasons = found.missing.length === 0 ? '' : ` (${found.missing.join('; ')})`;
    throw new Error(`needs a container engine, and ${engine.label} is none${reasons}`);
  }
  return engine;
}
