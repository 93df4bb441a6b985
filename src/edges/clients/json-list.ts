/** Inserts a value into a list of a JSON text, and leaves every other byte as it is. Pure. */
import { isDeepStrictEqual } from 'node:util';
import { findNodeAtLocation, type Node, parseTree } from 'jsonc-parser';
import { onOneLine } from '../../core/base/json-text.ts';
import { UnsafeEditError } from './file-format.ts';
import { jsonFormat } from './json-format.ts';

/**
 * The text with `value` on one line at `index` of the list `key` of its object, which is added if it is missing. Throws
 * `FileSyntaxError`, or `UnsafeEditError` if anything else would change.
 */
export function insertInList(text: string, key: string, index: number, value: object): string {
  const before = jsonFormat.parse(text);
  const { [key]: old = [] } = before;
  if (!Array.isArray(old) || index > old.length) {
    throw new UnsafeEditError(`"${key}" is not a list with ${index} items`);
  }
  const list = nodeOf(text, key);
  const next =
    list === undefined ? jsonFormat.add(text, { keys: [], name: key }, [value]) : insert(text, list, index, value);
  if (!isDeepStrictEqual(jsonFormat.parse(next), { ...before, [key]: old.toSpliced(index, 0, value) })) {
    throw new UnsafeEditError('the change would affect other parts of the file');
  }
  return next;
}

function nodeOf(text: string, key: string): Node | undefined {
  const root = text.trim() === '' ? undefined : parseTree(text);
  return root && findNodeAtLocation(root, [key]);
}

function insert(text: string, list: Node, index: number, value: object): string {
  const { children: items = [], length, offset } = list;
  const written = onOneLine(value);
  const item = items[index];
  const last = items.at(-1);
  if (item !== undefined) {
    return splice(text, item.offset, `${written},${gapBefore(text, item)}`);
  }
  if (last !== undefined) {
    return splice(text, last.offset + last.length, `,${gapBefore(text, last)}${written}`);
  }
  return text.slice(0, offset) + `[${written}]` + text.slice(offset + length);
}

/** What stands before an item: the start of its line, or a space. */
function gapBefore(text: string, { offset }: Node): string {
  return /\r?\n[ \t]*$/.exec(text.slice(0, offset))?.[0] ?? ' ';
}

function splice(text: string, at: number, inserted: string): string {
  return text.slice(0, at) + inserted + text.slice(at);
}
