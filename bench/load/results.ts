/** What a run has found, as it is saved. */
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import * as z from 'zod';
import { percentile } from '../support/statistics.ts';
import { KIND_NAMES } from './cells.ts';
import type { CellTime, Tally } from './load-client.ts';

const FORMAT = 1;

const PercentilesSchema = z.object({
  count: z.number(),
  p50Ms: z.number(),
  p95Ms: z.number(),
  p99Ms: z.number(),
});
const ByKindSchema = z.object({
  small: PercentilesSchema.optional(),
  calls: PercentilesSchema.optional(),
  output: PercentilesSchema.optional(),
  plot: PercentilesSchema.optional(),
  /** All cells of a live sandbox. */
  warm: PercentilesSchema.optional(),
  /** Cells that waited for a sandbox and its checkpoint. */
  restored: PercentilesSchema.optional(),
});
const StepSchema = z.object({
  title: z.string(),
  clients: z.number(),
  cellsPerS: z.number(),
  /** Asked for, and the length of the step. */
  rate: z.number(),
  seconds: z.number(),
  times: ByKindSchema,
  /** Cells that were refused because every sandbox was busy. */
  refused: z.number(),
  /** What was lost or mixed up. */
  faults: z.array(z.string()),
  /** By how much the generator was late, p99. */
  lateMs: z.number(),
  /** Cores that were used: of the bridge, of all processes below it, and of the clients. */
  cores: z.object({ bridge: z.number(), below: z.number(), clients: z.number() }),
  stranger: z.object({ sentPerS: z.number(), answeredPerS: z.record(z.string(), z.number()) }).optional(),
});
const CostSchema = z.object({
  /** From when it was due to its answer, without other load: median. */
  wallMs: z.number(),
  bridgeMs: z.number(),
  /** Of sandbox and server. */
  belowMs: z.number(),
  clientMs: z.number(),
});
const ResultsSchema = z.object({
  format: z.literal(FORMAT),
  measuredAt: z.string(),
  revision: z.string(),
  machine: z.string(),
  engine: z.string(),
  /** Mean number of runnable processes of the machine in the minute before. */
  load: z.number(),
  costs: z
    .object({
      small: CostSchema,
      calls: CostSchema,
      output: CostSchema,
      plot: CostSchema,
      /** A small cell and the checkpoint that follows it. */
      checkpoint: CostSchema,
      /** A small cell of a session that has no sandbox. */
      restore: CostSchema,
      /** A checkpoint that follows a cell, and the end of the idle session. */
      hibernate: CostSchema,
    })
    .optional(),
  memory: z
    .object({
      bridgeMb: z.number(),
      perClientMb: z.number(),
      perSessionMb: z.number(),
      perSandboxMb: z.number(),
      perServerMb: z.number(),
    })
    .optional(),
  search: z.object({ steps: z.array(StepSchema), highest: z.number() }).optional(),
  goal: z
    .object({
      sandboxes: z.number(),
      liveSandboxes: z.number(),
      without: StepSchema,
      beside: StepSchema.optional(),
      missing: z.array(z.string()),
    })
    .optional(),
});

export type Percentiles = z.infer<typeof PercentilesSchema>;
export type Step = z.infer<typeof StepSchema>;
export type Cost = z.infer<typeof CostSchema>;
export type LoadResults = z.infer<typeof ResultsSchema>;
export type Costs = NonNullable<LoadResults['costs']>;

export function createResults(facts: Omit<LoadResults, 'format' | 'measuredAt'>): LoadResults {
  return ResultsSchema.parse({ format: FORMAT, measuredAt: new Date().toISOString(), ...facts });
}

export async function saveResults(file: string, results: LoadResults): Promise<void> {
  await mkdir(dirname(file), { recursive: true });
  await writeFile(file, `${JSON.stringify(results, undefined, 2)}\n`);
}

/** Rejects with an error that names the file if it is not such a file. */
export async function loadResults(file: string): Promise<LoadResults> {
  try {
    return ResultsSchema.parse(JSON.parse(await readFile(file, 'utf8')));
  } catch (error) {
    throw new Error(`${file} is not a file that \`npm run lab -- load --save\` wrote`, { cause: error });
  }
}

/** Percentiles of each kind of cell, and of all cells of live sandboxes. */
export function timesOf({ times }: Pick<Tally, 'times'>): Step['times'] {
  const warm = times.filter(({ isRestored }) => !isRestored);
  const kinds = KIND_NAMES.map((kind) => [kind, percentilesOf(warm.filter((one) => one.kind === kind))] as const);
  return {
    ...Object.fromEntries(kinds),
    warm: percentilesOf(warm),
    restored: percentilesOf(times.filter(({ isRestored }) => isRestored)),
  };
}

function percentilesOf(times: readonly Pick<CellTime, 'ms'>[]): Percentiles | undefined {
  const ms = times.map((time) => time.ms);
  if (ms.length === 0) {
    return undefined;
  }
  const [p50Ms, p95Ms, p99Ms] = [0.5, 0.95, 0.99].map((part) => percentile(ms, part)) as [number, number, number];
  return { count: ms.length, p50Ms, p95Ms, p99Ms };
}
