/** Prints what a tool answered, and writes what is no text into files. */
import { writeFile } from 'node:fs/promises';
import { BridgeError, messageOf } from '../base/errors.ts';
import { escapeInLines } from '../base/log.ts';
import { type BinaryPart, numberedFile, type ReadResult } from './call-result.ts';

export interface ShowOptions {
  readonly writeOut: (text: string) => void;
  readonly writeError: (text: string) => void;
  /** Whether what is written is shown on a terminal, which control characters would drive. */
  readonly isShown?: boolean | undefined;
  /** Where images, sounds and files go, numbered when there are several; the text, when there are none. */
  readonly file: string | undefined;
  /** The whole answer, printed in place of its text. */
  readonly json: string | undefined;
}

/** Text to stdout, or of a tool that failed to stderr. Rejects with `USAGE_INVALID` when a file cannot be written. */
export async function showResult(
  tool: string,
  { text, parts, isError }: ReadResult,
  options: ShowOptions,
): Promise<void> {
  const { file, json, writeOut, writeError } = options;
  // What goes to stderr is for people, wherever stdout goes.
  const shown = options.isShown === true || isError ? escapeInLines(text) : text;
  const isForFile = file !== undefined && parts.length === 0 && !isError;
  if (json !== undefined) {
    writeOut(`${json}\n`);
  } else if (isError) {
    writeError(`TOOL_FAILED: ${tool}: ${shown === '' ? 'it gave no reason\n' : shown}`);
  } else if (!isForFile) {
    writeOut(shown);
  }
  if (isForFile) {
    await writeTo(file, text);
    writeError(`The text is in ${file}.\n`);
  }
  for (const [index, part] of parts.entries()) {
    writeError(await showPart(part, file && numberedFile(file, index)));
  }
}

/** What became of an image, a sound or a file, one line. */
async function showPart({ kind, mimeType, bytes }: BinaryPart, file: string | undefined): Promise<string> {
  const what = escapeInLines(`${kind}, ${mimeType}, ${bytes.length.toLocaleString('en-US')} bytes`);
  if (file === undefined) {
    return `${what}: not shown; --output FILE writes it.\n`;
  }
  await writeTo(file, bytes);
  return `${what}: written to ${file}.\n`;
}

async function writeTo(file: string, content: string | Buffer): Promise<void> {
  try {
    await writeFile(file, content);
  } catch (cause) {
    throw new BridgeError('USAGE_INVALID', `the call was made, but ${file} could not be written: ${messageOf(cause)}`, {
      cause,
    });
  }
}
