/**
 * Which tools of a server a client lets its agent call, as a policy of ours. Gemini CLI, Codex, Goose, Windsurf and others each have
 * their own names for the two lists.
 */
import { isObject } from '../../core/base/is-object.ts';
import type { FileObject } from './file-format.ts';

const ONLY = /^(?:included?|enabled|allowed|available)_?tools$/i;
const NEVER = /^(?:excluded?|disabled|blocked|denied)_?tools$/i;
/** Goose writes it into every entry; an empty one means all tools. */
const MEANS_ALL_IF_EMPTY = 'available_tools';
/** As tools are named; other characters may be patterns or arguments. */
const NAME = /^[\w./:-]{1,200}$/;
const MAX_SHOWN = 12;

export interface Restrictions {
  /** The only tools; undefined if there is no such list. */
  readonly only: readonly string[] | undefined;
  readonly never: readonly string[];
}

/** Whether the key of an entry restricts tools. */
export function isRestriction(key: string): boolean {
  return ONLY.test(key) || NEVER.test(key);
}

/** The lists of an entry; undefined if there are none, and the key of one that is not a list of names. */
export function restrictionsOf(entry: FileObject): Restrictions | { readonly wrong: string } | undefined {
  let only: string[] | undefined;
  const never: string[] = [];
  for (const [key, value] of Object.entries(entry)) {
    const isEmpty = Array.isArray(value) && value.length === 0;
    if (!isRestriction(key) || value === null || (isEmpty && (key === MEANS_ALL_IF_EMPTY || NEVER.test(key)))) {
      continue;
    }
    if (!Array.isArray(value) || !value.every((name) => typeof name === 'string' && NAME.test(name))) {
      return { wrong: key };
    }
    if (NEVER.test(key)) {
      never.push(...(value as string[]));
    } else {
      // Of two lists, both hold.
      only = only === undefined ? (value as string[]) : only.filter((name) => value.includes(name));
    }
  }
  return only === undefined && never.length === 0 ? undefined : { only, never };
}

/**
 * The policy that has the same effect. Rules of `own` come after what is forbidden; beside a list of the only tools there can be none,
 * because the first rule that matches decides: undefined.
 */
export function policyOf({ never, only }: Restrictions, own: unknown): FileObject | undefined {
  // In a policy, `a.b` is the tool b of the server a.
  const tool = never.map((name) => name.replaceAll('.', '?'));
  const denied = never.length === 0 ? [] : [{ effect: 'deny', tool, reason: 'its client forbids it' }];
  if (only === undefined) {
    const policy = own === undefined ? {} : own;
    const rules = isObject(policy) ? (policy['rules'] ?? []) : undefined;
    return isObject(policy) && Array.isArray(rules) ? { ...policy, rules: [...denied, ...rules] } : undefined;
  }
  const allowed = only.length === 0 ? [] : [{ effect: 'allow', tool: only }];
  return own === undefined ? { rules: [...denied, ...allowed], default: 'deny' } : undefined;
}

/** `code may call only a, b, and not c`. */
export function describeRestrictions({ never, only }: Restrictions): string {
  const all = only === undefined ? '' : only.length === 0 ? 'no tool' : `only ${list(only)}`;
  const rest = never.length === 0 ? '' : `not ${list(never)}`;
  return `code may call ${[all, rest].filter((part) => part !== '').join(', and ')}`;
}

function list(names: readonly string[]): string {
  const more = names.length - MAX_SHOWN;
  return names.slice(0, MAX_SHOWN).join(', ') + (more > 0 ? ` and ${more} more` : '');
}
