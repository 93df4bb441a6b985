/**
 * The shape of one entry of `mcpServers`. Files written for other clients are accepted as they are: keys that are not
 * known here are allowed, and numbers and booleans in `args` and `env` are taken as text.
 */
import { z } from 'zod';
import { parseDurationMs } from '../base/units.ts';

/** setTimeout fires at once beyond 2^31-1 ms, about 24.8 days. */
const MAX_TIMEOUT_MS = 24 * 24 * 3_600_000;
const NUL = '\0';

export const text = z.string().refine((value) => !value.includes(NUL), 'must not hold a NUL character');
export const scalar = z.union([text, z.number(), z.boolean()], 'must be a string').transform(String);

const timeoutMs = z
  .union([z.number(), z.string()], 'must be a number of seconds such as 30, or a duration such as "30s" or "2m"')
  .transform((value, context) => {
    const ms = parseDurationMs(String(value).trim());
    if (!(ms >= 1 && ms <= MAX_TIMEOUT_MS)) {
      const message = 'must be a number of seconds such as 30, or a duration such as "30s" or "2m", at most 24 days';
      context.issues.push({ code: 'custom', message, input: value });
      return z.NEVER;
    }
    return ms;
  });

/** Keys that every entry may have. */
export const COMMON_ENTRY_KEYS = {
  description: z.string().optional(),
  disabled: z.boolean().optional(),
  timeout: timeoutMs.optional(),
  pin: z.enum(['off', 'warn', 'strict'], 'must be off, warn or strict').optional(),
  /** Checked where policies are: a mistake in it must not take the entry away, and with it the policy. */
  policy: z.unknown().optional(),
};

/** One entry of `mcpServers` that starts a process. `timeout` comes out as milliseconds per call. */
export const ServerEntrySchema = z.looseObject({
  command: text.min(1, 'must name a program'),
  args: z.array(scalar).default([]),
  env: z.record(z.string().regex(/^[^=\0]+$/, 'must be a variable name'), scalar).default({}),
  cwd: text.min(1, 'must name a folder').optional(),
  ...COMMON_ENTRY_KEYS,
});

export type ServerEntry = z.infer<typeof ServerEntrySchema>;

/** Keys of an entry that mean something here; others are reported at debug level. */
export const KNOWN_ENTRY_KEYS: ReadonlySet<string> = new Set(Object.keys(ServerEntrySchema.shape));
