/**
 * The schema of a policy, for `policy.json` and for `policy` in a server's entry, and its validation. Unknown keys are
 * errors, because a rule with a misspelled key would match more than intended.
 */
import { z } from 'zod';
import { explainZodIssues } from '../../../core/base/config-issue.ts';
import { whyNoSpecifier } from '../../../core/base/package-versions.ts';
import { parseDurationMs, parseSizeBytes } from '../../../core/base/units.ts';
import { EFFECTS } from '../../../core/calls/contract.ts';
import { whyNoFolder } from './paths.ts';

/** Longer patterns are mistakes, and matching them takes longer. */
const MAX_PATTERN_CHARS = 256;
const MAX_TEXT_CHARS = 4_096;
/** Bounded because the time of each call in the last minute is kept. */
const MAX_CALLS = 100_000;
/** 24 days, which fits a timer; the longest deadline in a server's entry is the same. */
const MAX_DEADLINE_MS = 24 * 24 * 3_600_000;

const PATTERNS = 'must be a name or a pattern with * and ?, or a list of them';
const pattern = z.string().min(1, PATTERNS).max(MAX_PATTERN_CHARS, `must have at most ${MAX_PATTERN_CHARS} characters`);
const serverPatterns = oneOrMore(patternUnless(whyNoName), PATTERNS);
const toolPatterns = oneOrMore(patternUnless(whyNoTool), PATTERNS);

/** JSON readers round larger ones, so the rule would compare with a number that nobody wrote. */
const number = z
  .number()
  .refine((value) => !Number.isInteger(value) || Number.isSafeInteger(value), 'is too large to be compared exactly');
const scalar = z.union(
  [z.string().max(MAX_TEXT_CHARS), number, z.boolean()],
  'must be a string, a number, true or false',
);

const folder = z
  .string()
  .min(1)
  .max(MAX_TEXT_CHARS)
  .refine((text) => whyNoFolder(text) === undefined, {
    error: ({ input }) => `cannot be compared with paths, because it ${whyNoFolder(String(input))}`,
  });

const ConditionSchema = z
  .strictObject({
    under: oneOrMore(folder, 'must be a folder or a list of folders').optional(),
    equals: scalar.optional(),
    oneOf: z.array(scalar).min(1).optional(),
    matches: oneOrMore(patternUnless(whyNoText), PATTERNS).optional(),
    /** Whether a call without the argument meets the condition; if this is left out, the condition cannot be checked. */
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

/** Names of arguments, as in `arguments`. A JSONPath would name an argument that no tool has. */
const argumentName = z
  .string()
  .min(1)
  .refine((name) => !/^\$[.[]/.test(name), 'is a JSONPath; write a JSON pointer, such as /options/path');

/** Which calls a rule or limit matches; a key that is left out matches all. */
const selectors = { tool: toolPatterns.optional(), annotations: AnnotationsSchema.optional() };
const withServer = { server: serverPatterns.optional(), ...selectors };

const ruleKeys = {
  effect: z.enum(EFFECTS, 'must be "allow", "ask", "dry-run" or "deny"'),
  arguments: z.record(argumentName, ConditionSchema).refine(hasKey, 'must name at least one argument').optional(),
  /** Shown to whoever reads the refusal. */
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

const packageRule = z.strictObject({
  effect: z.enum(['allow', 'ask', 'deny'], 'must be "allow", "ask" or "deny"'),
  /** Names, written in any of the ways that Python takes for the same. */
  package: oneOrMore(patternUnless(whyNoPackage), PATTERNS),
  /** Only these versions, such as `<3`. */
  version: z
    .string()
    .max(MAX_PATTERN_CHARS)
    .refine((text) => whyNoSpecifier(text) === undefined, {
      error: ({ input }) => `cannot be compared, because ${whyNoSpecifier(String(input))}`,
    })
    .optional(),
  reason: ruleKeys.reason,
});

const common = {
  $schema: z.string().optional(),
  preset: z.enum(['read-only', 'ask-destructive'], 'must be "read-only" or "ask-destructive"').optional(),
  default: z.enum(EFFECTS, 'must be "allow", "ask", "dry-run" or "deny"').optional(),
};
const LIST = 'must be a list';
const TWO_DEFAULTS = 'cannot be combined with "preset", which already decides the calls that no rule matches';

/** A part of a path and of an option. */
export const PROFILE_NAME = /^[a-z0-9](?:[a-z0-9._-]{0,62}[a-z0-9])?$/;

/** A subset of servers and tools. Outside of it, nothing exists. */
const profile = z.strictObject({
  servers: serverPatterns,
  /** All tools, resources and prompts of these servers if left out. */
  tools: toolPatterns.optional(),
});

/** `STATE_DIR/policy.json`. */
export const PolicyFileSchema = z
  .strictObject({
    ...common,
    rules: z.array(z.strictObject({ ...ruleKeys, ...withServer }), LIST).default([]),
    limits: z.array(z.strictObject({ ...withServer, ...limitKeys }).refine(isLimit, NO_LIMIT), LIST).default([]),
    packages: z.array(packageRule, LIST).default([]),
    profiles: z
      .record(
        z.string().regex(PROFILE_NAME, 'must be lower-case letters, digits, dots, hyphens and underscores'),
        profile,
      )
      .default({}),
  })
  .refine(hasOneDefault, { path: ['default'], message: TWO_DEFAULTS });

/** `policy` in a server's entry, which applies to this server only. */
export const EntryPolicySchema = z
  .strictObject({
    ...common,
    rules: z.array(z.strictObject({ ...ruleKeys, ...selectors }), LIST).default([]),
    limits: z.array(z.strictObject({ ...selectors, ...limitKeys }).refine(isLimit, NO_LIMIT), LIST).default([]),
  })
  .refine(hasOneDefault, { path: ['default'], message: TWO_DEFAULTS });

type FilePolicy = z.output<typeof PolicyFileSchema>;
export type PackageRule = FilePolicy['packages'][number];
export type ProfileRule = FilePolicy['profiles'][string];
/** That of a server's entry has no rules about packages, and no profiles. */
export type Policy = Omit<FilePolicy, 'packages' | 'profiles'> & Partial<Pick<FilePolicy, 'packages' | 'profiles'>>;
export type Rule = Policy['rules'][number];
export type Limit = Policy['limits'][number];
export type Condition = z.output<typeof ConditionSchema>;
export type Annotations = z.output<typeof AnnotationsSchema>;

/** Where a policy comes from. */
export interface PolicyPlace {
  /** Absolute path. */
  readonly file: string;
  /** Position in the file, such as `mcpServers.files.policy`; empty if the policy is the whole file. */
  readonly path: string;
}

/** `rules[1] of FILE (mcpServers.files.policy)`. */
export function placed({ file, path }: PolicyPlace, what: string | undefined): string {
  return `${what === undefined ? '' : `${what} of `}${file}${path === '' ? '' : ` (${path})`}`;
}

/** A valid policy, or why it cannot be used: then every call it applies to is refused. */
export type ReadPolicy = { readonly place: PolicyPlace } & ({ readonly policy: Policy } | { readonly problem: string });

/** Errors named in one message; people rarely fix more at once. */
const MAX_FAULTS = 3;

/** @param keys the path to the policy in its file; empty if the policy is the whole file. */
export function readPolicy(value: unknown, file: string, keys: readonly string[] = []): ReadPolicy {
  const place: PolicyPlace = { file, path: keys.length === 0 ? '' : keys.join('.') };
  const schema = keys.length === 0 ? PolicyFileSchema : EntryPolicySchema;
  const parsed = schema.safeParse(value);
  if (parsed.success) {
    return { place, policy: parsed.data };
  }
  const issues = explainZodIssues(parsed.error, file, keys);
  const more = issues.length > MAX_FAULTS ? [`and ${issues.length - MAX_FAULTS} more`] : [];
  const faults = issues
    .slice(0, MAX_FAULTS)
    .map(({ path, message }) => (path === '' ? message : `${path}: ${message}`));
  return { place, problem: `${file}: ${[...faults, ...more].join('; ')}` };
}

function patternUnless(why: (text: string) => string | undefined) {
  return pattern.refine((text) => why(text) === undefined, {
    error: ({ input }) => `cannot match ${why === whyNoText ? 'as meant' : 'a name'}, because ${why(String(input))}`,
  });
}

/** A regular expression, which would hardly match any text as a pattern. */
function whyNoText(text: string): string | undefined {
  return /^\^|\.\*\$$|\\[dws.]/.test(text)
    ? 'it is a regular expression, which has no meaning here: only * and ? do'
    : undefined;
}

function whyNoName(text: string): string | undefined {
  return text.trim() === text ? undefined : 'it starts or ends with a space';
}

/** Why a pattern is certainly a mistake. A tool with such a name can still be matched, with `?` for the character. */
function whyNoTool(text: string): string | undefined {
  const [regular] = /[\^$\\]/.exec(text) ?? [];
  if (regular !== undefined) {
    return `it contains '${regular}', which has no meaning here: only * and ? do`;
  }
  const [separator] = /[|,]/.exec(text) ?? [];
  if (separator !== undefined) {
    return `it contains '${separator}'; write several names as a list`;
  }
  return /^\.|\.$/.test(text) ? 'there is nothing before its first dot or after its last' : whyNoName(text);
}

/** Why no package can match. */
function whyNoPackage(text: string): string | undefined {
  return /^[A-Za-z0-9._*?-]+$/.test(text)
    ? undefined
    : 'names of packages have only letters, digits, dots, hyphens and underscores; write versions in "version"';
}

function hasKey(value: object): boolean {
  return Object.keys(value).length > 0;
}

function hasOneDefault(policy: { readonly preset?: unknown; readonly default?: unknown }): boolean {
  return policy.preset === undefined || policy.default === undefined;
}

/** A value or a list of values, parsed to a list. */
function oneOrMore<Item extends z.ZodType<string, string>>(item: Item, message: string) {
  return z
    .union([item, z.array(item).min(1, message)], message)
    .transform((value): readonly string[] => [value].flat());
}

/** A number, or a string with a unit, that `parse` converts. */
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
