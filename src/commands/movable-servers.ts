/** Which servers of a client's file can move into the state directory, so that they work there as they did. */
import { isAbsolute, join } from 'node:path';
import { toServerEntry } from '../clients/entry.ts';
import { entriesAt, type FileFormat, type FileObject, isObject } from '../clients/format.ts';
import type { RegistrationOptions } from '../clients/registration.ts';
import type { ClientFile } from '../config/client-file.ts';
import { discoverServers, type ServerDefinition } from '../config/discover.ts';
import { homeFolder } from '../config/home.ts';
import type { MovedServer } from '../config/imported-servers.ts';
import { parseServerFile } from '../config/server-file.ts';
import type { Scope } from './install-plan.ts';

export interface MovableOptions {
  readonly file: ClientFile;
  readonly format: FileFormat;
  readonly registration: RegistrationOptions;
  readonly timeoutUnit: 's' | 'ms' | undefined;
  readonly scope: Scope;
  readonly cwd: string;
  readonly stateDir: string;
  readonly system: { readonly env: Readonly<Record<string, string | undefined>> };
}

export interface Movable {
  readonly moved: Readonly<Record<string, MovedServer>>;
  readonly staying: readonly { readonly name: string; readonly reason: string }[];
}

/** Servers that Claude Code keeps for single folders, in the same file (`claude mcp add` without `--scope user`). */
export function folderServersOf(
  text: string,
  { format, registration }: Pick<MovableOptions, 'format' | 'registration'>,
): string[] {
  const folders = entriesAt(format.parse(text), ['projects']) ?? {};
  return Object.entries(folders).flatMap(([folder, settings]) => {
    const entries = isObject(settings) ? (entriesAt(settings, registration.keys) ?? {}) : {};
    const names = Object.keys(entries).filter((name) => !registration.isOwn(name, entries[name]));
    return names.map((name) => `${name} (${folder})`);
  });
}

/** Splits the servers of the file, but for those that are this bridge; nothing of the state directory is overwritten. */
export async function chooseMovable(options: MovableOptions): Promise<Movable> {
  const { file, format, registration } = options;
  const entries = entriesAt(format.parse(file.text ?? ''), registration.keys) ?? {};
  const known = discoverServers({ stateDir: options.stateDir, env: options.system.env }).servers;
  const moved: Record<string, MovedServer> = {};
  const staying: { name: string; reason: string }[] = [];
  for (const [name, original] of Object.entries(entries)) {
    if (registration.isOwn(name, original)) {
      continue;
    }
    const found = chooseOne(name, original, options, known);
    if ('reason' in found) {
      staying.push({ name, reason: found.reason });
    } else {
      moved[name] = found;
    }
  }
  return { moved, staying };
}

function chooseOne(
  name: string,
  original: unknown,
  options: MovableOptions,
  known: ReadonlyMap<string, ServerDefinition>,
): MovedServer | { readonly reason: string } {
  const found = toServerEntry(original, options.timeoutUnit);
  if ('reason' in found) {
    return found;
  }
  if (!isObject(original) || !isObject(found.entry)) {
    return { reason: 'is no object' };
  }
  const entry = withFolder(found.entry, options);
  const { command } = entry;
  if (typeof command === 'string' && /^\.{1,2}[\\/]/.test(command) && entry['cwd'] === undefined) {
    return { reason: 'names its program by a path that counts from where the client runs' };
  }
  const storePath = join(options.stateDir, 'imported.json');
  const context = { home: homeFolder(options.system.env), env: options.system.env };
  const read = parseServerFile(storePath, JSON.stringify({ mcpServers: { [name]: entry } }), context);
  const [definition] = read.servers;
  if (definition === undefined) {
    return { reason: read.issues[0]?.message ?? 'cannot be started from here' };
  }
  const same = known.get(name);
  if (same !== undefined && same.definitionHash !== definition.definitionHash) {
    return { reason: `is not the server of that name in ${same.file}; rename one of them` };
  }
  return { original, entry };
}

/** Servers of a project run in its folder; ours would not. */
function withFolder(entry: FileObject, { scope, cwd }: MovableOptions): FileObject {
  const folder = entry['cwd'];
  if (scope !== 'project' || entry['url'] !== undefined || (typeof folder === 'string' && isAbsolute(folder))) {
    return entry;
  }
  return { ...entry, cwd: typeof folder === 'string' ? join(cwd, folder) : cwd };
}
