/** How many tokens a text has, without a tokenizer, whose tables take megabytes. */

/**
 * Bytes of JSON per token of o200k_base. Measured on the 20 servers of test/real-servers, 793 tools: 1,270,058 bytes are
 * 273,278 tokens, 4.65; single servers have from 4.10 to 4.84.
 */
const DEFINITION_BYTES_PER_TOKEN = 4.6;

/**
 * Bytes of UTF-8 per token of o200k_base. Measured: Python 4.11 (77 files), prose in English 3.87 and 3.91 (176 files), JSON 3.17 and
 * 2.95 (150 files each, compact and indented). Lines of HTML with little text may have 2.
 */
const TEXT_BYTES_PER_TOKEN = 4;
const DENSE_BYTES_PER_TOKEN = 3;

/** Tokens of tool definitions of a size; see `definitionBytes`. The error for one server is at most 11 % (measured). */
export function definitionTokens(bytes: number): number {
  return Math.round(bytes / DEFINITION_BYTES_PER_TOKEN);
}

/** Tokens of code or prose of a size; dense text has up to a third more, or twice as many if it is HTML. */
export function textTokens(bytes: number): number {
  return Math.round(bytes / TEXT_BYTES_PER_TOKEN);
}

/** Tokens of a size of text that may be JSON; code and prose have up to a third less. */
export function denseTokens(bytes: number): number {
  return Math.round(bytes / DENSE_BYTES_PER_TOKEN);
}
