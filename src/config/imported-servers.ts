/**
 * Servers that were moved out of a client's file: `~/MCPs/<client>.json` defines them like any server file, and keeps
 * under `importedFrom` how each stood in which file, so that they can be put back. Pure: texts in, texts out.
 */
import { createHash } from 'node:crypto';
import { entriesAt, type FileFormat, type FileObject, isObject } from '../clients/format.ts';

const SERVERS = 'mcpServers';
const ORIGINS = 'importedFrom';

export interface MovedServer {
  /** As the client wrote it. */
  readonly original: FileObject;
  /** As it stands in our file. */
  readonly entry: FileObject;
}

/** The text of our file with more servers in it. None of the names may be in it yet, but with the same entry. */
export function addImported(
  text: string,
  json: FileFormat,
  file: string,
  moved: Readonly<Record<string, MovedServer>>,
): string {
  let next = text;
  for (const [name, { original, entry }] of Object.entries(moved)) {
    const root = json.parse(next);
    if (entriesAt(root, [SERVERS])?.[name] === undefined) {
      next = json.add(next, { keys: [SERVERS], name }, entry);
    }
    if (entriesAt(root, [ORIGINS, file])?.[name] === undefined) {
      next = json.add(next, { keys: [ORIGINS, file], name }, { original, sha256: digestOf(entry) });
    }
  }
  return next;
}

/** How the servers that came from `file` stood there. */
export function importedFrom(text: string, json: FileFormat, file: string): Record<string, FileObject> {
  const found: Record<string, FileObject> = {};
  for (const [name, record] of Object.entries(entriesAt(json.parse(text), [ORIGINS, file]) ?? {})) {
    if (isObject(record) && isObject(record['original'])) {
      found[name] = record['original'];
    }
  }
  return found;
}

export interface TakenBack {
  /** Undefined when nothing is left, and the file can go. */
  readonly text: string | undefined;
  /** Servers that were changed since, and therefore stay. */
  readonly kept: readonly string[];
}

/** The text of our file without what came from `file`. */
export function takeBack(text: string, json: FileFormat, file: string): TakenBack {
  const kept: string[] = [];
  let next = text;
  const records = entriesAt(json.parse(text), [ORIGINS, file]) ?? {};
  for (const [name, record] of Object.entries(records)) {
    const current = entriesAt(json.parse(next), [SERVERS])?.[name];
    if (current !== undefined && isObject(record) && digestOf(current) === record['sha256']) {
      next = json.remove(next, { keys: [SERVERS], name });
    } else if (current !== undefined) {
      kept.push(name);
    }
  }
  if (Object.keys(records).length > 0) {
    next = json.remove(next, { keys: [ORIGINS], name: file });
  }
  const left = Object.values(json.parse(next));
  return { text: left.every((value) => isObject(value) && Object.keys(value).length === 0) ? undefined : next, kept };
}

/** Tells whether an entry was changed since, without a second copy of its secrets. */
function digestOf(entry: unknown): string {
  return createHash('sha256').update(JSON.stringify(entry)).digest('hex');
}
