/** What every measure is given. */
import { messageOf } from '../src/base/errors.ts';
import { findTestEngines, processEnvironment, TEST_IMAGES, type TestEngine } from '../test/support/engines.ts';
import type { Options } from './options.ts';

export interface BenchContext {
  /** The engine to measure on. Throws the reason when there is none. */
  engine(): TestEngine;
  /** Environment for a bridge on that engine; that of this process when there is none. */
  readonly env: Readonly<Record<string, string>>;
  /** The built command: path of a script for `node`. */
  readonly script: string;
  /** Without and with compiled files of the standard library. */
  readonly images: typeof TEST_IMAGES;
  /** How often to repeat something: `full` times, or a fifth of it (at least 3) in a quick run. */
  repeats(full: number): number;
}

const LEAST_REPEATS = 3;
const QUICK_PART = 5;

/** Looks for the engine; rejects never, because some figures need none. */
export async function createContext({ engine: label, script, isQuick }: Options): Promise<BenchContext> {
  const found = await findEngine(label);
  return {
    engine() {
      if (typeof found === 'string') {
        throw new Error(found);
      }
      return found;
    },
    env: typeof found === 'string' ? processEnvironment() : found.env,
    script,
    images: TEST_IMAGES,
    repeats: (full) => (isQuick ? Math.max(LEAST_REPEATS, Math.round(full / QUICK_PART)) : full),
  };
}

/** The engine with this label, else the first; or why there is none. */
async function findEngine(label: string | undefined): Promise<TestEngine | string> {
  try {
    const { engines, missing } = await findTestEngines();
    const found = engines.find((engine) => label === undefined || engine.label === label);
    return found ?? `needs the engine ${label} (${missing.join('; ') || 'unknown'})`;
  } catch (error) {
    return `needs an engine: ${messageOf(error)}`;
  }
}
