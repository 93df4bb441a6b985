/** TOON (Token-Oriented Object Notation) for answers and for values of code. It needs fewer tokens for lists of records than JSON. */
import { BridgeError, messageOf } from '../base/errors.ts';
import { MAX_TOON_CHARS } from '../base/limits.ts';
import type { Payload } from './payload.ts';

/** A JSON value as TOON. Rejects with `LIMIT_RESULT` if the text is too long, and with `CALL_REFUSED` if it is not valid Unicode. */
export async function encodeToon(value: unknown): Promise<string> {
  // Loaded on demand, because not every session uses it.
  const { encodeLines } = await import('@toon-format/toon');
  const lines: string[] = [];
  let chars = 0;
  for (const line of linesOf(value, encodeLines)) {
    chars += line.length + 1;
    if (chars > MAX_TOON_CHARS) {
      const limit = MAX_TOON_CHARS.toLocaleString('en-US');
      throw new BridgeError('LIMIT_RESULT', `the value is longer than ${limit} characters as TOON`, {
        hint: 'Write fewer rows at once.',
      });
    }
    lines.push(line);
  }
  return lines.join('\n');
}

function linesOf(value: unknown, encodeLines: (value: unknown) => Iterable<string>): Iterable<string> {
  try {
    // The encoder checks everything before the first line.
    return encodeLines(value);
  } catch (error) {
    throw new BridgeError('CALL_REFUSED', `the value cannot be written as TOON: ${messageOf(error)}`, { cause: error });
  }
}

/** The whole payload in one fenced block; as JSON if the encoder fails. */
export async function renderToon(payload: Payload): Promise<string> {
  try {
    return `\`\`\`toon\n${await encodeToon(payload)}\n\`\`\``;
  } catch {
    // Nothing is lost: it is the same data in another notation.
    return `\`\`\`json\n${JSON.stringify(payload)}\n\`\`\``;
  }
}
