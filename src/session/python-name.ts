/** Names that the sandbox reports and the host repeats in its own sentences and records. */

/** No name that a person wrote is longer. Chosen. */
const MAX_NAME_CHARS = 64;
const IDENTIFIER = /^[\p{ID_Start}_]\p{ID_Continue}*$/u;

/** Whether the text is a short identifier and nothing else, so that it can carry no sentence. */
export function isPythonName(text: string): boolean {
  return text.length <= MAX_NAME_CHARS && IDENTIFIER.test(text);
}
