import { array, assert, constantFrom, property } from 'fast-check';
import { describe, expect, it, test } from 'vitest';
import { BridgeError } from '../../../src/core/base/errors.ts';
import { loadSettings } from '../../../src/edges/settings/settings.ts';
import { parseRequirement } from '../../../src/features/packages/requirement.ts';

function preinstallOf(text: string): readonly string[] | undefined {
  return loadSettings({ HOME: '/home/ada', MCP_BRIDGE_PREINSTALL: text }).preinstall;
}

describe('MCP_BRIDGE_PREINSTALL', () => {
  it.each([
    ['numpy,pandas', ['numpy', 'pandas']],
    [' numpy , pandas>=2 ', ['numpy', 'pandas>=2']],
    ['pandas>=2,<3,numpy', ['pandas>=2,<3', 'numpy']],
    ['pandas >= 2, < 3', ['pandas >= 2, < 3']],
    ['httpx[http2,socks]==0.28.*,numpy', ['httpx[http2,socks]==0.28.*', 'numpy']],
  ])('%j', (text, requirements) => {
    expect(preinstallOf(text)).toEqual(requirements);
  });

  it.each([
    ['numpy,,pandas', '"" is not a requirement'],
    ['numpy,', '"" is not a requirement'],
    ['<3', '"<3" is not a requirement'],
    ['numpy pandas', '"numpy pandas" is not a requirement'],
    ['numpy~2', '"numpy~2" is not a requirement'],
    ['numpy=2', '"numpy=2" is not a requirement'],
    ['numpy-', '"numpy-" is not a requirement'],
    ['numpy[a-]', '"numpy[a-]" is not a requirement'],
    ['numpy; python_version > "3"', '"numpy; python_version > \\"3\\"" is not a requirement'],
    ['https://example.org/a.whl', '"https://example.org/a.whl" is not a requirement'],
    [`n${'m'.repeat(100)}`, 'is not a requirement'],
  ])('refuses %j when the bridge starts', (text, reason) => {
    let thrown: unknown;
    try {
      preinstallOf(text);
    } catch (error) {
      thrown = error;
    }
    expect(thrown).toBeInstanceOf(BridgeError);
    expect(thrown).toMatchObject({
      code: 'CONFIG_INVALID',
      message: expect.stringContaining(reason),
      hint: expect.stringContaining('Correct or remove it'),
    });
    expect(String(thrown)).toContain('MCP_BRIDGE_PREINSTALL is ');
    expect(String(thrown)).toContain('allowed: requirements separated by commas');
  });

  test('accepts nothing that is refused later', () => {
    const part = constantFrom('numpy', 'a', '2', '.', '-', '_', '[', ']', '==', '=', '~', '<', '!', '*', '+', ' ', ',');
    assert(
      property(array(part, { minLength: 1, maxLength: 8 }), (parts) => {
        let requirements: readonly string[] = [];
        try {
          requirements = preinstallOf(parts.join('')) ?? [];
        } catch {
          return;
        }
        requirements.forEach((text) => expect(() => parseRequirement(text)).not.toThrow());
      }),
      { numRuns: 3_000 },
    );
  });
});
