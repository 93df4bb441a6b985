/**
 * The shape of a policy: `policy.json`, and `policy` in a server's entry. Strict, because a key that is misspelled would
 * otherwise be a rule for more than was meant.
 */
import { z } from 'zod';
import { parseDurationMs, parseSizeBytes } from '../../base/units.ts';
import { EFFECTS } from '../../calls/contract.ts';
import { whyNoFolder } from './paths.ts';

/** Longer patterns are mistakes, and the time of a match grows with them. */
const MAX_PATTERN_CHARS = 256;
const MAX_TEXT_CHARS = 4_096;
/** The calls of a minute are remembered one by one. */
const MAX_CALLS = 100_000;
/** As long as the longest deadline of a server's entry: 24 days, which a timer can hold. */
const MAX_DEADLINE_MS = 24 * 24 * 3_600_000;

const PATTERNS = 'must be a name, which may hold * and ?, or a list of them';
const pattern = z.string().min(1, PATTERNS).max(MAX_PATTERN_CHARS, `must have at most ${MAX_PATTERN_CHARS} characters`);
const patterns = oneOrMore(pattern, PATTERNS);

const scalar = z.union(
  [z.string().max(MAX_TEXT_CHARS), z.number(), z.boolean()],
  'must be a text, a number, true or false',
);

const folder = z
  .string()
  .min(1)
  .max(MAX_TEXT_CHARS)
  .refine((text) => whyNoFolder(text) === undefined, {
    error: ({ input }) => `no path could be compared with this folder, because it ${whyNoFolder(String(input))}`,
  });

const ConditionSchema = z
  .strictObject({
    under: oneOrMore(folder, 'must be a folder or a list of folders').optional(),
    equals: scalar.optional(),
    oneOf: z.array(scalar).min(1).optional(),
    matches: oneOrMore(pattern, PATTERNS).optional(),
    /** Whether a call without the argument fulfils the condition; when left out, that cannot be told. */
    missing: z.boolean().optional(),
  })
  .refine(hasKey, 'must have at least one of under, equals, oneOf, matches and missing');

const AnnotationsSchema = z
  .strictObject({
    readOnlyHint: z.boolean().optional(),
    destructiveHint: z.boolean().optional(),
    idempotentHint: z.boolean().optional(),
    openWorldHint: z.boolean().optional(),
  })
  .refine(hasKey, 'must have at least one of readOnlyHint, destructiveHint, idempotentHint and openWorldHint');

/** Which calls a rule or a limit is about; what is left out is about all. */
const selectors = { tool: patterns.optional(), annotations: AnnotationsSchema.optional() };
const withServer = { server: patterns.optional(), ...selectors };

const ruleKeys = {
  effect: z.enum(EFFECTS, 'must be "allow", "ask" or "deny"'),
  arguments: z.record(z.string().min(1), ConditionSchema).refine(hasKey, 'must name at least one argument').optional(),
  /** For whoever reads the refusal. */
  reason: z.string().max(1_000).optional(),
};

const calls = z
  .int('must be a whole number')
  .min(1, 'must be at least 1')
  .max(MAX_CALLS, `must be at most ${MAX_CALLS}`);
const LIMITS = 'callsPerCell, callsPerMinute, callsInFlight, resultBytes and deadline';
const limitKeys = {
  callsPerCell: calls.optional(),
  callsPerMinute: calls.optional(),
  callsInFlight: calls.optional(),
  resultBytes: unit(
    parseSizeBytes,
    Number.MAX_SAFE_INTEGER,
    'must be a number of bytes, or a size such as "64k" or "1m"',
  ),
  deadline: unit(parseDurationMs, MAX_DEADLINE_MS, 'must be a number of seconds, or a duration such as "30s" or "2m"'),
};
const isLimit = (limit: object): boolean => Object.keys(limitKeys).some((key) => key in limit);
const NO_LIMIT = `must have at least one of ${LIMITS}`;

const common = {
  $schema: z.string().optional(),
  preset: z.enum(['read-only', 'ask-destructive'], 'must be "read-only" or "ask-destructive"').optional(),
  default: z.enum(EFFECTS, 'must be "allow", "ask" or "deny"').optional(),
};
const LIST = 'must be a list';
const TWO_DEFAULTS = 'must not stand beside "preset", which says what happens to calls that no rule decides';

/** `STATE_DIR/policy.json`. */
export const PolicyFileSchema = z
  .strictObject({
    ...common,
    rules: z.array(z.strictObject({ ...ruleKeys, ...withServer }), LIST).default([]),
    limits: z.array(z.strictObject({ ...withServer, ...limitKeys }).refine(isLimit, NO_LIMIT), LIST).default([]),
  })
  .refine(hasOneDefault, { path: ['default'], message: TWO_DEFAULTS });

/** `policy` in the entry of a server, which is about this server alone. */
export const EntryPolicySchema = z
  .strictObject({
    ...common,
    rules: z.array(z.strictObject({ ...ruleKeys, ...selectors }), LIST).default([]),
    limits: z.array(z.strictObject({ ...selectors, ...limitKeys }).refine(isLimit, NO_LIMIT), LIST).default([]),
  })
  .refine(hasOneDefault, { path: ['default'], message: TWO_DEFAULTS });

export type Policy = z.output<typeof PolicyFileSchema>;
export type Rule = Policy['rules'][number];
export type Limit = Policy['limits'][number];
export type Condition = z.output<typeof ConditionSchema>;
export type Annotations = z.output<typeof AnnotationsSchema>;

function hasKey(value: object): boolean {
  return Object.keys(value).length > 0;
}

function hasOneDefault(policy: { readonly preset?: unknown; readonly default?: unknown }): boolean {
  return policy.preset === undefined || policy.default === undefined;
}

/** One value or a list of them, as a list. */
function oneOrMore<Item extends z.ZodType<string, string>>(item: Item, message: string) {
  return z
    .union([item, z.array(item).min(1, message)], message)
    .transform((value): readonly string[] => [value].flat());
}

/** A number with or without a unit, as the number that `parse` makes of it. */
function unit(parse: (text: string) => number, max: number, message: string) {
  return z
    .union([z.number(), z.string()], message)
    .transform((value, context) => {
      const parsed = parse(String(value).trim());
      if (!(parsed >= 1 && parsed <= max)) {
        context.issues.push({ code: 'custom', message, input: value });
        return z.NEVER;
      }
      return parsed;
    })
    .optional();
}
