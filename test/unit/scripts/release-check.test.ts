/** A release begins only if the tag, the package and the changelog name the same version. */
import { describe, expect, it } from 'vitest';
import { checkRelease } from '../../../scripts/release-check.mjs';

const CHANGELOG = `# Changelog

## [Unreleased]

## [1.2.3] - 2026-11-30

### Added

- One thing.

## [1.2.2] - 2026-11-01

### Fixed

- Another.
`;
const versioned = (version: string) => JSON.stringify({ version });
const packageJson = JSON.stringify({
  version: '1.2.3',
  repository: { url: 'git+https://host.example/owner/name.git' },
});
const release = { tag: 'v1.2.3', packageJson, packageLock: versioned('1.2.3'), changelog: CHANGELOG };

describe('a release', () => {
  it('has the newest entry of the changelog as its notes', () => {
    expect(checkRelease(release)).toEqual({ problems: [], notes: '### Added\n\n- One thing.' });
  });

  it.each([
    ['a tag of another version', { tag: 'v1.2.4' }, 'the tag is v1.2.4, but package.json has version 1.2.3'],
    ['a tag of another form', { tag: '1.2.3' }, "the tag '1.2.3' does not have the form vX.Y.Z"],
    ['no tag', { tag: '' }, "the tag '' does not have the form vX.Y.Z"],
    [
      'a lock file left behind',
      { packageLock: versioned('1.2.2') },
      'package-lock.json has version 1.2.2, but package.json has 1.2.3',
    ],
    [
      'a package that does not name its repository',
      { packageJson: versioned('1.2.3') },
      'package.json has no repository.url; npm compares it with the repository that signs the provenance',
    ],
    [
      'no entry',
      { changelog: CHANGELOG.replace('## [1.2.3] - 2026-11-30', '') },
      'the newest entry of CHANGELOG.md must begin with: ## [1.2.3] - YYYY-MM-DD',
    ],
    [
      'an entry without a date',
      { changelog: CHANGELOG.replace(' - 2026-11-30', '') },
      'the newest entry of CHANGELOG.md must begin with: ## [1.2.3] - YYYY-MM-DD',
    ],
    [
      'an empty entry',
      { changelog: CHANGELOG.replace('- One thing.', '') },
      'the entry 1.2.3 of CHANGELOG.md lists no changes',
    ],
  ])('with %s is refused', (_what, change, problem) => {
    expect(checkRelease({ ...release, ...change }).problems).toEqual([problem]);
  });
});
