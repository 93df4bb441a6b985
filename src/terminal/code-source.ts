/** Python code given on the command line: as text, in a file, or on standard input. */
import { readFile } from 'node:fs/promises';
import { text } from 'node:stream/consumers';
import { BridgeError, messageOf } from '../base/errors.ts';

export type CodeSource =
  | { readonly kind: 'code'; readonly code: string }
  /** A `path` of `-` is standard input. */
  | { readonly kind: 'file'; readonly path: string };

/** Rejects with `USAGE_INVALID` when the file cannot be read. */
export async function readCode(source: CodeSource, input: NodeJS.ReadableStream): Promise<string> {
  if (source.kind === 'code') {
    return source.code;
  }
  const { path } = source;
  try {
    return path === '-' ? await text(input) : await readFile(path, 'utf8');
  } catch (cause) {
    throw new BridgeError('USAGE_INVALID', `could not read '${path}': ${messageOf(cause)}`, {
      cause,
      hint: 'To run code from the command line, use -c CODE; to read it from standard input, use -.',
    });
  }
}
