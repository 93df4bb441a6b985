import { describe, expect, it } from 'vitest';
import { parseRequirementsFile, renderLock } from '../../../src/features/packages/requirements-file.ts';

const ONE = '1'.repeat(64);
const TWO = '2'.repeat(64);
const parse = (text: string) => parseRequirementsFile(text, 'FILE').map(({ hashes, text: one }) => [one, ...hashes]);
const wheel = (name: string, sha256: string) => ({
  name,
  version: '1.0',
  file: 'a.whl',
  url: 'https://x.example',
  sha256,
});

describe('a requirements file', () => {
  it('has the packages of a lock, and is read back', () => {
    const text = renderLock([wheel('tiny', TWO), wheel('Other.Pkg', ONE)], 'cpython-314 linux x86_64');
    expect(text).toBe(
      '# For cpython-314 linux x86_64. To install the same files elsewhere: mcp-server-code-execution-mode packages add -r FILE\n' +
        `other-pkg==1.0 \\\n    --hash=sha256:${ONE}\ntiny==1.0 \\\n    --hash=sha256:${TWO}\n`,
    );
    expect(parse(text)).toEqual([
      ['other-pkg==1.0', ONE],
      ['tiny==1.0', TWO],
    ]);
  });

  it('may have comments, blank lines, other line ends, markers and several hashes', () => {
    expect(parse('# a\r\n\r\npandas>=2  # why\nb ; python_version >= "3.10"')).toEqual([
      ['pandas>=2'],
      ['b; python_version >= "3.10"'],
    ]);
    expect(parse(`a==1 --hash=sha256:${ONE} \\\n  --hash=sha256:${TWO}\n    # via b\n`)).toEqual([['a==1', ONE, TWO]]);
  });

  it.each([
    ['an option', '--index-url https://x.example', /^FILE, line 1: "--index-url/],
    ['another file', 'a\n-r other.txt', /^FILE, line 2: /],
    ['an address', 'a @ https://x.example/a.whl', /^FILE, line 1: /],
    ['a weak hash', `a==1 --hash=md5:${'1'.repeat(32)}`, /^FILE, line 1: /],
    ['a hash of nothing', `--hash=sha256:${ONE}`, /^FILE, line 1: /],
    ['hashes for some', `a==1 --hash=sha256:${ONE}\nb==1`, /^FILE has no hash for b/],
    ['nothing', '# empty\n', /^FILE has 0 requirements; expected 1 to 500/],
    ['too much', 'a\n'.repeat(501), /^FILE has 501 requirements/],
  ])('cannot have %s', (_, text, message) => {
    expect(() => parse(text)).toThrow(
      expect.objectContaining({ code: 'USAGE_INVALID', message: expect.stringMatching(message) }),
    );
  });
});
