// @ts-check
/**
 * Tags of test files: the first line of a file may be `// Tags: anywhere, full`.
 *
 * - `anywhere`: it depends neither on the user nor on the kind of engine, so on one machine it is enough that one user runs it.
 * - `full`: it takes long and shows little that shorter ones do not show; only `npm test -- all` runs it.
 *
 * MCP_BRIDGE_TEST_TAGS chooses files by them: `anywhere` those that have the tag, `!anywhere,!full` those that have neither.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const TESTS = fileURLToPath(new URL('..', import.meta.url));
const KNOWN = ['anywhere', 'full'];

/**
 * The files of a layer, as paths from the root of the project, whose tags fit.
 * @param {string} layer
 * @param {string} wanted As in MCP_BRIDGE_TEST_TAGS.
 */
export function filesWithTags(layer, wanted) {
  const conditions = wanted.split(',').filter((word) => word !== '');
  const unknown = conditions.find((word) => !KNOWN.includes(word.replace('!', '')));
  if (unknown !== undefined) {
    throw new Error(`unknown tag ${unknown}; use ${KNOWN.join(', ')}, with or without "!"`);
  }
  return readdirSync(join(TESTS, layer), { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('.test.ts'))
    .map((file) => `test/${layer}/${file.replaceAll('\\', '/')}`)
    .filter((file) => {
      const tags = tagsOf(file);
      return conditions.every((word) => tags.includes(word.replace('!', '')) !== word.startsWith('!'));
    });
}

/**
 * @param {string} file From the root of the project.
 * @returns {string[]}
 */
function tagsOf(file) {
  const [first = ''] = readFileSync(join(TESTS, '..', file), 'utf8').split('\n', 1);
  const tags = /^\/\/ Tags: (.*)$/.exec(first)?.[1]?.split(', ') ?? [];
  const unknown = tags.find((tag) => !KNOWN.includes(tag));
  if (unknown !== undefined) {
    throw new Error(`${file} has the unknown tag ${unknown}; use ${KNOWN.join(', ')}`);
  }
  return tags;
}
