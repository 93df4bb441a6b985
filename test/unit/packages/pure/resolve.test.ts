import { describe, expect, it } from 'vitest';
import { FetchFailure } from '../../../../src/features/packages/pure/failure.ts';
import {
  type FileMetadata,
  type ResolveRequest,
  resolvePackages,
} from '../../../../src/features/packages/pure/resolve.ts';
import type { ListedFile, Project } from '../../../../src/features/packages/pure/simple-index.ts';

interface Upload extends Partial<ListedFile> {
  readonly requires?: readonly string[];
}

/** An index with these files by name, and what it was asked. */
function indexOf(uploads: Readonly<Record<string, Upload>>) {
  const asked: string[] = [];
  const files = Object.entries(uploads).map(([filename, { requires = [], ...facts }]) => ({
    requires,
    file: {
      filename,
      url: new URL(`https://files.example/${filename}`),
      sha256: 'a'.repeat(64),
      requiresPython: '',
      uploadedAt: new Date('2020-01-01'),
      isYanked: false,
      hasMetadata: true,
      host: 'index.example',
      ...facts,
    },
  }));
  return {
    asked,
    async project(name: string): Promise<Project> {
      asked.push(name);
      const own = files.filter(({ file }) => file.filename.split('-')[0]?.replaceAll('_', '-') === name);
      const usable = own.filter(({ file }) => file.filename.endsWith('-none-any.whl'));
      return {
        files: usable.map(({ file }) => file),
        hasCompiled: own.some(({ file }) => /-(?!any\.)[^-]+\.whl$/.test(file.filename)),
      };
    },
    async metadata({ filename, sha256 = '' }: ListedFile): Promise<FileMetadata> {
      const lines = files.find(({ file }) => file.filename === filename)?.requires ?? [];
      const all = ['Name: x', ...lines.map((line) => `Requires-Dist: ${line}`), '', 'Requires-Dist: not-a-header'];
      return { text: all.join('\n'), sha256 };
    },
  };
}

async function resolve(
  uploads: Readonly<Record<string, Upload>>,
  requirements: readonly string[],
  request: Partial<ResolveRequest> = {},
) {
  const index = indexOf(uploads);
  const given = { constraints: [], uploadedBefore: undefined, pythonVersion: '3.14', requirements, ...request };
  const choices = await resolvePackages(given, index);
  return choices.map(({ name, version }) => `${name} ${version}`);
}

async function failure(...args: Parameters<typeof resolve>): Promise<{ kind: string; message: string }> {
  const found = await resolve(...args).then(String, (error: unknown) => error);
  if (!(found instanceof FetchFailure)) {
    throw new Error(`no failure: ${String(found)}`);
  }
  return { kind: found.kind, message: found.message };
}

const any = (name: string) => `${name}-py3-none-any.whl`;

describe('a resolution', () => {
  it('takes the newest version by number, not by text', async () => {
    expect(await resolve({ [any('a-1.9')]: {}, [any('a-1.10')]: {}, [any('a-1.2')]: {} }, ['a'])).toEqual(['a 1.10']);
  });

  it('leaves out what was withdrawn, is a pre-release, or needs another Python', async () => {
    const uploads = {
      [any('a-1.0')]: {},
      [any('a-2.0')]: { isYanked: true },
      [any('a-3.0')]: { requiresPython: '<3.12' },
      [any('a-4.0rc1')]: {},
      'a-5.0-py2-none-any.whl': {},
      'a-6.0-py315-none-any.whl': {},
      'a-7.0-cp314-cp314-manylinux_2_28_x86_64.whl': {},
      'a-8.0.tar.gz': {},
    };
    expect(await resolve(uploads, ['a'])).toEqual(['a 1.0']);
    expect(await resolve(uploads, ['a>3.0'], {})).toEqual(['a 4.0rc1']);
  });

  it('takes wheels with several tags and with a build number', async () => {
    expect(await resolve({ 'a-1.0-py2.py3-none-any.whl': {}, 'a_b-1.0-2-py3-none-any.whl': {} }, ['a', 'a-b'])).toEqual(
      ['a 1.0', 'a-b 1.0'],
    );
  });

  it('follows dependencies, their extras and their markers', async () => {
    const uploads = {
      [any('app-1.0')]: {
        requires: [
          'lib[fast]>=1',
          'old; python_version < "3.11"',
          'win; sys_platform == "win32"',
          'tests; extra == "test"',
        ],
      },
      [any('lib-1.0')]: { requires: ['speed; extra == "fast"', 'slow; extra == "slow"'] },
      [any('speed-1.0')]: { requires: ['App'] },
    };
    expect(await resolve(uploads, ['app'])).toEqual(['app 1.0', 'lib 1.0', 'speed 1.0']);
    expect(await resolve({ ...uploads, [any('tests-1.0')]: {} }, ['app[test]'])).toContain('tests 1.0');
  });

  it('chooses again if a later requirement does not fit', async () => {
    const uploads = {
      [any('a-1.0')]: {},
      [any('a-2.0')]: {},
      [any('b-1.0')]: { requires: ['c'] },
      [any('c-1.0')]: { requires: ['a<2'] },
    };
    expect(await resolve(uploads, ['a', 'b'])).toEqual(['a 1.0', 'b 1.0', 'c 1.0']);
  });

  it('keeps the versions of the session', async () => {
    const uploads = { [any('a-1.0')]: {}, [any('a-2.0')]: {}, [any('b-1.0')]: { requires: ['a'] } };
    expect(await resolve(uploads, ['b'], { constraints: ['a==1.0'] })).toEqual(['b 1.0', 'a 1.0']);
  });

  it('asks for each project once, whatever it takes', async () => {
    const index = indexOf({
      [any('a-1.0')]: { requires: ['b', 'c'] },
      [any('b-1.0')]: { requires: ['a', 'c<2'] },
      [any('c-1.0')]: {},
      [any('c-2.0')]: {},
    });
    await resolvePackages(
      { requirements: ['a', 'c'], constraints: [], uploadedBefore: undefined, pythonVersion: '3.14' },
      index,
    );
    expect(index.asked.toSorted()).toEqual(['a', 'b', 'c']);
  });

  it('ends for packages that need each other without end', async () => {
    const many = Object.fromEntries(
      Array.from({ length: 600 }, (_, number) => [any(`p${number}-1.0`), { requires: [`p${number + 1}`] }]),
    );
    expect(await failure(many, ['p0'])).toEqual({ kind: 'limit', message: 'more than 500 packages are needed' });
  });
});

describe('a failure', () => {
  it.each([
    ['an unknown name', {}, ['nowhere'], { kind: 'missing', message: 'the index has no wheel of nowhere' }],
    [
      'no version that fits',
      { [any('a-1.0')]: {}, [any('a-1.1')]: {} },
      ['a>=2'],
      { kind: 'missing', message: 'no version of a>=2 fits\nthe index has 1.0, 1.1' },
    ],
    [
      'C code',
      { 'a-1.0-cp314-cp314-manylinux_2_28_x86_64.whl': {} },
      ['a'],
      {
        kind: 'platform',
        message: 'the embedded sandbox can only use packages in pure Python, and a has compiled parts',
      },
    ],
    // Both were once refused as if another engine would help.
    ['only sources', { 'a-1.0.tar.gz': {} }, ['a'], { kind: 'missing', message: 'the index has no wheel of a' }],
    [
      'another Python',
      { [any('a-1.0')]: { requiresPython: '<3.9' } },
      ['a'],
      { kind: 'missing', message: 'the index has no wheel of a for Python 3.14' },
    ],
    [
      'a conflict',
      { [any('a-1.0')]: {}, [any('a-2.0')]: {}, [any('b-1.0')]: { requires: ['a<2'] } },
      ['a>=2', 'b'],
      { kind: 'conflict', message: 'the request requires a>=2\nb requires a<2' },
    ],
    [
      'an address as a dependency',
      { [any('a-1.0')]: { requires: ['b @ http://127.0.0.1/b.whl'] } },
      ['a'],
      { kind: 'wheel', message: 'a 1.0 requires "b @ http://127.0.0.1/b.whl", which names no package of an index' },
    ],
  ])('%s', async (_, uploads, requirements, expected) => {
    expect(await failure(uploads, requirements)).toEqual(expected);
  });

  it('says which versions are too young, or that the index gives no times', async () => {
    const request = { uploadedBefore: new Date('2026-01-01') };
    const young = { [any('a-1.0')]: { uploadedAt: new Date('2026-01-02') } };
    expect(await failure(young, ['a'], request)).toEqual({
      kind: 'age',
      message: 'no version of a fits that was uploaded before 2026-01-01\nuploaded since: 1.0 (2026-01-02)',
    });
    expect(await failure({ [any('a-1.0')]: { uploadedAt: undefined } }, ['a'], request)).toEqual({
      kind: 'times',
      message: 'index.example gives no upload times, so the minimum age of files cannot be checked',
    });
  });

  it.each([
    [20_000, 'more than 10000 lines'],
    [9_000, 'more than 8388608 characters to compare'],
  ])('ends what would take hours: a package with %i extras of its own', async (count, limit) => {
    const requires = Array.from({ length: count }, (_, at) => `a[e${at}]; extra != "${'x'.repeat(100)}"`);
    expect(await failure({ [any('a-1.0')]: { requires } }, ['a'])).toEqual({
      kind: 'limit',
      message: `a 1.0 states too many requirements: ${limit}`,
    });
  });
});

it('takes an extra in any spelling', async () => {
  const uploads = { [any('a-1.0')]: { requires: ['b; extra == "All_Deps"'] }, [any('b-1.0')]: {} };
  expect(await resolve(uploads, ['a[all.deps]'])).toEqual(['a 1.0', 'b 1.0']);
});
