/**
 * The schema of one entry of `mcpServers`. Files written for other clients are accepted: unknown keys are allowed, and numbers
 * and booleans in `args` and `env` are converted to strings.
 */
import { z } from 'zod';
import { parseDurationMs } from '../../core/base/units.ts';
import { SubcommandsSchema } from './subcommands.ts';

/** Beyond 2^31-1 ms, which is 24.8 days, `setTimeout` fires immediately. */
export const MAX_CALL_TIMEOUT_MS = 24 * 24 * 3_600_000;
const NUL = '\0';

export const text = z.string().refine((value) => !value.includes(NUL), 'must not contain a NUL character');
export const scalar = z.union([text, z.number(), z.boolean()], 'must be a string').transform(String);

const timeoutMs = z
  .union([z.number(), z.string()], 'must be a number of seconds such as 30, or a duration such as "30s" or "2m"')
  .transform((value, context) => {
    const ms = parseDurationMs(String(value).trim());
    if (!(ms >= 1 && ms <= MAX_CALL_TIMEOUT_MS)) {
      const message = 'must be a number of seconds such as 30, or a duration such as "30s" or "2m", at most 24 days';
      context.issues.push({ code: 'custom', message, input: value });
      return z.NEVER;
    }
    return ms;
  });

/** The keys that every entry may have. */
export const COMMON_ENTRY_KEYS = {
  description: z.string().optional(),
  disabled: z.boolean().optional(),
  timeout: timeoutMs.optional(),
  pin: z.enum(['off', 'warn', 'strict'], 'must be off, warn or strict').optional(),
  /** The entry of the same file whose keys it has as well; already applied (extended-entries.ts). */
  extends: z.string().optional(),
  /** Whose connection, login and secrets it has: those of the operator by default. */
  per: z.literal('user', 'must be "user"; leave it out for a server that all share').optional(),
  /** Checked with the other policies: a mistake in it must not remove the entry, and the policy with it. */
  policy: z.unknown().optional(),
  /** The registry's name and version of a server that was found there, for `servers update`. */
  source: z.unknown().optional(),
};

/** One entry of `mcpServers` that starts a process. `timeout` is converted to milliseconds per call. */
export const ServerEntrySchema = z.looseObject({
  command: text.min(1, 'must name a program'),
  args: z.array(scalar).default([]),
  env: z.record(z.string().regex(/^[^=\0]+$/, 'must be a variable name'), scalar).default({}),
  cwd: text.min(1, 'must name a folder').optional(),
  /** The program is no MCP server: each call runs it once. */
  subcommands: SubcommandsSchema.optional(),
  ...COMMON_ENTRY_KEYS,
});

export type ServerEntry = z.infer<typeof ServerEntrySchema>;

/** The keys that the bridge uses; others are reported at debug level. */
export const KNOWN_ENTRY_KEYS: ReadonlySet<string> = new Set(Object.keys(ServerEntrySchema.shape));
