/**
 * A long text of an answer, which is read in pieces while it is written. As a string, each request that asks for it would have it
 * in memory four times: as bytes, as text, as JSON and as bytes again. In JSON it is a token, which whoever writes the JSON replaces.
 */
import { randomBytes } from 'node:crypto';
import { collectAfterPiece } from './garbage.ts';

export interface OpenedText {
  readonly pieces: AsyncIterable<string>;
  close(): Promise<void>;
}

/** Opens the text. Rejects if it is not there any more, or is another one. */
export type OpenText = () => Promise<OpenedText>;

export class LargeText {
  /** It cannot be guessed, so no other text contains it. */
  readonly token = `large-text-${randomBytes(16).toString('hex')}`;
  readonly open: OpenText;

  constructor(open: OpenText) {
    this.open = open;
  }

  toJSON(): string {
    return this.token;
  }
}

/** The large texts in a value. */
export function largeTextsIn(value: unknown): LargeText[] {
  if (value instanceof LargeText) {
    return [value];
  }
  return typeof value === 'object' && value !== null ? Object.values(value).flatMap(largeTextsIn) : [];
}

/** `json`, which contains the token of a text, with the text in its place. Closes the text, also if the caller stops. */
export async function* withPieces(
  json: string,
  { token }: LargeText,
  { close, pieces }: OpenedText,
): AsyncGenerator<string, void> {
  try {
    const at = json.indexOf(token);
    yield json.slice(0, at);
    for await (const piece of pieces) {
      yield JSON.stringify(piece).slice(1, -1);
      collectAfterPiece(2 * piece.length);
    }
    yield json.slice(at + token.length);
  } finally {
    await close();
  }
}
