/** YAML: an entry is a block of lines in its mapping. A mapping on one line is extended on that line. */
import { type Document, isMap, isScalar, LineCounter, type Pair, parseDocument, stringify, type YAMLMap } from 'yaml';
import { isObject } from '../../core/base/is-object.ts';
import { type EntryPlace, type FileFormat, type FileObject, FileSyntaxError, UnsafeEditError } from './file-format.ts';

export const yamlFormat: FileFormat = {
  parse: (text) => toObject(toValue(read(text))),
  add(text, place, entry) {
    const found = mapAt(text, place.keys);
    if (found === undefined) {
      return append(text, place, entry);
    }
    return found.flow === true ? addInline(text, found, place.name, entry) : addBlock(text, found, place.name, entry);
  },
  remove(text, { keys, name }) {
    const found = mapAt(text, keys);
    const pair = found?.items.find((item) => keyOf(item) === name);
    if (found === undefined || pair === undefined || found.flow === true) {
      throw new UnsafeEditError(`"${name}" is on one line with other entries`);
    }
    return found.items.length === 1 ? emptyMap(text, found) : cutPair(text, pair);
  },
};

function read(text: string) {
  const lineCounter = new LineCounter();
  // Otherwise the library writes warnings about unusual keys to stderr.
  const document = parseDocument(text, { lineCounter, prettyErrors: false, logLevel: 'error' });
  const [error] = document.errors;
  if (error !== undefined) {
    const { line, col } = lineCounter.linePos(error.pos[0]);
    throw new FileSyntaxError(`is not YAML: ${error.message}`, { line, column: col });
  }
  return document;
}

/** Only this step resolves aliases, so it can fail too. */
function toValue(document: Document): unknown {
  try {
    return document.toJS();
  } catch (error) {
    throw new FileSyntaxError(`is not YAML: ${String(error)}`, { line: 1, column: 1 });
  }
}

function toObject(root: unknown): FileObject {
  if (root === null || root === undefined) {
    return {};
  }
  if (!isObject(root)) {
    throw new FileSyntaxError('must contain a mapping', { line: 1, column: 1 });
  }
  return root;
}

function mapAt(text: string, keys: readonly string[]): YAMLMap | undefined {
  const value = read(text).getIn(keys, true);
  return isMap(value) ? value : undefined;
}

function keyOf({ key }: Pair): unknown {
  return isScalar(key) ? key.value : key;
}

/** Appends the mapping itself to the file, because it does not exist yet. */
function append(text: string, { keys, name }: EntryPlace, entry: FileObject): string {
  if (keys.length !== 1 || (read(text).has(keys[0]) && read(text).get(keys[0]) !== null)) {
    throw new UnsafeEditError(`"${keys.join('.')}" is not a mapping`);
  }
  if (read(text).has(keys[0])) {
    throw new UnsafeEditError(`"${keys[0]}" is empty; write \`${keys[0]}: {}\``);
  }
  const block = withEol(stringify({ [String(keys[0])]: { [name]: entry } }, { lineWidth: 0 }), text);
  return `${text}${text === '' || text.endsWith('\n') ? '' : '\n'}${block}`;
}

function addInline(text: string, map: YAMLMap, name: string, entry: FileObject): string {
  const [start, end] = rangeOf(map);
  if (map.items.length === 0) {
    const lineStart = text.lastIndexOf('\n', start) + 1;
    const indent = `${/^\s*/.exec(text.slice(lineStart))?.[0] ?? ''}  `;
    const block = indentLines(withEol(stringify({ [name]: entry }, { lineWidth: 0 }), text), indent).trimEnd();
    return `${text.slice(0, start).trimEnd()}${eolOf(text)}${block}${text.slice(end)}`;
  }
  return `${text.slice(0, end - 1).trimEnd()}, ${JSON.stringify(name)}: ${JSON.stringify(entry)}${text.slice(end - 1)}`;
}

function addBlock(text: string, map: YAMLMap, name: string, entry: FileObject): string {
  const [start, end] = rangeOf(map);
  const indent = text.slice(text.lastIndexOf('\n', start) + 1, start);
  const block = withEol(stringify({ [name]: entry }, { indent: Math.max(2, indent.length), lineWidth: 0 }), text);
  const before = text.slice(0, end);
  return `${before}${before.endsWith('\n') ? '' : eolOf(text)}${indentLines(block, indent)}${text.slice(end)}`;
}

function emptyMap(text: string, map: YAMLMap): string {
  const [start, end] = rangeOf(map);
  return `${text.slice(0, start).trimEnd()} {}${eolOf(text)}${text.slice(end)}`;
}

function cutPair(text: string, { key, value }: Pair): string {
  const from = text.lastIndexOf('\n', rangeOf(key)[0]) + 1;
  const [, end] = rangeOf(value ?? key);
  // A block ends at the start of the next line; anything else ends within its line.
  const lineEnd = text[end - 1] === '\n' ? end - 1 : text.indexOf('\n', end);
  return text.slice(0, from) + (lineEnd === -1 ? '' : text.slice(lineEnd + 1));
}

function rangeOf(node: unknown): readonly [number, number] {
  const range = isObject(node) ? (node['range'] as [number, number, number] | null | undefined) : undefined;
  if (range === null || range === undefined) {
    throw new UnsafeEditError('the position of a value in the file is unknown');
  }
  return [range[0], range[1]];
}

function indentLines(block: string, indent: string): string {
  return block.replace(/^(?=.)/gm, indent);
}

function eolOf(text: string): string {
  return text.includes('\r\n') ? '\r\n' : '\n';
}

function withEol(block: string, text: string): string {
  return block.replaceAll('\n', eolOf(text));
}
