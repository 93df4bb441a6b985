/**
 * Keeps the shapes of results that servers do not describe, so that a later run of the project need not probe them: types and keys
 * of objects, one file for each project of a principal, in the state directory.
 */
import { z } from 'zod';
import type { KeptShape, ShapeMemory } from '../../core/calls/observed-results.ts';
import { RecentRuns, type RecentRunsOptions } from './recent-runs.ts';

/** Tools of one project; those that were used longest ago are forgotten. Chosen, as is the size of one shape. */
const MAX_SHAPES = 200;
const MAX_SHAPE_CHARS = 4_000;
const MAX_NAME_CHARS = 1_000;
/** `MAX_SHAPES` in UTF-8, with names. */
const MAX_FILE_BYTES = 4 * 1024 * 1024;
/** A loop changes a shape many times in a moment. Chosen. */
const WRITE_AFTER_MS = 500;

const ShapeSchema = z.object({
  definition: z.string().max(MAX_NAME_CHARS),
  tool: z.string().max(MAX_NAME_CHARS),
  uses: z.int().nonnegative(),
  schema: z.record(z.string(), z.unknown()).optional(),
});

export interface KeptShapes extends ShapeMemory {
  /** Resolves when everything is written, or it takes too long. Never rejects. */
  close(): Promise<void>;
}

export interface KeptShapesOptions extends RecentRunsOptions {
  /** Masks secrets. A shape with one is not kept. */
  readonly mask: (text: string) => string;
}

export function createKeptShapes({ mask, ...options }: KeptShapesOptions): KeptShapes {
  // Each run writes what it and earlier ones know.
  const runs = new RecentRuns('results', ShapeSchema, MAX_SHAPES, {
    ...options,
    maxRuns: 1,
    maxFileBytes: MAX_FILE_BYTES,
  });
  let latest: (() => readonly KeptShape[]) | undefined;
  let timer: NodeJS.Timeout | undefined;

  function mayKeep(shape: KeptShape): boolean {
    const text = JSON.stringify(shape);
    return text.length <= MAX_SHAPE_CHARS && mask(text) === text;
  }

  function write(): void {
    clearTimeout(timer);
    timer = undefined;
    const shapes = latest;
    if (shapes === undefined) {
      return;
    }
    latest = undefined;
    runs.writeSoon(async () => {
      const mine = shapes().toReversed().filter(mayKeep);
      const others = (await runs.items()).filter(
        (known) => !mine.some(({ definition, tool }) => definition === known.definition && tool === known.tool),
      );
      return [...mine, ...others].slice(0, MAX_SHAPES);
    });
  }

  return {
    load: () => runs.items(),
    changed(shapes) {
      latest = shapes;
      timer ??= setTimeout(write, WRITE_AFTER_MS).unref();
    },
    close() {
      write();
      return runs.close();
    },
  };
}
