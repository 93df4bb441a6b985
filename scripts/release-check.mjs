// @ts-check
/**
 * `node scripts/release-check.mjs vX.Y.Z`: checks whether a tag can be released. The tag, `package.json`, `package-lock.json` and the
 * newest dated entry of `CHANGELOG.md` must have the same version. Prints that entry for the release notes, or exits with 1 and the
 * differences.
 */
import { readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';

/**
 * @typedef {{ tag: string, packageJson: string, packageLock: string, changelog: string }} Release
 * The tag, and the text of the three files.
 */

/**
 * @param {Release} release
 * @returns {{ notes: string, problems: readonly string[] }}
 */
export function checkRelease({ tag, packageJson, packageLock, changelog }) {
  /** @type {{ version: string, repository?: { url?: string } }} */
  const { version, repository } = JSON.parse(packageJson);
  /** @type {{ version: string }} */
  const lock = JSON.parse(packageLock);
  const problems = [];
  if (!/^v\d+\.\d+\.\d+$/.test(tag)) {
    problems.push(`the tag '${tag}' does not have the form vX.Y.Z`);
  } else if (tag !== `v${version}`) {
    problems.push(`the tag is ${tag}, but package.json has version ${version}`);
  }
  if (lock.version !== version) {
    problems.push(`package-lock.json has version ${lock.version}, but package.json has ${version}`);
  }
  if (!repository?.url) {
    problems.push('package.json has no repository.url; npm compares it with the repository that signs the provenance');
  }
  const entries = changelog.split(/^(?=## )/m).slice(1);
  const newest = entries.find((entry) => !entry.startsWith('## [Unreleased]')) ?? '';
  const [heading = '', ...lines] = newest.split('\n');
  const notes = lines.join('\n').trim();
  const [, named, date] = /^## \[(\d+\.\d+\.\d+)\] - (\d{4}-\d{2}-\d{2})$/.exec(heading) ?? [];
  if (named !== version || date === undefined) {
    problems.push(`the newest entry of CHANGELOG.md must begin with: ## [${version}] - YYYY-MM-DD`);
  } else if (!notes.includes('\n- ')) {
    problems.push(`the entry ${version} of CHANGELOG.md lists no changes`);
  }
  return { notes, problems };
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  /** @param {string} file */
  const read = (file) => readFile(new URL(`../${file}`, import.meta.url), 'utf8');
  const { notes, problems } = checkRelease({
    tag: process.argv[2] ?? '',
    packageJson: await read('package.json'),
    packageLock: await read('package-lock.json'),
    changelog: await read('CHANGELOG.md'),
  });
  for (const problem of problems) {
    console.error(`release-check: ${problem}`);
  }
  if (problems.length === 0) {
    console.log(notes);
  }
  process.exitCode = problems.length === 0 ? 0 : 1;
}
