/** The server files that one command changes: each is read once, changed as text, and checked with the code that reads it. */
import { lstatSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { type ConfigIssue, renderIssue, renderPath } from '../base/config-issue.ts';
import { BridgeError } from '../base/errors.ts';
import { homeFolder } from '../base/home.ts';
import { FileSyntaxError, UnsafeEditError } from '../clients/file-format.ts';
import { loadFormat } from '../clients/format.ts';
import { type ClientFile, type FileChange, readClientFile, refuseReadOnly } from '../servers/client-file.ts';
import { type DiscoveryOptions, MAX_SERVER_FILE_BYTES, whyDistrusted } from '../servers/discover.ts';
import { parseServerFile, type ServerDefinition, type ServerFile } from '../servers/server-file.ts';
import { isEmptyServerFile } from '../servers/server-file-edit.ts';

export interface FileEdits {
  /** In the order in which the files were first changed. */
  readonly changes: readonly FileChange[];
  /** Of all of these files as they were, and as they will be. */
  readonly before: readonly ServerDefinition[];
  readonly after: readonly ServerDefinition[];
}

const READ_HINT = 'It must be a file in UTF-8 that you may read and write: correct that, then run this again.';
const WRITE_HINT = 'Check that the file and its folder are yours and can be written, then run this again.';

/** The files that a command changes, each read once. */
export class EditedFiles {
  readonly #options: DiscoveryOptions;
  readonly #files = new Map<string, { readonly file: ClientFile; text: string }>();

  constructor(options: DiscoveryOptions) {
    this.#options = options;
  }

  /** Tells whether the text changed. */
  async edit(path: string, change: (text: string) => string): Promise<boolean> {
    const known = this.#files.get(path) ?? (await this.#open(path));
    this.#files.set(path, known);
    const next = explaining(path, () => change(known.text));
    const hasChanged = next !== known.text;
    known.text = next;
    return hasChanged;
  }

  /** Throws unless the bridge would find the server in the file as it is now, for the reason that discovery has. */
  async expectServer(path: string, name: string, missingVariables: readonly string[]): Promise<void> {
    const edited = this.#files.get(path);
    const text = edited?.text ?? '';
    if (Buffer.byteLength(text) > MAX_SERVER_FILE_BYTES) {
      const message = `${path} would have more than ${MAX_SERVER_FILE_BYTES} bytes, and not be read; nothing was changed`;
      throw new BridgeError('CONFIG_INVALID', message, { hint: 'Put the server into another file by hand.' });
    }
    const { issues, servers } = this.#read(edited?.file, text);
    if (servers.every((server) => server.name !== name)) {
      const own = issues.filter(({ server }) => server === name);
      // Variables that are not set are warned about before what makes the reader skip an entry.
      const fault = own.find(({ level }) => level === 'error') ?? own.findLast(({ level }) => level === 'warning');
      const reason = reasonOf(name, fault);
      const message = `server '${name}' cannot be added: ${reason}; nothing was changed`;
      // The bridge may have variables that this shell has not.
      const hint =
        missingVariables.length === 0
          ? 'Correct it; `servers add --help` has examples.'
          : `It is checked with the variables of this shell: set ${missingVariables.join(', ')} here, too.`;
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

  /** A link that leads nowhere, or `MCP_SERVERS_CONFIG` without its file, would be an error at every start. */
  #mayGo({ path }: ClientFile): boolean {
    return dirname(path) === resolve(this.#options.stateDir) && !lstatSync(path).isSymbolicLink();
  }

  async #open(path: string) {
    const file = await withOwnHint(() => readClientFile(path), READ_HINT);
    const text = file.text ?? '';
    const fault = text === '' ? undefined : this.#read(file, text).issues.find(isOfWholeFile);
    if (fault !== undefined) {
      throw new BridgeError('CONFIG_INVALID', `${renderIssue(fault)}; nothing was changed`, {
        hint: `Correct ${path} first.`,
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
    return 'it would not be read';
  }
  const { message, path } = issue;
  if (path !== renderPath(['mcpServers', name])) {
    return `${path} ${message}`;
  }
  // What is said of the entry has no subject.
  return /^(?:has|is|must|was) /.test(message) ? `its entry ${message}` : message;
}

function isOfWholeFile({ level, server }: ConfigIssue): boolean {
  return server === undefined && level !== 'debug';
}

/** Faults of a file as errors that name it and the place. */
function explaining<T>(path: string, act: () => T): T {
  try {
    return act();
  } catch (error) {
    if (error instanceof FileSyntaxError || error instanceof UnsafeEditError) {
      const message = `${path} was not changed: ${error.message}`;
      throw new BridgeError('CONFIG_INVALID', message, { hint: 'Make the change by hand.', cause: error });
    }
    if (error instanceof RangeError) {
      throw new BridgeError('CONFIG_INVALID', `${path} was not changed: it would be, or is, nested too deeply`, {
        hint: 'Nest what is in it less deeply.',
        cause: error,
      });
    }
    throw error;
  }
}

/** What is wrong with a file, with a hint for files of ours: that of `install` is about the files of clients. */
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
