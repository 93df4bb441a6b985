/** JSON values as Python literals, as `repr` writes them. Every character that hides or reorders text is escaped. */

/** Characters that Python escapes: categories Other and Separator except the space. Source: Python 3.14, `str.isprintable`. */
const UNPRINTABLE = /[\p{C}\p{Z}\\]/gu;
const SHORT_ESCAPES: ReadonlyMap<string, string> = new Map([
  ['\\', '\\\\'],
  ['\n', '\\n'],
  ['\r', '\\r'],
  ['\t', '\\t'],
  [' ', ' '],
]);

/** A string literal in single quotes, or in double quotes if that avoids escaping. */
export function pythonString(text: string): string {
  const quote = text.includes("'") && !text.includes('"') ? '"' : "'";
  return `${quote}${text.replace(UNPRINTABLE, escapeCharacter).replaceAll(quote, `\\${quote}`)}${quote}`;
}

function escapeCharacter(character: string): string {
  const short = SHORT_ESCAPES.get(character);
  if (short !== undefined) {
    return short;
  }
  const code = character.codePointAt(0) ?? 0;
  const hex = code.toString(16);
  if (code <= 0xff) {
    return `\\x${hex.padStart(2, '0')}`;
  }
  return code <= 0xffff ? `\\u${hex.padStart(4, '0')}` : `\\U${hex.padStart(8, '0')}`;
}

/** A JSON value as a Python literal; undefined if it has none or it is longer than `maxChars`. */
export function pythonLiteral(value: unknown, maxChars: number): string | undefined {
  const text = write(value, maxChars);
  return text === undefined || text.length > maxChars ? undefined : text;
}

function write(value: unknown, maxChars: number): string | undefined {
  switch (typeof value) {
    case 'string':
      return value.length > maxChars ? undefined : pythonString(value);
    case 'boolean':
      return value ? 'True' : 'False';
    case 'number':
      return Number.isFinite(value) ? String(value) : undefined;
    default:
      return value === null ? 'None' : writeContainer(value, maxChars);
  }
}

/** Limited work: each level has two characters less, and a member that does not fit ends it. */
function writeContainer(value: unknown, maxChars: number): string | undefined {
  if (typeof value !== 'object' || value === null || maxChars < 2 || Object.keys(value).length > maxChars) {
    return undefined;
  }
  const members = Array.isArray(value)
    ? value.map((member) => write(member, maxChars - 2))
    : Object.entries(value).map(([key, member]) => {
        const text = write(member, maxChars - 2);
        return text === undefined ? undefined : `${pythonString(key)}: ${text}`;
      });
  const inner = members.includes(undefined) ? undefined : members.join(', ');
  if (inner === undefined) {
    return undefined;
  }
  return Array.isArray(value) ? `[${inner}]` : `{${inner}}`;
}
