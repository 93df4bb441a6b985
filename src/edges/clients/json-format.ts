/**
 * JSON as clients read it: comments and trailing commas are allowed and preserved. The library's own `modify` reformats the
 * neighbors of an entry, so edits are made in the text here.
 */
import {
  createScanner,
  findNodeAtLocation,
  type Node,
  type ParseError,
  parseTree,
  printParseErrorCode,
} from 'jsonc-parser';
import { isObject } from '../../core/base/is-object.ts';
import { type FileFormat, type FileObject, FileSyntaxError, positionAt, UnsafeEditError } from './file-format.ts';

const PARSE_OPTIONS = { allowTrailingComma: true };

export const jsonFormat = {
  parse: parseJson,
  /** `value` may be any JSON value, not only an entry. */
  add(text, { keys, name }, value: unknown) {
    if (text.trim() === '') {
      return `${JSON.stringify(nest([...keys, name], value), undefined, 2)}\n`;
    }
    // Add the missing keys to the innermost object that exists.
    const root = parseTree(text, [], PARSE_OPTIONS);
    for (let depth = keys.length; depth >= 0; depth -= 1) {
      const object = root && findNodeAtLocation(root, keys.slice(0, depth));
      const [key = name, ...inner] = [...keys, name].slice(depth);
      if (object?.type === 'object') {
        return addProperty(text, object, key, nest(inner, value));
      }
      if (object !== undefined) {
        // `null`, which means the same as a missing key.
        return splice(text, object.offset, object.offset + object.length, JSON.stringify(nest([key, ...inner], value)));
      }
    }
    throw new UnsafeEditError('it does not contain an object');
  },
  remove(text, { keys, name }) {
    const root = parseTree(text, [], PARSE_OPTIONS);
    const property = root && findNodeAtLocation(root, [...keys, name])?.parent;
    if (property === undefined) {
      throw new UnsafeEditError(`"${name}" was not found`);
    }
    return removeProperty(text, property);
  },
} satisfies FileFormat;

function parseJson(text: string): FileObject {
  if (text.trim() === '') {
    return {};
  }
  const errors: ParseError[] = [];
  const tree = parseTree(text, errors, PARSE_OPTIONS);
  const [first] = errors;
  if (first !== undefined) {
    throw new FileSyntaxError(`is not JSON: ${explain(first)}`, positionAt(text, first.offset));
  }
  const root = tree && valueOf(tree);
  if (!isObject(root)) {
    throw new FileSyntaxError('must contain an object', { line: 1, column: 1 });
  }
  return root;
}

/** Like the library's `getNodeValue`, which however sets the prototype for a key `__proto__`. */
function valueOf({ children = [], type, value }: Node): unknown {
  switch (type) {
    case 'array':
      return children.map(valueOf);
    case 'object':
      return Object.fromEntries(
        children.map(({ children: [key, member] = [] }) => [key?.value, member && valueOf(member)]),
      );
    default:
      return value;
  }
}

/** `CommaExpected` as words. */
function explain({ error }: ParseError): string {
  return printParseErrorCode(error)
    .replace(/(?<=[a-z])(?=[A-Z])/g, ' ')
    .toLowerCase();
}

function nest(keys: readonly string[], value: unknown): unknown {
  return keys.reduceRight((inner, key) => ({ [key]: inner }), value);
}

/** Adds the last property, on its own lines if the others are on their own lines. */
function addProperty(text: string, object: Node, key: string, value: unknown): string {
  const lastProperty = object.children?.at(-1);
  if (lastProperty === undefined) {
    return addFirst(text, object, key, value);
  }
  const end = lastProperty.offset + lastProperty.length;
  const comma = commaAfter(text, end);
  const after = comma === undefined ? end : comma + 1;
  const indent = indentAt(text, lastProperty.offset);
  if (indent === undefined) {
    const property = ` ${JSON.stringify(key)}: ${JSON.stringify(value)}`;
    return comma === undefined ? splice(text, end, end, `,${property}`) : splice(text, after, after, `${property},`);
  }
  const block = `${eolOf(text)}${renderProperty(text, indent, key, value)}`;
  // A comment at the end of the last line belongs to that line.
  const lineEnd = endOfLineAfter(text, after) ?? after;
  const added = splice(text, lineEnd, lineEnd, comma === undefined ? block : `${block},`);
  return comma === undefined ? splice(added, end, end, ',') : added;
}

function addFirst(text: string, object: Node, key: string, value: unknown): string {
  const close = object.offset + object.length - 1;
  const inside = text.slice(object.offset + 1, close);
  const base = /^[ \t]*/.exec(text.slice(text.lastIndexOf('\n', object.offset) + 1))?.[0] ?? '';
  const property = renderProperty(text, base + indentUnit(text), key, value);
  const kept = inside.trimEnd();
  return splice(text, object.offset + 1 + kept.length, close, `${eolOf(text)}${property}${eolOf(text)}${base}`);
}

function renderProperty(text: string, indent: string, key: string, value: unknown): string {
  const lines = JSON.stringify({ [key]: value }, undefined, indentUnit(text))
    .split('\n')
    .slice(1, -1);
  const [first = ''] = lines;
  const own = /^\s*/.exec(first)?.[0].length ?? 0;
  return lines.map((line) => indent + line.slice(own)).join(eolOf(text));
}

function removeProperty(text: string, property: Node): string {
  const siblings = property.parent?.children ?? [];
  const index = siblings.indexOf(property);
  const [previous, next] = [siblings[index - 1], siblings[index + 1]];
  const end = property.offset + property.length;
  const comma = commaAfter(text, end);
  const after = comma === undefined ? end : comma + 1;
  const lineEnd = endOfLineAfter(text, after);
  let rest: string;
  if (indentAt(text, property.offset) !== undefined && lineEnd !== undefined) {
    const lineStart = text.lastIndexOf('\n', property.offset) + 1;
    rest = splice(text, lineStart, Math.min(text.length, lineEnd + eolLength(text, lineEnd)), '');
  } else if (next !== undefined) {
    rest = splice(text, property.offset, next.offset, '');
  } else {
    // The previous property keeps the comma that follows, if any; without a previous one, the comma goes as well.
    return previous === undefined
      ? splice(text, property.offset, after, '')
      : splice(text, previous.offset + previous.length, end, '');
  }
  // The new last property must not end with a comma if the removed one did not.
  const leftOver = next === undefined && comma === undefined && previous !== undefined;
  const before = leftOver ? commaAfter(rest, previous.offset + previous.length) : undefined;
  return before === undefined ? rest : splice(rest, before, before + 1, '');
}

/** The offset of the comma after a value, skipping comments. */
function commaAfter(text: string, offset: number): number | undefined {
  const scanner = createScanner(text, true);
  scanner.setPosition(offset);
  scanner.scan();
  return text[scanner.getTokenOffset()] === ',' ? scanner.getTokenOffset() : undefined;
}

/** The end of the line if only spaces and comments follow on it; otherwise undefined. */
function endOfLineAfter(text: string, offset: number): number | undefined {
  const rest = /^(?:[ \t]|\/\*(?:(?!\*\/)[^\r\n])*\*\/|\/\/[^\r\n]*)*(?=\r?\n|$)/.exec(text.slice(offset));
  return rest === null ? undefined : offset + rest[0].length;
}

/** The indentation of the line if only comments come before the offset on it; otherwise undefined. */
function indentAt(text: string, offset: number): string | undefined {
  const lineBreak = text.lastIndexOf('\n', offset - 1);
  const before = /^([ \t]*)(?:\/\*(?:(?!\*\/).)*\*\/[ \t]*)*$/.exec(text.slice(lineBreak + 1, offset));
  return lineBreak === -1 ? undefined : before?.[1];
}

/** One level of indentation in the file; two spaces if it has none. */
function indentUnit(text: string): string {
  return /^([ \t]+)["}]/m.exec(text)?.[1] ?? '  ';
}

function eolOf(text: string): string {
  return text.includes('\r\n') ? '\r\n' : '\n';
}

function eolLength(text: string, offset: number): number {
  return text.startsWith('\r\n', offset) ? 2 : 1;
}

function splice(text: string, from: number, to: number, inserted: string): string {
  return text.slice(0, from) + inserted + text.slice(to);
}
