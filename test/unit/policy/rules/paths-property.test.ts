/** Random paths: every definite verdict holds for every way in which programs read paths. */
import { posix } from 'node:path';
import * as fc from 'fast-check';
import { expect, it } from 'vitest';
import { isUnder } from '../../../../src/features/policy/rules/paths.ts';

const FOLDER = '/data/in';
const PARTS = [
  '/',
  '//',
  '\\',
  '.',
  '..',
  '...',
  ' ',
  '%2e%2e',
  '%2F',
  'data',
  'DATA',
  'in',
  'In',
  'x',
  'etc',
  '~',
  'C:',
  'file:',
  '\u200b',
  '\u0000',
  '\uff0e\uff0e',
  '\uff0f',
  'i\u0307n',
  '\n',
  'data/in',
  '/data/in',
  '/data/in/',
];

/** Ways to read a path; undefined if a path cannot be read in that way. */
const READERS: readonly ((path: string) => string | undefined)[] = [
  (path) => path,
  (path) => path.trim(),
  (path) => path.normalize('NFKC'),
  (path) => path.replaceAll('\\', '/'),
  (path) => path.split('\u0000')[0],
  (path) => path.replaceAll(/[\p{Cc}\p{Cf}]/gu, ''),
  (path) => {
    try {
      return decodeURIComponent(path);
    } catch {
      return undefined;
    }
  },
  (path) =>
    path
      .split('/')
      .map((segment) => segment.trim())
      .join('/'),
];

/** Whether a path leads into the folder, seen from a working directory. */
function isInside(path: string, cwd: string): boolean {
  const resolved = posix.resolve(cwd, path);
  return resolved === FOLDER || resolved.startsWith(`${FOLDER}/`);
}

it('a definite verdict holds for every reader', () => {
  const begin = fc.constantFrom('', '/', '/data/', '/data/in', '/data/in/');
  const rest = fc.array(fc.constantFrom(...PARTS), { maxLength: 6 });
  const paths = fc.tuple(begin, rest).map(([first, parts]) => first + parts.join(''));
  fc.assert(
    fc.property(paths, (path) => {
      const verdict = isUnder([FOLDER], path).is;
      fc.pre(verdict !== 'unsure');
      const read = READERS.map((reader) => reader(path)).filter((text) => text !== undefined);
      const inside = read.flatMap((text) => ['/', FOLDER, '/etc'].map((cwd) => isInside(text, cwd)));
      expect(new Set(inside)).toEqual(new Set([verdict === 'yes']));
    }),
    { numRuns: 500 },
  );
});
