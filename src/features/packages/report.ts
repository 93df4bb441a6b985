/** What a builder reports: lines of JSON. It handles what an index sends, so every line is checked and bounded. */
import { z } from 'zod';
import { JSON_BOUNDS, readUntrusted } from '../../core/protocol/untrusted-json.ts';
import { isPackageName } from './requirement.ts';

/** Chosen: the packages of the largest sets that people use, with room. */
export const MAX_SET_PACKAGES = 500;
/** Chosen: a store of the default size has fewer. */
export const MAX_SETS = 1_000;

const sha256 = z.string().regex(/^[0-9a-f]{64}$/);

/** One wheel of a set. The keys are those of the lock file. */
export const LockedPackageSchema = z.strictObject({
  name: z.string().refine(isPackageName),
  version: z.string().regex(/^[A-Za-z0-9][A-Za-z0-9.+!_-]{0,99}$/),
  file: z.string().regex(/^[A-Za-z0-9][A-Za-z0-9._+!-]{0,250}\.whl$/),
  url: z.url({ protocol: /^https?$/ }).max(2_000),
  sha256,
});
export type LockedPackage = z.infer<typeof LockedPackageSchema>;

const text = z.string().max(2_000);
const bytes = z.number().nonnegative().max(Number.MAX_SAFE_INTEGER);

const kind = z.enum([
  'network',
  /** The builder has no network but its own loopback. */
  'isolated',
  'index',
  'login',
  'certificate',
  'conflict',
  'missing',
  'age',
  'times',
  'hash',
  'wheel',
  'limit',
  'tool',
  'disk',
  'store',
  'busy',
  'platform',
  'internal',
]);

const ReportSchema = z.discriminatedUnion('type', [
  z.strictObject({
    type: z.literal('progress'),
    stage: z.enum(['tool', 'resolve', 'fetch']),
    names: z.array(text).max(MAX_SET_PACKAGES).optional(),
    done: bytes.optional(),
    total: bytes.optional(),
  }),
  /** What was chosen. The builder fetches nothing before the host agrees. */
  z.strictObject({
    type: z.literal('resolved'),
    packages: z
      .array(
        z.strictObject({
          name: LockedPackageSchema.shape.name,
          version: LockedPackageSchema.shape.version,
          needed_by: z.array(LockedPackageSchema.shape.name).max(MAX_SET_PACKAGES),
        }),
      )
      .max(MAX_SET_PACKAGES),
  }),
  z.strictObject({
    type: z.literal('done'),
    set: sha256.nullable(),
    packages: z.array(LockedPackageSchema).max(MAX_SET_PACKAGES),
    fetched_bytes: bytes,
    python: text,
    /** Of the store, with what is left in it from before. */
    store_bytes: bytes.optional(),
  }),
  z.strictObject({
    type: z.literal('set'),
    id: sha256,
    /** The interpreter and the platform that its wheels were chosen for. */
    python: text,
    packages: z.array(LockedPackageSchema).max(MAX_SET_PACKAGES),
    /** Shared with other sets that have the same wheels. */
    bytes,
    /** Seconds since 1970. */
    made_at: bytes,
    in_use: z.boolean(),
  }),
  z.strictObject({ type: z.literal('listed'), bytes }),
  z.strictObject({
    type: z.literal('removed'),
    sets: z.array(sha256).max(MAX_SETS),
    bytes,
    store_bytes: bytes.optional(),
  }),
  /** Which of the sets that the job names are there, and what kept the indexes from answering. */
  z.strictObject({
    type: z.literal('checked'),
    sets: z.array(sha256).max(MAX_SETS),
    failed: z.strictObject({ kind, reason: text }).nullable(),
  }),
  z.strictObject({ type: z.literal('failed'), kind, reason: text }),
]);
export type Report = z.infer<typeof ReportSchema>;
export type ReportOf<Type extends Report['type']> = Extract<Report, { readonly type: Type }>;

/** The report in a line; undefined if it is not one. */
export function parseReport(line: string): Report | undefined {
  const read = readUntrusted(line, JSON_BOUNDS.publication);
  return read.ok ? ReportSchema.safeParse(read.value).data : undefined;
}
