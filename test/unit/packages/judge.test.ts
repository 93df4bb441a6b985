import { describe, expect, it } from 'vitest';
import { explainPackage, type PackagesMode } from '../../../src/features/packages/judge.ts';
import { Policies } from '../../../src/features/policy/rules/policies.ts';
import { readPolicy } from '../../../src/features/policy/rules/schema.ts';

const FILE = '/state/policy.json';

function verdict(
  text: string,
  mode: PackagesMode,
  packages: readonly unknown[] = [],
  preinstall: readonly string[] = [],
) {
  const rules = new Policies(readPolicy({ packages }, FILE), new Map());
  const { effects, reason } = explainPackage(text, { mode, rules, preinstall });
  return `${effects.join(' or ')}: ${reason}`;
}

describe('explainPackage', () => {
  it.each([
    ['pandas>=2', 'common', 'allow: it is in the list of common packages'],
    ['pandas===2', 'common', 'ask: only plain versions such as >=2,<3 are installed without asking'],
    ['rare-pkg', 'common', 'ask: not in the list of common packages'],
    ['pandas', 'ask', 'ask: MCP_BRIDGE_PACKAGES is ask'],
    ['rare-pkg', 'any', 'allow: MCP_BRIDGE_PACKAGES is any'],
    ['pandas', 'off', 'deny: MCP_BRIDGE_PACKAGES is off'],
  ] as const)('%s with %s: %s', (text, mode, expected) => {
    expect(verdict(text, mode)).toBe(expected);
    expect(explainPackage(text, { mode, rules: undefined, preinstall: [] }).reason).toBe(
      expected.replace(/^\w+: /, ''),
    );
  });

  it('names the rule that decides', () => {
    const rules = [
      { effect: 'deny', package: 'tensor*', reason: 'too large' },
      { effect: 'allow', package: 'Rare_Pkg' },
      { effect: 'ask', package: 'numpy' },
    ];
    expect(verdict('TensorFlow', 'any', rules)).toBe(`deny: packages[0] of ${FILE} denies it (too large)`);
    expect(verdict('rare.pkg>=1', 'ask', rules)).toBe(`allow: packages[1] of ${FILE} allows it`);
    expect(verdict('numpy', 'any', rules)).toBe(`ask: packages[2] of ${FILE} asks for approval`);
  });

  it('says what depends on the version, and decides an exact one', () => {
    const old = [{ effect: 'deny', package: 'numpy', version: '<2', reason: 'too old' }];
    const denies = `packages[0] of ${FILE} denies it (too old)`;
    expect(verdict('numpy>=1', 'common', old)).toBe(
      `allow or deny: ${denies} if its version is <2; otherwise it is in the list of common packages`,
    );
    expect(verdict('numpy==1.26.4', 'common', old)).toBe(`deny: ${denies}`);
    expect(verdict('numpy==2.1', 'common', old)).toBe('allow: it is in the list of common packages');
    const some = [{ effect: 'allow', package: 'rare-pkg', version: '<2' }];
    const allows = `packages[0] of ${FILE} allows it`;
    expect(verdict('rare-pkg', 'common', some)).toBe(
      `allow or ask: ${allows} if its version is <2; otherwise not in the list of common packages`,
    );
    expect(verdict('rare-pkg==1.0', 'common', some)).toBe(`allow: ${allows}`);
    expect(verdict('rare-pkg==2.0', 'common', some)).toBe('ask: no rule of the policy allows this version');
    expect(verdict('rare-pkg', 'off', some)).toBe('deny: MCP_BRIDGE_PACKAGES is off');
  });

  it('lets MCP_BRIDGE_PREINSTALL allow what the policy does not deny', () => {
    const named = ['numpy>=2', 'rare-pkg'];
    const allowed = 'allow: MCP_BRIDGE_PREINSTALL names it';
    expect(verdict('numpy', 'off', [{ effect: 'ask', package: '*' }], named)).toBe(allowed);
    expect(verdict('rare-pkg', 'off', [], named)).toBe(allowed);
    expect(verdict('rare-pkg>=2', 'off', [], named)).toBe('deny: MCP_BRIDGE_PACKAGES is off');
    expect(verdict('rare-pkg', 'any', [{ effect: 'deny', package: 'rare*' }], named)).toContain('deny: packages[0]');
  });

  it('refuses what is no requirement as a mistake of the person who typed it', () => {
    expect(() => verdict('https://example.org/a.whl', 'any')).toThrow(
      expect.objectContaining({ code: 'USAGE_INVALID', message: expect.stringContaining('is not a requirement') }),
    );
  });
});
