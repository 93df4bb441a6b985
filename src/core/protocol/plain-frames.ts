/**
 * Recognizes the frames that a sandbox sends most, in the form that the kernel gives them. The schemas of `frames.ts` decide about
 * all others, and about every frame that looks unusual, so whatever is accepted here, they accept unchanged; a test compares them.
 * A check by a schema takes ten times as long and 2 KB of memory (measured), for each of 1,000 calls of one gather.
 */
import { isObject } from '../base/is-object.ts';
import type { SandboxFrame } from './frames.ts';

type Check = (value: unknown) => boolean;

const isCount: Check = (value) => Number.isSafeInteger(value) && (value as number) >= 0;
const isStep: Check = (value) => isCount(value) && value !== 0;
const isText: Check = (value) => typeof value === 'string';
/** For `max(64)` of the schema. */
const isShortText: Check = (value) => typeof value === 'string' && value.length <= 64;
/** A schema leaves out a key `__proto__`. */
const isRecord: Check = (value) => isObject(value) && !Object.hasOwn(value, '__proto__');
const isStream: Check = (value) => value === 'stdout' || value === 'stderr';

interface Plain {
  readonly required: readonly string[];
  /** By key. */
  readonly members: ReadonlyMap<string, Check>;
}

function plain(required: Readonly<Record<string, Check>>, optional: Readonly<Record<string, Check>> = {}): Plain {
  const all = { type: isText, ...required, ...optional };
  return { required: Object.keys(required), members: new Map(Object.entries(all)) };
}

/** A result with an error or with names is rare enough for its schema. */
const PLAIN: ReadonlyMap<unknown, Plain> = new Map<SandboxFrame['type'], Plain>([
  ['call', plain({ call: isCount, method: isShortText, params: isRecord }, { job: isShortText, step: isStep })],
  ['cancel_call', plain({ call: isCount })],
  ['output', plain({ cell: isCount, stream: isStream, text: isText })],
  ['result', plain({ cell: isCount, outcome: (value) => value === 'ok' }, { value: isText })],
]);

/** Whether it certainly is a valid frame. False says nothing. */
export function isPlainSandboxFrame(value: unknown): value is SandboxFrame {
  const known = isObject(value) ? PLAIN.get(value['type']) : undefined;
  if (known === undefined || !isObject(value)) {
    return false;
  }
  for (const key in value) {
    if (known.members.get(key)?.(value[key]) !== true) {
      return false;
    }
  }
  return known.required.every((key) => value[key] !== undefined);
}
