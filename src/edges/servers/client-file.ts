/**
 * Configuration files of other programs. A changed file is written to a temporary file and renamed, keeping its mode and owner.
 * Links are followed to their targets, and a backup of the old content is kept beside the file.
 */

import { randomUUID } from 'node:crypto';
import { constants } from 'node:fs';
import { chown, copyFile, lstat, open, readdir, readFile, realpath, rm, stat } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { BridgeError, messageOf } from '../../core/base/errors.ts';
import { COMMAND } from '../../core/base/package.ts';
import { whyNotUtf8 } from '../../core/base/utf8-line.ts';
import { makeFolders, replaceFile } from '../../core/state/file-system.ts';
import { readBounded } from '../../core/state/state-files.ts';
import type { FileFormat } from '../clients/file-format.ts';

/** Entries contain secrets, so only the owner can read a new file, and enter a new folder, such as the state directory. */
const NEW_FILE_MODE = 0o600;
const NEW_FOLDER_MODE = 0o700;
const WRITE_BITS = 0o222;
const BYTE_ORDER_MARK = '\uFEFF';
/** Only at the start: the same character elsewhere belongs to the text. */
const STARTS_WITH_MARK = /^\uFEFF/;
const BACKUP = '.backup-';
/** As `keepBackup` names them: what others have put there stays. */
const BACKUP_TIME = /^\d{8}T\d{6}Z(?:-\d+)?$/;
const MAX_BACKUPS = 3;
/** Chosen: far above the settings of editors with long histories. */
const MAX_FILE_BYTES = 64 * 1024 * 1024;

export interface ClientFile {
  /** The path that the client uses. */
  readonly path: string;
  /** The same path with links resolved. */
  readonly target: string;
  /** Without a byte order mark; undefined if the file does not exist. */
  readonly text: string | undefined;
  readonly bytes: Buffer | undefined;
  readonly mode: number;
  readonly owner: { readonly uid: number; readonly gid: number } | undefined;
}

/** The file at `path`. Rejects with `CONFIG_INVALID` if it cannot be read or is not UTF-8 text. */
export async function readClientFile(path: string): Promise<ClientFile> {
  const target = await targetOf(path);
  if (target === undefined) {
    return newClientFile(path);
  }
  const { mode, uid, gid, size } = await stat(target);
  if (size > MAX_FILE_BYTES) {
    throw refusal(path, `has ${size} bytes; the limit is ${MAX_FILE_BYTES} bytes`);
  }
  const bytes = await readFile(target).catch((error: unknown) => {
    throw refusal(path, `cannot be read: ${messageOf(error)}`, error);
  });
  const fault = whyNotUtf8(bytes);
  if (fault !== undefined) {
    throw refusal(path, fault);
  }
  const text = bytes.toString('utf8');
  return { path, target, text: text.replace(STARTS_WITH_MARK, ''), bytes, mode, owner: { uid, gid } };
}

/** A file that does not exist yet. */
export function newClientFile(path: string): ClientFile {
  return { path, target: path, text: undefined, bytes: undefined, mode: NEW_FILE_MODE, owner: undefined };
}

/** Whether the folder of a file exists. */
export async function hasFolder(path: string): Promise<boolean> {
  return (await stat(dirname(path)).catch(() => undefined))?.isDirectory() === true;
}

/** Throws `CONFIG_INVALID` if the file is read-only. */
export function refuseReadOnly({ path, mode, text }: ClientFile): void {
  if (text !== undefined && (mode & WRITE_BITS) === 0) {
    throw refusal(
      path,
      'is read-only',
      undefined,
      'Make it writable (it may be managed by another program), or use --print.',
    );
  }
}

/**
 * Writes `text` to the file, or deletes the file if it is undefined. Keeps a backup named after `now`, and returns its path;
 * without `now`, or if there was no file, it keeps none and returns undefined. Of older backups, the last two stay, and the last one that
 * `isOriginal` names. Rejects if the file has changed since it was read.
 */
export async function writeClientFile(
  file: ClientFile,
  text: string | undefined,
  now: Date | undefined,
  isOriginal: FileChange['isOriginal'] = () => false,
): Promise<string | undefined> {
  const { bytes, target } = file;
  try {
    await makeFolders(dirname(target), NEW_FOLDER_MODE);
    const backup = bytes === undefined || now === undefined ? undefined : await keepBackup(target, now);
    if (text === undefined) {
      await refuseChanged(file);
      await rm(target, { force: true });
    } else {
      const mark = bytes?.toString('utf8').startsWith(BYTE_ORDER_MARK) === true ? BYTE_ORDER_MARK : '';
      await replace(file, mark + text);
    }
    if (backup !== undefined) {
      await removeOldBackups(target, isOriginal);
    }
    return backup;
  } catch (error) {
    if (error instanceof BridgeError) {
      throw error;
    }
    throw new BridgeError('STATE_WRITE_FAILED', `${file.path} could not be written: ${messageOf(error)}`, {
      hint: `Check the permissions there, or add the entry by hand. To see it, run: ${COMMAND} install CLIENT --print`,
      cause: error,
    });
  }
}

/** The contents of the file's backups, newest first. */
export async function readBackups({ target }: ClientFile): Promise<string[]> {
  const texts = await Promise.all((await listBackups(target)).map(readBackup));
  return texts.filter((text) => text !== undefined);
}

/** In the folder of a project, a stranger may have put pipes and links there. */
async function readBackup(path: string): Promise<string | undefined> {
  const bytes = await readBounded(path, MAX_FILE_BYTES).catch(() => undefined);
  return bytes?.toString('utf8').replace(STARTS_WITH_MARK, '');
}

/** Paths of the backups of a file whose links are resolved, newest first. */
export async function listBackups(target: string): Promise<string[]> {
  const start = basename(target) + BACKUP;
  const names = await readdir(dirname(target)).catch(() => []);
  const found = names.filter((name) => name.startsWith(start) && BACKUP_TIME.test(name.slice(start.length)));
  // Of the same second, by number.
  const byTime = new Intl.Collator('en', { numeric: true });
  return found.toSorted((a, b) => byTime.compare(b, a)).map((name) => join(dirname(target), name));
}

/** One that cannot be removed is in no one's way. */
async function removeOldBackups(target: string, isOriginal: (text: string) => boolean): Promise<void> {
  let hasOriginal = false;
  for (const [index, path] of (await listBackups(target)).entries()) {
    const isNeeded: boolean = !hasOriginal && isOriginal((await readBackup(path)) ?? '');
    hasOriginal ||= isNeeded;
    if (index >= MAX_BACKUPS && !isNeeded) {
      await rm(path, { force: true }).catch(() => undefined);
    }
  }
}

/** The path with links resolved; undefined if there is no file. */
async function targetOf(path: string): Promise<string | undefined> {
  try {
    const target = await realpath(path);
    if (!(await stat(target)).isFile()) {
      throw refusal(path, 'is not a file');
    }
    return target;
  } catch (error) {
    if (error instanceof BridgeError) {
      throw error;
    }
    const isMissing = error instanceof Error && 'code' in error && error.code === 'ENOENT';
    const link = await lstat(path).catch(() => undefined);
    if (link !== undefined) {
      throw refusal(path, 'is a link whose target does not exist', error);
    }
    if (isMissing) {
      return undefined;
    }
    throw refusal(path, `cannot be read: ${messageOf(error)}`, error);
  }
}

/** A copy beside the file, such as `NAME.backup-20261121T150000Z`; another one in the same second gets the next number. */
async function keepBackup(target: string, now: Date): Promise<string> {
  const start = `${target}${BACKUP}${now.toISOString().replaceAll(/[-:]|\.\d+/g, '')}`;
  const last = (await listBackups(target)).find((path) => path.startsWith(start));
  const before = last === undefined ? 0 : Number(last.slice(start.length + 1) || 1);
  for (let count = before + 1; ; count += 1) {
    const backup = `${start}${count === 1 ? '' : `-${count}`}`;
    try {
      await copyFile(target, backup, constants.COPYFILE_EXCL);
      return backup;
    } catch (error) {
      if (!(error instanceof Error && 'code' in error && error.code === 'EEXIST')) {
        throw error;
      }
    }
  }
}

async function replace(file: ClientFile, text: string): Promise<void> {
  const temporary = `${file.target}.${randomUUID()}.tmp`;
  try {
    const handle = await open(temporary, 'wx', NEW_FILE_MODE);
    try {
      await handle.writeFile(text);
      await handle.chmod(file.mode & 0o7777);
      await handle.sync();
    } finally {
      await handle.close();
    }
    if (file.owner !== undefined && process.getuid?.() === 0) {
      await chown(temporary, file.owner.uid, file.owner.gid);
    }
    await refuseChanged(file);
    await replaceFile(temporary, file.target);
  } catch (error) {
    await rm(temporary, { force: true });
    throw error;
  }
}

/** Clients write their files too, and what they wrote in the meantime must not be lost. */
async function refuseChanged({ path, target, bytes }: ClientFile): Promise<void> {
  const current = await readFile(target).catch(() => undefined);
  if (current === undefined ? bytes !== undefined : bytes === undefined || !current.equals(bytes)) {
    throw refusal(
      path,
      'was just changed by another program',
      undefined,
      'Close the client, then run the command again.',
    );
  }
}

function refusal(path: string, message: string, cause?: unknown, hint?: string): BridgeError {
  return new BridgeError('CONFIG_INVALID', `${path} ${message}; nothing was changed`, {
    hint: hint ?? 'Fix the file, or edit it by hand; --print shows what to put into it.',
    data: { file: path },
    cause,
  });
}

export interface FileChange {
  readonly file: ClientFile;
  /** Undefined deletes the file. */
  readonly next: string | undefined;
  readonly format: FileFormat;
  /** Whether a backup with this text can be what `uninstall` restores; none can by default. */
  readonly isOriginal?: ((text: string) => boolean) | undefined;
}
