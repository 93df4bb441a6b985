/** Reads another client's file, with its own format, keys and kind of entries, as if it were a server file. */

import { type ConfigIssue, renderPath } from '../../core/base/config-issue.ts';
import { messageOf } from '../../core/base/errors.ts';
import { toServerEntry } from '../clients/entry.ts';
import { type FileObject, FileSyntaxError } from '../clients/file-format.ts';
import { readServers, type ServerFile, type ServerFileContext } from './server-file.ts';
import { type ClientSource, findServers } from './sources.ts';

/** The servers in `text`, the content of `file`. The bridge's own entry is expected there, so it is reported only as a note. */
export function parseForeignFile(
  file: string,
  text: string,
  context: ServerFileContext,
  source: ClientSource,
): ServerFile {
  const nothing = (level: ConfigIssue['level'], message: string): ServerFile => {
    return { servers: [], issues: [{ level, file, path: '', message }], keys: [] };
  };
  let root: FileObject;
  try {
    root = source.format.parse(text.replace(/^\uFEFF/, ''));
  } catch (error) {
    const place = error instanceof FileSyntaxError ? ` (line ${error.line}, column ${error.column})` : '';
    return nothing('error', messageOf(error) + place);
  }
  const found = findServers(root, source.keys);
  if (found === undefined) {
    const names = source.keys.map((keys) => `"${keys.join('.')}"`).join(', ');
    return nothing(source.isRequired ? 'warning' : 'debug', `has no servers under ${names}`);
  }
  const issues: ConfigIssue[] = [];
  // Pairs, because assigning to a key `__proto__` would not create an entry.
  const entries: [string, unknown][] = [];
  for (const [name, value] of Object.entries(found.entries)) {
    const converted = toServerEntry(value, source.timeoutUnit);
    if ('entry' in converted) {
      entries.push([name, converted.entry]);
    } else {
      const level = converted.isClientPart ? 'debug' : 'warning';
      const message = `was left out: it ${converted.reason}`;
      issues.push({ level, file, path: renderPath([...found.keys, name]), message });
    }
  }
  const read = readServers(
    { file, keys: found.keys, entries: Object.fromEntries(entries), fileDescription: undefined },
    context,
    'debug',
  );
  return { ...read, issues: [...issues, ...read.issues] };
}
