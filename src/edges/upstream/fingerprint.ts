/**
 * Fingerprints of tools: the SHA-256 of each part of a definition as the server sent it, before anything is cut or made
 * visible. Any change to these parts changes the fingerprint, except in the order of keys and in white space.
 */
import { createHash } from 'node:crypto';
import type { JsonObject } from '../../core/base/is-object.ts';
import { isCarriedNumber, stringifyExact } from '../../core/protocol/exact-json.ts';

/** The parts with their own hash: their names in the protocol and for people. */
const PARTS = {
  title: 'title',
  description: 'description',
  inputSchema: 'input schema',
  outputSchema: 'output schema',
  annotations: 'annotations',
} as const;

const SEPARATOR = '.';

/** Members of a tool that were not parsed whole: the hashes of their bytes, by name. */
export type CutMembers = Readonly<Record<string, string>>;

/** The hashes of all parts in a fixed order, separated; empty for a part that the tool lacks. */
export function fingerprintTool(tool: JsonObject, cut: CutMembers = {}): string {
  return Object.keys(PARTS)
    .map((part) => cut[part] ?? (tool[part] === undefined ? '' : hashOf(canonicalJson(tool[part]))))
    .join(SEPARATOR);
}

/** The names of the parts that differ between two fingerprints; empty if they are equal. */
export function changedParts(before: string, after: string): string[] {
  const [old, now] = [before, after].map((fingerprint) => fingerprint.split(SEPARATOR));
  return Object.values(PARTS).filter((_, index) => old?.[index] !== now?.[index]);
}

export function hashOf(content: string | Buffer): string {
  return createHash('sha256').update(content).digest('base64url');
}

/** Text that is copied to the output unchanged. */
class Token {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }
}

const COMMA = new Token(',');
const END_OF_ARRAY = new Token(']');
const END_OF_OBJECT = new Token('}');

/** JSON with sorted keys. It keeps its own stack, because a server may nest values deeper than the call stack allows. */
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

/** Pushes what follows the opening bracket onto the stack, last first. */
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
