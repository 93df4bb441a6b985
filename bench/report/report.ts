/** The figures of one run as a file, with the facts that say which figures can be compared. */
import { execFileSync } from 'node:child_process';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { cpus, loadavg, release, totalmem } from 'node:os';
import { dirname } from 'node:path';
import { fileURLToPath } from 'node:url';
import * as z from 'zod';
import { PACKAGE_ROOT } from '../../src/core/base/package.ts';
import { type Row, UNITS } from '../rows.ts';

const FORMAT = 1;

const QuantitySchema = z.object({ value: z.number(), unit: z.enum(UNITS) });
const LoadSchema = z.tuple([z.number(), z.number(), z.number()]);

const ReportSchema = z.object({
  format: z.literal(FORMAT),
  measuredAt: z.string(),
  /** The commit, with `+changes` if files differ from it; `unknown` outside a checkout. */
  revision: z.string(),
  machine: z.object({
    processor: z.string(),
    cores: z.number(),
    memoryMb: z.number(),
    kernel: z.string(),
    node: z.string(),
    /** Engine and image of the run. */
    engine: z.string(),
  }),
  /** Mean number of runnable processes over 1, 5 and 15 minutes. */
  load: z.object({ begin: LoadSchema, end: LoadSchema }),
  isQuick: z.boolean(),
  rows: z.array(
    z.object({
      figure: z.string(),
      engine: z.string().optional(),
      measured: QuantitySchema.optional(),
      detail: z.string().optional(),
      floor: QuantitySchema.extend({ what: z.string() }).optional(),
      goals: z.array(z.object({ text: z.string(), isMet: z.boolean() })),
    }),
  ),
});

export type Report = z.infer<typeof ReportSchema>;
export type Load = Report['load']['begin'];

export function loadNow(): Load {
  const [one = 0, five = 0, fifteen = 0] = loadavg();
  return [one, five, fifteen];
}

export function machineFacts(engine: string): Report['machine'] {
  return {
    processor: cpus()[0]?.model ?? 'unknown',
    cores: cpus().length,
    memoryMb: Math.round(totalmem() / 1e6),
    kernel: release(),
    node: process.version,
    engine,
  };
}

export function createReport(
  facts: Pick<Report, 'machine' | 'load' | 'isQuick'>,
  rows: readonly Row[],
  revision = currentRevision(),
): Report {
  const measuredAt = new Date().toISOString();
  return ReportSchema.parse({ format: FORMAT, measuredAt, revision, ...facts, rows });
}

export async function saveReport(file: string, report: Report): Promise<void> {
  await mkdir(dirname(file), { recursive: true });
  await writeFile(file, `${JSON.stringify(report, undefined, 2)}\n`);
}

/** Rejects with an error that names the file if it is not such a report. */
export async function loadReport(file: string): Promise<Report> {
  const text = await readFile(file, 'utf8');
  try {
    return ReportSchema.parse(JSON.parse(text));
  } catch (error) {
    throw new Error(`${file} is not a file that \`npm run bench -- --save\` wrote`, { cause: error });
  }
}

/** One line: when, what and where. */
export function describeReport({ measuredAt, revision, machine, load, isQuick }: Report): string {
  const { processor, cores, kernel, node, engine } = machine;
  return [
    measuredAt,
    `revision ${revision}`,
    `${processor}, ${cores} cores, Linux ${kernel}, Node ${node}`,
    engine,
    `load ${load.begin[0].toFixed(1)} at the start, ${load.end[0].toFixed(1)} at the end`,
    ...(isQuick ? ['quick'] : []),
  ].join('; ');
}

/** The checked-out commit of this package. */
export function currentRevision(): string {
  const git = (...args: string[]): string =>
    execFileSync('git', args, { cwd: fileURLToPath(PACKAGE_ROOT), encoding: 'utf8', stdio: 'pipe' }).trim();
  try {
    const hasChanges = git('status', '--porcelain', '--untracked-files=no') !== '';
    return `${git('rev-parse', '--short=12', 'HEAD')}${hasChanges ? '+changes' : ''}`;
  } catch {
    return 'unknown'; // The package is not in a checkout, or there is no git.
  }
}
