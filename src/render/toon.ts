/** TOON (Token-Oriented Object Notation), which spends fewer tokens on lists of records than JSON: answers, and values of code. */
import { BridgeError, messageOf } from '../base/errors.ts';
import { MAX_TOON_CHARS } from '../base/limits.ts';
import { renderJsonBlock } from './json.ts';
import type { Payload } from './payload.ts';

/** A JSON value as TOON. Rejects with `LIMIT_RESULT` for a text that is too long, `CALL_REFUSED` for one that is not Unicode. */
export async function encodeToon(value: unknown): Promise<string> {
  // Loaded on demand: not every session uses it.
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
    // Everything is checked before the first line.
    return encodeLines(value);
  } catch (error) {
    throw new BridgeError('CALL_REFUSED', `the value cannot be written as TOON: ${messageOf(error)}`, { cause: error });
  }
}

/** The whole payload in one fenced block; a JSON block when the encoder fails. */
export async function renderToon(payload: Payload): Promise<string> {
  try {
    return `\`\`\`toon\n${await encodeToon(payload)}\n\`\`\``;
  } catch {
    // The same facts in another notation; nothing is lost.
    return renderJsonBlock(payload);
  }
}
