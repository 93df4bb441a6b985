/**
 * Changes of one entry in the text of a server file; every other byte stays. Pure. What comes out is read again and
 * compared with what was meant: a file that cannot be changed in place is refused, never damaged.
 */
import { isDeepStrictEqual } from 'node:util';
import { isObject } from '../base/is-object.ts';
import { type FileObject, UnsafeEditError } from '../clients/file-format.ts';
import { entriesAt } from '../clients/format.ts';
import { jsonFormat } from '../clients/json-format.ts';

const SERVERS = 'mcpServers';
const DISABLED = 'disabled';

/** Every entry of the text, as it stands there. Throws `FileSyntaxError`. */
export function entriesOf(text: string): FileObject {
  return entriesAt(jsonFormat.parse(text), [SERVERS]) ?? {};
}

/** With a new entry behind the others; one of that name goes. */
export function putEntry(text: string, name: string, entry: FileObject): string {
  const { [SERVERS]: servers } = jsonFormat.parse(text);
  if (servers !== undefined && !isObject(servers)) {
    throw new UnsafeEditError(`"${SERVERS}" holds something else than servers`);
  }
  const rest = Object.hasOwn(entriesOf(text), name) ? removeEntry(text, name) : text;
  const next = jsonFormat.add(rest, { keys: [SERVERS], name }, entry);
  return expectEntries(next, rest, { ...entriesOf(rest), [name]: entry });
}

/** Without an entry that is there. */
export function removeEntry(text: string, name: string): string {
  const next = jsonFormat.remove(text, { keys: [SERVERS], name });
  const { [name]: _removed, ...others } = entriesOf(text);
  return expectEntries(next, text, others);
}

/** With an entry disabled, or not; the same text when it is so already. */
export function setDisabled(text: string, name: string, isDisabled: boolean): string {
  const entries = entriesOf(text);
  const entry = entries[name];
  if (!isObject(entry)) {
    throw new UnsafeEditError(`its entry "${name}" is not an object`);
  }
  // Anything but true or false makes the whole entry invalid.
  if ((Object.hasOwn(entry, DISABLED) ? entry[DISABLED] : false) === isDisabled) {
    return text;
  }
  const place = { keys: [SERVERS, name], name: DISABLED };
  const bare = Object.hasOwn(entry, DISABLED) ? jsonFormat.remove(text, place) : text;
  const next = isDisabled ? jsonFormat.add(bare, place, true) : bare;
  const { [DISABLED]: _old, ...rest } = entry;
  return expectEntries(next, text, { ...entries, [name]: isDisabled ? { ...rest, [DISABLED]: true } : rest });
}

/** Whether nothing is left in the file that anybody could miss. */
export function isEmptyServerFile(text: string): boolean {
  const { [SERVERS]: servers = {}, ...rest } = jsonFormat.parse(text);
  return Object.keys(rest).length === 0 && isObject(servers) && Object.keys(servers).length === 0;
}

/** `next`, when it differs from `text` by the entries alone. */
function expectEntries(next: string, text: string, entries: FileObject): string {
  const read = jsonFormat.parse(next);
  if (!isDeepStrictEqual(read, { ...jsonFormat.parse(text), [SERVERS]: entries })) {
    throw new UnsafeEditError('the change would have touched other parts of the file');
  }
  return next;
}
