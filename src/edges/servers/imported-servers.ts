/**
 * Servers that were moved out of a client's file. `~/MCPs/<client>.json` defines them like any server file, and records under
 * `importedFrom` the original entry of each server and the list it came from, so that they can be moved back. A list is
 * identified by the path of its file; the list of one folder by `FILE#FOLDER`. Pure: takes and returns text.
 */
import { createHash } from 'node:crypto';
import { isObject } from '../../core/base/is-object.ts';
import { type FileFormat, type FileObject } from '../clients/file-format.ts';
import { entriesAt } from '../clients/format.ts';
import type { ListedServer } from '../clients/server-lists.ts';

const SERVERS = 'mcpServers';
const ORIGINS = 'importedFrom';

export interface MovedServer extends ListedServer {
  /** The entry in our file. */
  readonly entry: FileObject;
}

/** Adds servers to the text of our file. A name may already be in it only with the same entry. */
export function addImported(text: string, json: FileFormat, file: string, moved: readonly MovedServer[]): string {
  let next = text;
  for (const { name, folder, original, entry } of moved) {
    const origin = originOf(file, folder);
    const root = json.parse(next);
    if (entriesAt(root, [SERVERS])?.[name] === undefined) {
      next = json.add(next, { keys: [SERVERS], name }, entry);
    }
    if (entriesAt(root, [ORIGINS, origin])?.[name] === undefined) {
      next = json.add(next, { keys: [ORIGINS, origin], name }, { original, sha256: digestOf(entry) });
    }
  }
  return next;
}

/** The original entries of the servers that came from `file`, in the order in which they were moved. */
export function importedFrom(
  text: string,
  json: FileFormat,
  file: string,
): Pick<ListedServer, 'folder' | 'name' | 'original'>[] {
  return originsOf(json.parse(text), file).flatMap(({ folder, records }) =>
    Object.entries(records).flatMap(([name, record]) =>
      isObject(record) && isObject(record['original']) ? [{ folder, name, original: record['original'] }] : [],
    ),
  );
}

export interface TakenBack {
  /** Undefined if nothing is left and the file can be deleted. */
  readonly text: string | undefined;
  /** Servers that stay because they have been changed. */
  readonly kept: readonly string[];
}

/** The text of our file without the servers that came from `file`. */
export function takeBack(text: string, json: FileFormat, file: string): TakenBack {
  const kept = new Set<string>();
  let next = text;
  for (const { origin, records } of originsOf(json.parse(text), file)) {
    for (const [name, record] of Object.entries(records)) {
      const current = entriesAt(json.parse(next), [SERVERS])?.[name];
      if (current !== undefined && isObject(record) && digestOf(current) === record['sha256']) {
        next = json.remove(next, { keys: [SERVERS], name });
      } else if (current !== undefined) {
        kept.add(name);
      }
    }
    next = json.remove(next, { keys: [ORIGINS], name: origin });
  }
  const left = Object.values(json.parse(next));
  return {
    text: left.every((value) => isObject(value) && Object.keys(value).length === 0) ? undefined : next,
    kept: [...kept],
  };
}

interface Origin {
  readonly origin: string;
  readonly folder: string | undefined;
  readonly records: FileObject;
}

function originOf(file: string, folder: string | undefined): string {
  return folder === undefined ? file : `${file}#${folder}`;
}

/** The lists of one file from which servers were moved. */
function originsOf(root: FileObject, file: string): Origin[] {
  return Object.entries(entriesAt(root, [ORIGINS]) ?? {}).flatMap(([origin, records]) => {
    const isOfFile = origin === file || origin.startsWith(originOf(file, ''));
    const folder = origin === file ? undefined : origin.slice(file.length + 1);
    return isOfFile && isObject(records) ? [{ origin, folder, records }] : [];
  });
}

/** Detects later changes of an entry without storing a second copy of its secrets. */
function digestOf(entry: unknown): string {
  return createHash('sha256').update(JSON.stringify(entry)).digest('hex');
}
