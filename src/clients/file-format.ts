/** The contract of one format of client files, and the faults it reports. */

/** An object of a file, whatever its format. */
export type FileObject = Readonly<Record<string, unknown>>;

/** A place in an object: the keys of the servers and the name of one. */
export interface EntryPlace {
  readonly keys: readonly string[];
  readonly name: string;
}

/** One format. All functions take the whole text, without a byte order mark, and do no I/O. */
export interface FileFormat {
  /** The root of the file; an empty file is an empty object. Throws `FileSyntaxError`. */
  parse(text: string): FileObject;
  /** The text with a new entry at a place where there is none, as the last of its object. */
  add(text: string, place: EntryPlace, entry: FileObject): string;
  /** The text without an entry that is there. */
  remove(text: string, place: EntryPlace): string;
}

/** The text is not what its format demands. `line` and `column` count from 1. */
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

/** The file is right, but written in a way that cannot be changed in place. */
export class UnsafeEditError extends Error {
  override readonly name = 'UnsafeEditError';
}

/** Line and column, from 1, of a place in a text. */
export function positionAt(text: string, offset: number): { line: number; column: number } {
  const before = text.slice(0, offset).split('\n');
  return { line: before.length, column: (before.at(-1)?.length ?? 0) + 1 };
}
