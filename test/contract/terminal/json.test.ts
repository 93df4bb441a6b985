/** JSON that commands print is escaped for a terminal: names and texts in it come from servers and from code. */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';
import { PACKAGE_ROOT } from '../../../src/core/base/package.ts';

const ROOT = fileURLToPath(new URL('src', PACKAGE_ROOT));
/** What prints, or chooses between JSON and text, up to the end of the statement. */
const PRINTED = /(?:writeOut\(|isJson \?)[^;]*?\bJSON\.stringify\(/g;

/** Each statement that prints JSON past `renderJson` and `escapeInJson`. */
function unescapedIn(source: string): readonly string[] {
  return [...source.matchAll(PRINTED)]
    .map(([text]) => text)
    .filter((text) => !text.endsWith('escapeInJson(JSON.stringify('));
}

it('is printed by renderJson or escapeInJson', () => {
  const files = readdirSync(ROOT, { recursive: true, encoding: 'utf8' }).filter((file) => file.endsWith('.ts'));
  const found = files.flatMap((file) =>
    unescapedIn(readFileSync(join(ROOT, file), 'utf8')).map((text) => `${file}: ${text}`),
  );
  expect(found).toEqual([]);
});

it('would be found if it were printed as it is', () => {
  expect(unescapedIn('writeOut(line.isJson ? `${JSON.stringify(reported, undefined, 2)}\\n` : text);')).toHaveLength(1);
  expect(unescapedIn('const text = isJson ? `${JSON.stringify(json)}\\n` : other;')).toHaveLength(1);
  expect(unescapedIn('writeOut(`${escapeInJson(JSON.stringify(entry))}`);')).toEqual([]);
});
