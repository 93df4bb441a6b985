/**
 * Fingerprints of tools: SHA-256 of each part of a definition as the server said it, before anything was cut or made
 * visible, so that two differ whenever the server says something else. The order of keys, and white space, do not count.
 */
import { createHash } from 'node:crypto';
import type { JsonObject } from '../base/is-object.ts';
import { isCarriedNumber, stringifyExact } from '../protocol/exact-json.ts';

/** The parts that have a hash of their own, as servers name them and as people do. */
const PARTS = {
  title: 'title',
  description: 'description',
  inputSchema: 'input schema',
  outputSchema: 'output schema',
  annotations: 'annotations',
} as const;

const SEPARATOR = '.';

/** Members of a tool that were not read whole, by their name: the hashes of their bytes. */
export type CutMembers = Readonly<Record<string, string>>;

/** One hash per part, in a fixed order and separated; empty for a part that the tool does not have. */
export function fingerprintTool(tool: JsonObject, cut: CutMembers = {}): string {
  return Object.keys(PARTS)
    .map((part) => cut[part] ?? (tool[part] === undefined ? '' : hashOf(canonicalJson(tool[part]))))
    .join(SEPARATOR);
}

/** What differs between two fingerprints, in words; empty when they are the same. */
export function changedParts(before: string, after: string): string[] {
  const [old, now] = [before, after].map((fingerprint) => fingerprint.split(SEPARATOR));
  return Object.values(PARTS).filter((_, index) => old?.[index] !== now?.[index]);
}

export function hashOf(content: string | Buffer): string {
  return createHash('sha256').update(content).digest('base64url');
}

/** Text that stands in the output as it is. */
class Token {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }
}

const COMMA = new Token(',');
const END_OF_ARRAY = new Token(']');
const END_OF_OBJECT = new Token('}');

/** JSON with sorted keys. With a stack of its own: a server may nest deeper than functions can call each other. */
function canonicalJson(root: unknown): string {
  const pieces: string[] = [];
  const rest: unknown[] = [root];
  while (rest.length > 0) {
    const value = rest.pop();
    if (value instanceof Token) {
      pieces.push(value.text);
    } else if (typeof value !== 'object' || value === null) {
      pieces.push(JSON.stringify(value) ?? 'null');
    } else if (Array.isArray(value)) {
      pieces.push('[');
      pushElements(rest, value);
    } else if (isCarriedNumber(value)) {
      pieces.push(stringifyExact(value));
    } else {
      pieces.push('{');
      pushMembers(rest, value as Record<string, unknown>);
    }
  }
  return pieces.join('');
}

/** Puts what follows the opening bracket on the stack, last first. */
function pushElements(rest: unknown[], value: readonly unknown[]): void {
  rest.push(END_OF_ARRAY);
  for (let index = value.length - 1; index >= 0; index -= 1) {
    rest.push(value[index]);
    if (index > 0) {
      rest.push(COMMA);
    }
  }
}

function pushMembers(rest: unknown[], value: Readonly<Record<string, unknown>>): void {
  const keys = Object.keys(value).toSorted();
  rest.push(END_OF_OBJECT);
  for (let index = keys.length - 1; index >= 0; index -= 1) {
    const key = keys[index] ?? '';
    rest.push(value[key], new Token(`${index > 0 ? ',' : ''}${JSON.stringify(key)}:`));
  }
}
