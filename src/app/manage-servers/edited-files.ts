/** The server files that one command changes. Each is read once, edited as text, and verified with the parser of server files. */
import { lstatSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { type ConfigIssue, renderIssue, renderPath } from '../../core/base/config-issue.ts';
import { BridgeError } from '../../core/base/errors.ts';
import { homeFolder } from '../../core/base/home.ts';
import { COMMAND } from '../../core/base/package.ts';
import { FileSyntaxError, UnsafeEditError } from '../../edges/clients/file-format.ts';
import { loadFormat } from '../../edges/clients/format.ts';
import { type ClientFile, type FileChange, readClientFile, refuseReadOnly } from '../../edges/servers/client-file.ts';
import { type DiscoveryOptions, MAX_SERVER_FILE_BYTES, whyDistrusted } from '../../edges/servers/discover.ts';
import { parseServerFile, type ServerDefinition, type ServerFile } from '../../edges/servers/server-file.ts';
import { isEmptyServerFile } from '../../edges/servers/server-file-edit.ts';

export interface FileEdits {
  /** In the order of the first edit. */
  readonly changes: readonly FileChange[];
  /** The servers of all these files, before and after the edits. */
  readonly before: readonly ServerDefinition[];
  readonly after: readonly ServerDefinition[];
}

const READ_HINT = 'The file must be UTF-8, and you must be able to read and write it. Fix that, then run this again.';
const WRITE_HINT = 'Check that you own the file and its folder and can write to them, then run this again.';

export class EditedFiles {
  readonly #options: DiscoveryOptions;
  readonly #files = new Map<string, { readonly file: ClientFile; text: string }>();

  constructor(options: DiscoveryOptions) {
    this.#options = options;
  }

  /** Edits the text of a file, and returns whether it changed. */
  async edit(path: string, change: (text: string) => string): Promise<boolean> {
    const known = this.#files.get(path) ?? (await this.#open(path));
    this.#files.set(path, known);
    const next = explaining(path, () => change(known.text));
    const hasChanged = next !== known.text;
    known.text = next;
    return hasChanged;
  }

  /** Throws if the bridge would not find the server in the edited file, with the reason that discovery gives. */
  async expectServer(path: string, name: string, missingVariables: readonly string[]): Promise<void> {
    const edited = this.#files.get(path);
    const text = edited?.text ?? '';
    if (Buffer.byteLength(text) > MAX_SERVER_FILE_BYTES) {
      const message = `${path} would become larger than ${MAX_SERVER_FILE_BYTES} bytes, the limit for server files; nothing was changed`;
      throw new BridgeError('CONFIG_INVALID', message, { hint: 'Put the server into another file yourself.' });
    }
    const { issues, servers } = this.#read(edited?.file, text);
    if (servers.every((server) => server.name !== name)) {
      const own = issues.filter(({ server }) => server === name);
      // Warnings about unset variables come first, and the one about the skipped entry last.
      const fault = own.find(({ level }) => level === 'error') ?? own.findLast(({ level }) => level === 'warning');
      const reason = reasonOf(name, fault);
      const message = `server '${name}' cannot be added: ${reason}; nothing was changed`;
      // The bridge may have variables that are not set in this shell.
      const hint =
        missingVariables.length === 0
          ? `Correct it; for examples, run: ${COMMAND} servers add --help`
          : `Set ${missingVariables.join(', ')} in this shell too: the entry is checked with the variables of this shell.`;
      throw new BridgeError('CONFIG_INVALID', message, { hint });
    }
  }

  async finish(): Promise<FileEdits> {
    const format = await loadFormat('json');
    const edited = [...this.#files.values()];
    const changes = edited
      .filter(({ file, text }) => text !== (file.text ?? ''))
      .map(({ file, text }): FileChange => {
        return { file, next: isEmptyServerFile(text) && this.#mayGo(file) ? undefined : text, format };
      });
    for (const { file } of changes) {
      await withOwnHint(async () => refuseReadOnly(file));
    }
    return {
      changes,
      before: edited.flatMap(({ file }) => this.#read(file, file.text ?? '{}').servers),
      after: edited.flatMap(({ file, text }) => this.#read(file, text).servers),
    };
  }

  /** Whether an empty file may be deleted. A dangling link, or `MCP_SERVERS_CONFIG` without its file, would be an error at every start. */
  #mayGo({ path }: ClientFile): boolean {
    return dirname(path) === resolve(this.#options.stateDir) && !lstatSync(path).isSymbolicLink();
  }

  async #open(path: string) {
    const file = await withOwnHint(() => readClientFile(path), READ_HINT);
    const text = file.text ?? '';
    const read = text === '' ? undefined : this.#read(file, text);
    const fault = read?.issues.find(isOfWholeFile);
    if (fault !== undefined) {
      throw new BridgeError('CONFIG_INVALID', `${renderIssue(fault)}; nothing was changed`, {
        hint: 'Correct the file first.',
      });
    }
    if (read !== undefined && read.keys[0] !== 'mcpServers') {
      // With a second list, the first would no longer be read.
      const list = `"${read.keys.join('.')}"`;
      throw new BridgeError('CONFIG_INVALID', `${path} has its servers under ${list}; nothing was changed`, {
        hint: `Name that key "mcpServers" first.`,
      });
    }
    return { file, text };
  }

  #read(file: ClientFile | undefined, text: string): ServerFile {
    const { env, allowsSelf } = this.#options;
    const distrust = file?.owner && whyDistrusted({ uid: file.owner.uid, mode: file.mode });
    return parseServerFile(file?.path ?? '', text, { home: homeFolder(env), env, allowsSelf, distrust });
  }
}

function reasonOf(name: string, issue: ConfigIssue | undefined): string {
  if (issue === undefined) {
    return 'the bridge would ignore it';
  }
  const { message, path } = issue;
  if (path !== renderPath(['mcpServers', name])) {
    return `${path} ${message}`;
  }
  // Messages about the entry itself have no subject.
  return /^(?:contains|has|is|must|was) /.test(message) ? `its entry ${message}` : message;
}

function isOfWholeFile({ level, server }: ConfigIssue): boolean {
  return server === undefined && level !== 'debug';
}

/** Turns faults of a file into errors that name the file. */
function explaining<T>(path: string, act: () => T): T {
  try {
    return act();
  } catch (error) {
    if (error instanceof FileSyntaxError || error instanceof UnsafeEditError) {
      const message = `${path} was not changed: ${error.message}`;
      throw new BridgeError('CONFIG_INVALID', message, { hint: 'Edit the file yourself.', cause: error });
    }
    if (error instanceof RangeError) {
      throw new BridgeError(
        'CONFIG_INVALID',
        `${path} was not changed: its content is, or would be, nested too deeply`,
        {
          hint: 'Reduce the nesting.',
          cause: error,
        },
      );
    }
    throw error;
  }
}

/** Replaces the hint of file errors: the original one is about files of clients. */
export async function withOwnHint<Value>(work: () => Promise<Value>, hint = WRITE_HINT): Promise<Value> {
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof BridgeError)) {
      throw error;
    }
    throw new BridgeError(error.code, error.message, { hint, data: error.data, cause: error });
  }
}
