/** Checks what stands in a file as a policy. */
import { explainZodIssues } from '../../base/config-issue.ts';
import type { PolicyPlace } from './rules.ts';
import { EntryPolicySchema, type Policy, PolicyFileSchema } from './schema.ts';

/** A policy as it was read, or why it cannot be used: then every call it is about is refused. */
export type ReadPolicy = { readonly place: PolicyPlace } & ({ readonly policy: Policy } | { readonly problem: string });

/** Faults named in one message; more are rarely mended at once. */
const MAX_FAULTS = 3;

/**
 * @param keys what leads to the policy in its file; none when the file is one.
 */
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
