import { describe, expect, it } from 'vitest';
import { checkFiles, foldersOf, whyBadName, withGoodNames } from '../../../src/features/languages/file-names.ts';
import { MAX_INPUT_BYTES } from '../../../src/features/languages/limits.ts';

const none = new Uint8Array();
const file = (name: string, size = 1) => ({ name, content: new Uint8Array(size) });

describe('names of files', () => {
  it('are relative paths inside the working directory', () => {
    for (const name of ['a', 'a.txt', 'data/input.csv', '.hidden', 'ä/ö', 'a..b', `${'n'.repeat(200)}.txt`]) {
      expect(whyBadName(name)).toBeUndefined();
    }
    const bad = [
      '',
      '/etc/passwd',
      '..',
      '../a',
      'a/../b',
      'a//b',
      'a/',
      './a',
      'a\0b',
      'a\nb',
      'a\\b',
      '-rf',
      'n'.repeat(241),
      '\ud800',
    ];
    expect(bad.filter((name) => whyBadName(name) === undefined)).toEqual([]);
  });

  // Those of bash and Python came back as `../../../etc/cron.d/x`; those of JavaScript were left out without a word.
  it('that come back stay inside it, too, and the others are named', () => {
    const good = ['a', 'data/out.csv', '-x', 'n'.repeat(1_000)];
    const bad = ['', '/etc/x', '../../../etc/cron.d/x', 'a/../../x', 'a\\x', 'a\nb', 'n'.repeat(1_001)];
    const kept = withGoodNames([...good, ...bad].map((name) => file(name)));
    expect([kept.files.map(({ name }) => name), kept.bad]).toEqual([good, bad]);
  });

  it('do not clash with the program or with each other', () => {
    const check =
      (...names: string[]) =>
      () =>
        checkFiles(
          file('main.mjs'),
          names.map((name) => file(name)),
          none,
        );
    expect(check('main.mjs')).toThrow('a file has the name of the program: main.mjs');
    expect(check('a', 'a')).toThrow('two files have the same name: a');
    expect(check('a', 'a/b/c')).toThrow('a file is where a/b/c needs a folder');
    expect(check('main.mjs/x')).toThrow('needs a folder');
    expect(check('../x')).toThrow('the file name "../x" is invalid');
    expect(check('a/b', 'a/c')().map(({ name }) => name)).toEqual(['main.mjs', 'a/b', 'a/c']);
    expect(foldersOf('a/b/c')).toEqual(['a', 'a/b']);
  });

  it('are few enough, and their contents small enough', () => {
    const many = Array.from({ length: 1000 }, (_, index) => file(`f${index}`));
    expect(() => checkFiles(file('main'), many, none)).toThrow('there are 1001 files; the limit is 1000');
    expect(() => checkFiles(file('main'), [file('big', MAX_INPUT_BYTES)], none)).toThrow(
      'the limit is 67,108,864 bytes',
    );
  });
});
