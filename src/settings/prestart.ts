/** The value of `MCP_BRIDGE_PRESTART`: which servers are started before the first cell. */

/** Beyond this, starting them would compete with the first cell itself. Chosen. */
export const MAX_PRESTARTED = 8;
/** The longest name of a server. */
const MAX_NAME_CHARS = 128;

/** No servers, those that were used last, or these, as a person wrote them. */
export type PrestartMode = 'off' | 'recent' | readonly string[];

/** Throws an `Error` that says what is wrong. */
export function parsePrestart(text: string): PrestartMode {
  const word = text.trim().toLowerCase();
  if (word === 'off' || word === 'recent') {
    return word;
  }
  const names = text.split(',').map((name) => name.trim());
  for (const name of names) {
    check(name);
  }
  const distinct = [...new Set(names)];
  if (distinct.length > MAX_PRESTARTED) {
    throw new Error(`it names ${distinct.length} servers; the limit is ${MAX_PRESTARTED}`);
  }
  return distinct;
}

function check(name: string): void {
  if (name === '') {
    throw new Error('a name is empty');
  }
  if (name.length > MAX_NAME_CHARS || /\p{Cc}/u.test(name)) {
    throw new Error(`a name must have at most ${MAX_NAME_CHARS} characters and no control characters`);
  }
  if (['off', 'recent'].includes(name.toLowerCase())) {
    throw new Error(`'${name}' stands alone, not in a list of names`);
  }
}
