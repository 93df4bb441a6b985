import { describe, expect, it } from 'vitest';
import { meetsSpecifier } from '../../../../src/core/base/package-versions.ts';
import { Policies } from '../../../../src/features/policy/rules/policies.ts';
import { readPolicy } from '../../../../src/features/policy/rules/schema.ts';

const FILE = '/state/policy.json';
const policies = (packages: unknown) => new Policies(readPolicy({ packages }, FILE), new Map());
const decide = (packages: unknown, name: string, version?: string) => policies(packages).ofPackage(name, version);

// As `packaging.specifiers` says, with `prereleases=True`.
it.each([
  ['2.9.1', '<3', true],
  ['3.0', '<3', false],
  ['3.0rc1', '<3', false],
  ['3.0.dev1', '<3', false],
  ['2.9rc1', '<3', true],
  ['3.0rc1', '<=3', true],
  ['3.0a1', '<3.0b1', true],
  ['3.0rc1', '>=3.0b2', true],
  ['1.0.dev3', '<1.0a1', true],
  ['1.0a1.dev1', '<1.0a1', true],
  ['1.0.post1.dev2', '<1.0.post1', false],
  // Not a pre-release of the post-release: a rule that denies `<1.0.post1` missed it.
  ['1.0a1', '<1.0.post1', true],
  ['1.0.dev3', '<1.0.post1', true],
  ['1.7.post1', '>1.7', false],
  ['1.7.post2', '>1.7.post1', true],
  ['1.7-1', '>=1.7.post1', true],
  ['1.26.4', '==1.26.*', true],
  ['1.27', '==1.26.*', false],
  ['1.260', '==1.26.*', false],
  ['1.26', '==1.26.0', true],
  ['1.26+cpu', '==1.26', true],
  ['1.26', '==1.26+cpu', false],
  ['1.26.4', '!=1.26.*', false],
  ['2.2', '~=2.1', true],
  ['3.0', '~=2.1', false],
  ['2.1.9', '~=2.1.3', true],
  ['2.2', '~=2.1.3', false],
  ['1!1.0', '<2', false],
  ['2.5', '>=2,<3,!=2.5', false],
  ['V2.5', '>= 2', true],
])('compares %s with %s as pip does', (version, specifier, expected) => {
  expect(meetsSpecifier(version, specifier)).toBe(expected);
});

describe('rules about packages', () => {
  it('lets the first that matches decide, by name and version', () => {
    const rules = [
      { effect: 'allow', package: 'Torch_Vision' },
      { effect: 'deny', package: ['torch*', 'tensorflow'], reason: 'too large' },
      { effect: 'ask', package: 'numpy', version: '<2' },
    ];
    expect(decide(rules, 'torch-vision', '1.0')?.effect).toBe('allow');
    expect(decide(rules, 'torch-audio', '1.0')).toEqual({
      effect: 'deny',
      reason: 'packages[1] of /state/policy.json denies it (too large)',
    });
    expect(decide(rules, 'numpy', '1.26.4')?.effect).toBe('ask');
    expect(decide(rules, 'numpy', '2.0')).toBeUndefined();
    expect(decide(rules, 'pandas', '2.0')).toBeUndefined();
  });

  it('decides about a lookup without a version: only rules about versions that allow count', () => {
    expect(decide([{ effect: 'deny', package: 'numpy', version: '<2' }], 'numpy')).toBeUndefined();
    expect(decide([{ effect: 'ask', package: 'numpy', version: '<2' }], 'numpy')).toBeUndefined();
    expect(decide([{ effect: 'allow', package: 'rare', version: '>=2' }], 'rare')?.effect).toBe('allow');
  });

  it('takes the stricter side for what is not a version', () => {
    expect(decide([{ effect: 'deny', package: 'odd', version: '<2' }], 'odd', 'latest')?.effect).toBe('deny');
    expect(decide([{ effect: 'allow', package: 'odd', version: '<2' }], 'odd', 'latest')).toBeUndefined();
  });

  it.each([
    [{ effect: 'deny', package: 'numpy<2' }, 'packages[0].package: cannot match a name, because names of packages'],
    [{ effect: 'deny', package: 'numpy', version: '2' }, 'packages[0].version: cannot be compared, because "2" is not'],
    [{ effect: 'deny', package: 'numpy', version: '~=2' }, '"~=2" is not a comparison'],
    [{ effect: 'deny', package: 'numpy', version: '<2.*' }, '"<2.*" is not a comparison'],
    [{ effect: 'deny', package: 'numpy', versions: '<2' }, 'versions'],
    [{ effect: 'deny' }, 'packages[0].package'],
  ])('refuses every package if the file has the rule %j', (rule, problem) => {
    const decision = decide([rule], 'pandas');
    expect(decision).toMatchObject({ effect: 'deny', reason: expect.stringContaining(problem) });
  });

  it('has no place in the entry of a server', () => {
    const read = readPolicy({ packages: [] }, '/mcp.json', ['mcpServers', 'files', 'policy']);
    expect(read).toMatchObject({ problem: expect.stringContaining('packages') });
  });

  it('is shown with the other rules', () => {
    const [shown] = policies([{ effect: 'deny', package: ['a', 'b'], version: '<3', reason: 'old' }]).describe([]);
    expect(shown?.packages).toEqual([
      { place: 'packages[0]', effect: 'deny', text: 'package a or b, version <3 (old)' },
    ]);
  });
});
