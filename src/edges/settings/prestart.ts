/**
 * The values of `MCP_BRIDGE_PRESTART` and `MCP_BRIDGE_PREWARM_IMPORTS`: which servers are started before the first cell, and what
 * sandboxes import until a session needs them.
 */

/** Beyond this, starting them would compete with the first cell itself. Chosen. */
export const MAX_PRESTARTED = 8;
/** Chosen: more than a project usually needs. */
export const MAX_MODULES_AHEAD = 12;
/** The longest name of a server. */
const MAX_NAME_CHARS = 128;
const MODULE = /^[A-Za-z_]\w*(\.[A-Za-z_]\w*)*$/;

/** Nothing, what was used last, or these, as a person wrote them. */
export type PrestartMode = 'off' | 'recent' | readonly string[];

/** Throws an `Error` that says what is wrong. */
export function parsePrestart(text: string): PrestartMode {
  return parseMode(text, 'servers', MAX_PRESTARTED);
}

/** Throws an `Error` that says what is wrong. */
export function parsePrewarmImports(text: string): PrestartMode {
  const mode = parseMode(text, 'modules', MAX_MODULES_AHEAD);
  const wrong = typeof mode === 'string' ? undefined : mode.find((name) => !MODULE.test(name));
  if (wrong !== undefined) {
    throw new Error(`'${wrong}' is not the name of a module`);
  }
  return mode;
}

function parseMode(text: string, what: string, most: number): PrestartMode {
  const word = text.trim().toLowerCase();
  if (word === 'off' || word === 'recent') {
    return word;
  }
  const names = text.split(',').map((name) => name.trim());
  for (const name of names) {
    check(name);
  }
  const distinct = [...new Set(names)];
  if (distinct.length > most) {
    throw new Error(`it names ${distinct.length} ${what}; the limit is ${most}`);
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
