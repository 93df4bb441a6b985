/** TOML: an entry is a table with its sub-tables, added at the end of the file and removed line by line. */
import { type AST, getStaticTOMLValue, ParseError, parseTOML, traverseNodes } from 'toml-eslint-parser';
import { isObject } from '../../core/base/is-object.ts';
import { type EntryPlace, type FileFormat, type FileObject, FileSyntaxError, UnsafeEditError } from './file-format.ts';

export const tomlFormat: FileFormat = {
  parse: (text) => getStaticTOMLValue(parseRoot(text)),
  add(text, { keys, name }, entry) {
    const eol = text.includes('\r\n') ? '\r\n' : '\n';
    const table = renderTable([...keys, name], entry).join(eol) + eol;
    if (text === '') {
      return table;
    }
    return `${text}${text.endsWith('\n') ? '' : eol}${text.trim() === '' ? '' : eol}${table}`;
  },
  remove(text, place) {
    const ranges = parseRoot(text).body[0].body.flatMap((node) => rangesOf(node, place));
    if (ranges.length === 0) {
      throw new UnsafeEditError(`"${place.name}" is written inside another value`);
    }
    return ranges.toReversed().reduce((rest, range) => cutLines(rest, range), text);
  },
};

function parseRoot(text: string): AST.TOMLProgram {
  try {
    const program = parseTOML(text);
    traverseNodes(program, { enterNode: refuseProto, leaveNode: () => undefined });
    return program;
  } catch (error) {
    if (error instanceof ParseError) {
      const position = { line: error.lineNumber, column: error.column + 1 };
      throw new FileSyntaxError(`is not TOML: ${error.message}`, position);
    }
    throw error;
  }
}

/** The library looks up tables with `target[key]`, so `[__proto__]` would modify the prototype of all objects. */
function refuseProto(node: AST.TOMLNode): void {
  const name = node.type === 'TOMLBare' ? node.name : node.type === 'TOMLQuoted' ? node.value : undefined;
  if (name === '__proto__') {
    const { line, column } = node.loc.start;
    throw new FileSyntaxError('contains the key "__proto__", which is not allowed', { line, column: column + 1 });
  }
}

/** The ranges of the entry: its tables, or the assignments to it in a parent table. */
function rangesOf(node: AST.TOMLTable | AST.TOMLKeyValue, { keys, name }: EntryPlace): AST.Range[] {
  const path = [...keys, name];
  if (node.type === 'TOMLKeyValue') {
    return startsWith(keyOf(node), path) ? [node.range] : [];
  }
  if (startsWith(node.resolvedKey, path)) {
    return [node.range];
  }
  return node.body
    .filter((member) => startsWith([...node.resolvedKey, ...keyOf(member)], path))
    .map((member) => member.range);
}

function keyOf(node: AST.TOMLKeyValue): string[] {
  return node.key.keys.map((key) => (key.type === 'TOMLBare' ? key.name : key.value));
}

function startsWith(path: readonly (string | number)[], start: readonly string[]): boolean {
  return start.every((key, index) => path[index] === key);
}

/** Removes the lines of a range, and the empty line before them if another empty line or the end of the file follows. */
function cutLines(text: string, [from, to]: AST.Range): string {
  const before = text.slice(0, text.lastIndexOf('\n', from) + 1);
  const end = text.indexOf('\n', to - 1);
  const after = end === -1 ? '' : text.slice(end + 1);
  const isSpaced = /(?:^|\n)\r?\n$/.test(before) && (after === '' || /^\r?\n/.test(after));
  return (isSpaced ? before.replace(/\r?\n$/, '') : before) + after;
}

/** The lines of `[a.b]`: its plain values, then its sub-tables. */
function renderTable(path: readonly string[], table: FileObject): string[] {
  const members = Object.entries(table).filter(([, value]) => value !== undefined);
  const lines = members
    .filter(([, value]) => !isObject(value))
    .map(([key, value]) => `${renderKey(key)} = ${renderValue(value)}`);
  const tables = members.flatMap(([key, value]) =>
    isObject(value) ? ['', ...renderTable([...path, key], value)] : [],
  );
  return [`[${path.map(renderKey).join('.')}]`, ...lines, ...tables];
}

function renderKey(key: string): string {
  return /^[\w-]+$/.test(key) ? key : JSON.stringify(key);
}

/** Strings, numbers, booleans and lists of them are the same in TOML and JSON. */
function renderValue(value: unknown): string {
  return Array.isArray(value) ? `[${value.map(renderValue).join(', ')}]` : JSON.stringify(value);
}
