/** What was tried, in a file beside this one: a run goes on where the last one was cut off, and adds to what others have tried. */
import { readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { replaceGenerated } from '../generate/markers.ts';
import { type Column, renderLists, type TriedPackage } from './table.ts';

const FILE = fileURLToPath(new URL('tried.json', import.meta.url));
const DOCUMENT = fileURLToPath(new URL('../../docs/packages-common.md', import.meta.url));

export function readColumns(): Column[] {
  return JSON.parse(readFileSync(FILE, 'utf8')) as Column[];
}

/** The columns with one more result, in place of an earlier one. */
export function withTried(
  columns: readonly Column[],
  { engine, image, python }: Omit<Column, 'tried'>,
  name: string,
  tried: TriedPackage,
): Column[] {
  const earlier = findColumn(columns, { engine, image });
  const column = {
    engine,
    ...(image === undefined ? {} : { image }),
    python,
    tried: { ...earlier?.tried, [name]: tried },
  };
  return earlier === undefined ? [...columns, column] : columns.map((one) => (one === earlier ? column : one));
}

export function findColumn(
  columns: readonly Column[],
  { engine, image }: { readonly engine: string; readonly image?: string | undefined },
): Column | undefined {
  return columns.find((one) => one.engine === engine && one.image === image);
}

/** Writes the file and the lists: of these packages, in their order. */
export function writeColumns(columns: readonly Column[], names: readonly string[]): void {
  const listed = columns.map((column) => ({
    ...column,
    tried: Object.fromEntries(names.flatMap((name) => (column.tried[name] ? [[name, column.tried[name]]] : []))),
  }));
  // A line for each package, so that a change is easy to read.
  const text = JSON.stringify(listed, null, 2).replaceAll(/\{\n\s+"isWorking"[^}]+\}/g, (one) =>
    one.replaceAll(/\s*\n\s*/g, ' '),
  );
  writeFileSync(FILE, `${text}\n`);
  const lists = renderLists(names, listed);
  writeFileSync(DOCUMENT, replaceGenerated(readFileSync(DOCUMENT, 'utf8'), { packages: () => lists }));
}
