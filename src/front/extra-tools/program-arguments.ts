/** The program that a call of `execute_code` asks for. */
import { MAX_CODE_BYTES } from '../../core/base/limits.ts';
import type { ProgramFile, ProgramRequest, ProgramSource } from '../../core/base/program.ts';
import { shownArgument } from '../server/arguments.ts';
import { type Arguments, readText, refuse } from './arguments.ts';

/** Chosen: no program that a model sends has more. */
const MAX_FILES = 100;
const MAX_FILE_NAME_CHARS = 200;
const UNUSABLE = /[\u0000-\u001F\u007F\\:]/;

const EITHER = 'Send `snippet_name`, or `language` with `entrypoint_code`.';
const EXAMPLE_FILES = 'Send a list such as [{"filename": "data.txt", "content": "…"}].';

/** Throws a protocol error that names the argument that is missing, not allowed or invalid. */
export function readProgram(given: Arguments, timeoutMs: number | undefined): ProgramRequest {
  const source = readSource(given);
  const files = readFiles(given);
  const names = files.map(({ name }) => name);
  const all = source.kind === 'code' && source.fileName !== undefined ? [source.fileName, ...names] : names;
  const twice = all.find((name, index) => all.indexOf(name) !== index);
  if (twice !== undefined) {
    throw refuse(`\`additional_files\` has ${shownArgument(twice)} twice, or it is the entry file.`, 'Rename one.');
  }
  return { source, files, args: [], stdin: new Uint8Array(), timeoutMs, wantsFiles: false };
}

function readSource(given: Arguments): ProgramSource {
  const [snippet, language, code, fileName] = [
    readText(given, 'snippet_name'),
    readText(given, 'language'),
    readText(given, 'entrypoint_code'),
    readText(given, 'entrypoint_filename'),
  ];
  if (snippet !== undefined) {
    const other = ['language', 'entrypoint_code', 'entrypoint_filename'].find((name) => given[name] !== undefined);
    if (other !== undefined) {
      throw refuse(`\`snippet_name\` and \`${other}\` cannot be combined: a snippet has its own code.`, EITHER);
    }
    return { kind: 'snippet', name: snippet };
  }
  if (language === undefined && code === undefined) {
    throw refuse('`snippet_name` is missing, and so are `language` and `entrypoint_code`.', EITHER);
  }
  if (language === undefined || code === undefined) {
    const [missing, present] = code === undefined ? ['entrypoint_code', 'language'] : ['language', 'entrypoint_code'];
    throw refuse(`\`${missing}\` is missing; \`${present}\` needs it.`, EITHER);
  }
  const bytes = Buffer.byteLength(code);
  if (bytes > MAX_CODE_BYTES) {
    const [has, most] = [bytes, MAX_CODE_BYTES].map((count) => count.toLocaleString('en'));
    throw refuse(
      `\`entrypoint_code\` has ${has} bytes; at most ${most} are allowed.`,
      'Send data as `additional_files`.',
    );
  }
  return { kind: 'code', language, code, fileName: fileName && checkName(fileName, 'entrypoint_filename') };
}

function readFiles({ additional_files: given = [] }: Arguments): readonly ProgramFile[] {
  if (!Array.isArray(given)) {
    throw refuse(`\`additional_files\` is ${shownArgument(given)}; it must be a list of files.`, EXAMPLE_FILES);
  }
  if (given.length > MAX_FILES) {
    throw refuse(
      `\`additional_files\` has ${given.length} files; at most ${MAX_FILES} are allowed.`,
      'Send fewer files.',
    );
  }
  return given.map((file: unknown, index) => {
    const where = `additional_files[${index}]`;
    const { filename, content } = Object(file) as { readonly filename?: unknown; readonly content?: unknown };
    if (typeof filename !== 'string') {
      throw refuse(`\`${where}.filename\` is ${shownArgument(filename)}; it must be a string.`, EXAMPLE_FILES);
    }
    if (typeof content !== 'string') {
      throw refuse(`\`${where}.content\` is ${shownArgument(content)}; it must be a string.`, EXAMPLE_FILES);
    }
    return { name: checkName(filename, `${where}.filename`), content: Buffer.from(content) };
  });
}

/** A relative path that stays in the folder of the program. */
function checkName(name: string, argument: string): string {
  const parts = name.split('/');
  const isInside = parts.every((part) => part !== '' && part !== '.' && part !== '..');
  if (!isInside || UNUSABLE.test(name) || name.length > MAX_FILE_NAME_CHARS) {
    throw refuse(
      `\`${argument}\` is ${shownArgument(name)}; it must be a relative path of at most ${MAX_FILE_NAME_CHARS} characters without '..', ':' and '\\'.`,
      'Send a name such as data/input.txt.',
    );
  }
  return name;
}
