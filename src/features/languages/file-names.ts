/** Names of the files of programs. They come from code and from models, and from sandboxes on the way back. */
import { BridgeError } from '../../core/base/errors.ts';
import type { ProgramFile } from '../../core/base/program.ts';
import { MAX_FILES, MAX_INPUT_BYTES, MAX_NAME_BYTES, MAX_RETURNED_NAME_BYTES } from './limits.ts';

/** Why a name cannot be that of a file that a program gets, as a clause; undefined if it can. */
export function whyBadName(name: string): string | undefined {
  if (Buffer.byteLength(name) > MAX_NAME_BYTES) {
    return `it has more than ${MAX_NAME_BYTES} bytes`;
  }
  return name.startsWith('-') ? 'it would be read as an option' : whyNotInside(name);
}

/**
 * The files that a program has left and whose names are those of files in its folder. A sandbox chooses the names, and whoever
 * gets the files may write them to a disk.
 */
export function withGoodNames(files: readonly ProgramFile[]): {
  readonly files: ProgramFile[];
  readonly bad: string[];
} {
  const isGood = ({ name }: ProgramFile): boolean =>
    Buffer.byteLength(name) <= MAX_RETURNED_NAME_BYTES && whyNotInside(name) === undefined;
  return { files: files.filter(isGood), bad: files.filter((file) => !isGood(file)).map(({ name }) => name) };
}

/** Why a name is not that of a file in /workspace or in a folder of it, as a clause; undefined if it is. */
function whyNotInside(name: string): string | undefined {
  if (name === '') {
    return 'it is empty';
  }
  if (/[\u0000-\u001f\u007f\\]/.test(name) || !name.isWellFormed()) {
    return 'it has a backslash or a control character';
  }
  if (name.startsWith('/')) {
    return 'it must be relative';
  }
  return name.split('/').some((part) => part === '' || part === '.' || part === '..')
    ? 'it has an empty part, "." or ".."'
    : undefined;
}

/** The entry file and the others, if their names fit together. Throws `CALL_REFUSED` naming a file that does not. */
export function checkFiles(entry: ProgramFile, others: readonly ProgramFile[], stdin: Uint8Array): ProgramFile[] {
  const files = [entry, ...others];
  if (files.length > MAX_FILES) {
    throw refused(`there are ${files.length} files; the limit is ${MAX_FILES}`, 'Pass fewer files.');
  }
  const bytes = files.reduce((sum, { content }) => sum + content.byteLength, stdin.byteLength);
  if (bytes > MAX_INPUT_BYTES) {
    const sizes = `${bytes.toLocaleString('en-US')} bytes; the limit is ${MAX_INPUT_BYTES.toLocaleString('en-US')} bytes`;
    throw refused(`code, files and input have ${sizes}`, 'Pass less.');
  }
  const names = new Set<string>();
  for (const { name } of files) {
    const reason = whyBadName(name);
    if (reason !== undefined) {
      throw refused(`the file name ${JSON.stringify(name.slice(0, 300))} is invalid: ${reason}`, USE_RELATIVE);
    }
    if (names.has(name)) {
      const what = name === entry.name ? 'a file has the name of the program' : 'two files have the same name';
      throw refused(`${what}: ${name}`, 'Rename one of them.');
    }
    names.add(name);
  }
  const folder = files.map(({ name }) => name).find((name) => foldersOf(name).some((each) => names.has(each)));
  if (folder !== undefined) {
    throw refused(`a file is where ${folder} needs a folder`, 'Rename one of them.');
  }
  return files;
}

const USE_RELATIVE = 'Use a relative path such as data/input.csv.';

/** `a` and `a/b` for `a/b/c`. */
export function foldersOf(name: string): string[] {
  const parts = name.split('/').slice(0, -1);
  return parts.map((_, index) => parts.slice(0, index + 1).join('/'));
}

function refused(message: string, hint: string): BridgeError {
  return new BridgeError('CALL_REFUSED', message, { hint });
}
