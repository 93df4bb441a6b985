/**
 * The format of recordings: one JSON object per line. The first one names the format; servers, cells and calls follow in the
 * order in which they were known, began, and ended.
 */
import { z } from 'zod';
import { CELL_STATUSES } from '../../core/base/cell.ts';
import { isObject, type JsonObject } from '../../core/base/is-object.ts';
import type { ServerMetadata } from '../../core/catalog/known.ts';

/** Increase it when an older bridge could misread a recording. */
export const RECORDING_VERSION = 1;

export const SUFFIX = '.jsonl';

const head = z.object({
  type: z.literal('recording'),
  version: z.int().positive(),
  /** Version of the bridge. */
  bridge: z.string(),
  /** ISO 8601. */
  at: z.string(),
});

/** A configured server. A later line about the same server replaces an earlier one. */
const server = z.object({
  type: z.literal('server'),
  name: z.string(),
  description: z.string(),
  cwd: z.string().optional(),
  /** What was known about it; left out if nothing was. Written by the bridge, so it has the shape of the catalog. */
  metadata: z.custom<ServerMetadata>(isObject).optional(),
});

const who = { session: z.string(), generation: z.int(), cell: z.int() };

const cell = z.object({
  type: z.literal('cell'),
  ...who,
  at: z.string(),
  code: z.string(),
  servers: z.array(z.string()),
  timeout_seconds: z.number(),
});

const call = z.object({
  type: z.literal('call'),
  ...who,
  /** Place among all calls of the recording, in the order in which they began. */
  number: z.int(),
  /** Number in its sandbox, as in the audit log; earlier versions left it out. */
  call: z.int().optional(),
  job: z.string().optional(),
  server: z.string(),
  tool: z.string(),
  // Not `z.record`, which leaves out a key `__proto__`.
  arguments: z.custom<JsonObject>(isObject),
  duration_ms: z.number(),
  /** The server's answer; left out if the call failed, or if the result was too large. */
  result: z.unknown().optional(),
  /** The size of a result that was too large. */
  left_out_bytes: z.int().optional(),
  /** Whether the result contains masked secrets, so that it cannot stand for the real one. */
  masked: z.literal(true).optional(),
  error: z
    .object({
      code: z.string(),
      message: z.string(),
      hint: z.string().optional(),
      data: z.record(z.string(), z.unknown()).optional(),
    })
    .optional(),
});

/** A step that was done; only in the file of a run that can go on. */
const step = z.object({
  type: z.literal('step'),
  ...who,
  name: z.string(),
  /** What it is the result of: SHA-256 of its code and its inputs. */
  key: z.string(),
  /** The numbers of the calls that it made. */
  calls: z.array(z.int()),
  /** Base64 of the pickled result, which only a sandbox reads; left out if it is too large, or contains a secret. */
  data: z.string().optional(),
});

const cellEnded = z.object({
  type: z.literal('cell_ended'),
  ...who,
  duration_ms: z.number(),
  status: z.enum(CELL_STATUSES),
  stdout: z.string(),
  value: z.string().optional(),
  /** Without the traceback. */
  error: z.string().optional(),
});

export const RecordedLineSchema = z.discriminatedUnion('type', [head, server, cell, call, step, cellEnded]);

export type RecordedLine = z.infer<typeof RecordedLineSchema>;
export type LineOfType<Type extends RecordedLine['type']> = Extract<RecordedLine, { readonly type: Type }>;
