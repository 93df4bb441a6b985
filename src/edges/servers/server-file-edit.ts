/**
 * Changes one entry in the text of a server file and leaves every other byte as it is. Pure. Each result is parsed again and
 * compared with the intended one, so a file that cannot be edited in place is refused rather than damaged.
 */
import { isDeepStrictEqual } from 'node:util';
import { isObject } from '../../core/base/is-object.ts';
import { switchesOff } from '../clients/entry.ts';
import { type FileObject, UnsafeEditError } from '../clients/file-format.ts';
import { entriesAt } from '../clients/format.ts';
import { jsonFormat } from '../clients/json-format.ts';

const SERVERS = 'mcpServers';
const DISABLED = 'disabled';

/** Every entry of the text, as written. Throws `FileSyntaxError`. */
export function entriesOf(text: string): FileObject {
  return entriesAt(jsonFormat.parse(text), [SERVERS]) ?? {};
}

/** Adds an entry after the others. Replaces an entry with that name. */
export function putEntry(text: string, name: string, entry: FileObject): string {
  const { [SERVERS]: servers } = jsonFormat.parse(text);
  if (servers !== undefined && !isObject(servers)) {
    throw new UnsafeEditError(`"${SERVERS}" is not an object of servers`);
  }
  const rest = Object.hasOwn(entriesOf(text), name) ? removeEntry(text, name) : text;
  const next = jsonFormat.add(rest, { keys: [SERVERS], name }, entry);
  return expectEntries(next, rest, { ...entriesOf(rest), [name]: entry });
}

/** Removes an entry, which must exist. */
export function removeEntry(text: string, name: string): string {
  const next = jsonFormat.remove(text, { keys: [SERVERS], name });
  const { [name]: _removed, ...others } = entriesOf(text);
  return expectEntries(next, text, others);
}

/** Disables or enables an entry. Returns the same text if nothing changes. */
export function setDisabled(text: string, name: string, isDisabled: boolean): string {
  const entries = entriesOf(text);
  const entry = entries[name];
  if (!isObject(entry)) {
    throw new UnsafeEditError(`its entry "${name}" is not an object`);
  }
  // Any value other than true or false makes the whole entry invalid.
  const own = Object.hasOwn(entry, DISABLED) ? entry[DISABLED] : false;
  const off = switchesOff(entry);
  if (isDisabled ? off.length > 0 : own === false && off.length === 0) {
    return text;
  }
  const removed = isDisabled || own === false ? off : [...new Set([...off, DISABLED])];
  if (isDisabled && Object.hasOwn(entry, DISABLED)) {
    removed.push(DISABLED);
  }
  const keys = [SERVERS, name];
  const bare = removed.reduce((rest, key) => jsonFormat.remove(rest, { keys, name: key }), text);
  const next = isDisabled ? jsonFormat.add(bare, { keys, name: DISABLED }, true) : bare;
  const rest = Object.fromEntries(Object.entries(entry).filter(([key]) => !removed.includes(key)));
  return expectEntries(next, text, { ...entries, [name]: isDisabled ? { ...rest, [DISABLED]: true } : rest });
}

/** Whether the file can be deleted without losing anything. */
export function isEmptyServerFile(text: string): boolean {
  const { [SERVERS]: servers = {}, ...rest } = jsonFormat.parse(text);
  return Object.keys(rest).length === 0 && isObject(servers) && Object.keys(servers).length === 0;
}

/** Returns `next` if it differs from `text` only in the entries. */
function expectEntries(next: string, text: string, entries: FileObject): string {
  const read = jsonFormat.parse(next);
  if (!isDeepStrictEqual(read, { ...jsonFormat.parse(text), [SERVERS]: entries })) {
    throw new UnsafeEditError('the change would affect other parts of the file');
  }
  return next;
}
