/** Counting of tokens, for the comparison and the evaluation. */
import { encode } from 'gpt-tokenizer/encoding/o200k_base';

/** The encoding of the counted tokens. */
export const ENCODING = 'o200k_base';
/** Replaced by a fixed path before counting: the random name and this machine's temporary folder would change the token counts. */
const FOLDER = /(?:\/[\w.-]+)*\/(?:comparison|eval)-\w{6}/g;

export function countTokens(text: string): number {
  return encode(text.replaceAll(FOLDER, '/tmp/notes')).length;
}

export function tokensOf(value: unknown): number {
  return countTokens(JSON.stringify(value));
}
