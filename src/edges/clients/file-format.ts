/** The contract of a file format, and the errors it throws. */

/** An object in a file of any format. */
export type FileObject = Readonly<Record<string, unknown>>;

/** The place of an entry: the keys that lead to the servers, and the name of one. */
export interface EntryPlace {
  readonly keys: readonly string[];
  readonly name: string;
}

/** A file format. All functions take the whole text, without a byte order mark, and do no I/O. */
export interface FileFormat {
  /** The root of the file; an empty file is an empty object. Throws `FileSyntaxError`. */
  parse(text: string): FileObject;
  /** Adds an entry as the last one of its object. There must be none at that place yet. */
  add(text: string, place: EntryPlace, entry: FileObject): string;
  /** Removes an entry, which must exist. */
  remove(text: string, place: EntryPlace): string;
}

/** The text is invalid in its format. `line` and `column` count from 1. */
export class FileSyntaxError extends Error {
  override readonly name = 'FileSyntaxError';
  readonly line: number;
  readonly column: number;

  constructor(message: string, position: { readonly line: number; readonly column: number }) {
    super(message);
    this.line = position.line;
    this.column = position.column;
  }
}

/** The file is valid, but cannot safely be edited in place. */
export class UnsafeEditError extends Error {
  override readonly name = 'UnsafeEditError';
}

/** The line and column of an offset, counting from 1. */
export function positionAt(text: string, offset: number): { line: number; column: number } {
  const before = text.slice(0, offset).split('\n');
  return { line: before.length, column: (before.at(-1)?.length ?? 0) + 1 };
}
