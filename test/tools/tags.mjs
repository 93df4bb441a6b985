// @ts-check
/**
 * Tags of test files: the first line of a file may be `// Tags: full, docker, user`. They say where CI runs a file, so its scripts
 * list no files. The fresh machine runs every file that has not the tag `anywhere`.
 *
 * MCP_BRIDGE_TEST_TAGS chooses files by them: `docker` those that have the tag, `!anywhere,!full` those that have neither.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const TESTS = fileURLToPath(new URL('..', import.meta.url));

/** The parts of CI that run a file because of its tag. `-release` parts run with MCP_BRIDGE_CI_FULL=1. */
export const PARTS = {
  bubblewrap: 'root runs it on bubblewrap, which starts fastest',
  docker: 'root runs it on docker, because it may differ in a container',
  'docker-release': 'as `docker`, before a release',
  podman: 'root runs it on podman',
  'remote-release': 'root runs it on podman and docker, over SSH, before a release',
  user: 'an ordinary user runs it on rootless podman',
  'user-release': 'as `user`, before a release: on the newest Node; the fresh machine runs it on the oldest',
  'embedded-release': 'an ordinary user runs it on the embedded engine, before a release',
  cluster: 'root runs it on Kubernetes',
  'cluster-last': 'as `cluster`, but last, because it kills parts of the cluster',
  python: 'it needs Python, which the fresh machine lacks: root runs it',
  fresh: 'the fresh machine alone runs it',
};

export const TAGS = {
  anywhere: 'it depends neither on the user nor on the kind of engine: root runs it once, on bubblewrap',
  full: 'it takes long and shows little that shorter ones do not show: `npm test` leaves it out',
  'only-check': '`npm run check` runs it, and root runs the same as sessions on bubblewrap',
  ...PARTS,
};

/** Root and the fresh machine run all files of the other layers. */
const LAYERS_WITH_PARTS = ['integration', 'e2e', 'attacks'];

/**
 * The files of a layer, as paths from the root of the project, whose tags fit.
 * @param {string} layer
 * @param {string} wanted As in MCP_BRIDGE_TEST_TAGS.
 */
export function filesWithTags(layer, wanted) {
  const conditions = wanted.split(',').filter((word) => word !== '');
  const unknown = conditions.find((word) => !Object.hasOwn(TAGS, word.replace('!', '')));
  if (unknown !== undefined) {
    throw new Error(`unknown tag ${unknown}; use ${Object.keys(TAGS).join(', ')}, with or without "!"`);
  }
  return testFiles(layer).filter((file) => {
    const text = readFileSync(join(TESTS, '..', file), 'utf8');
    const problem = whyWrongTags(file, text);
    if (problem !== undefined) {
      throw new Error(problem);
    }
    return conditions.every((word) => tagsOf(text).includes(word.replace('!', '')) !== word.startsWith('!'));
  });
}

/** @param {string} layer */
export function testFiles(layer) {
  return readdirSync(join(TESTS, layer), { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('.test.ts'))
    .map((file) => `test/${layer}/${file.replaceAll('\\', '/')}`);
}

/**
 * @param {string} file From the root of the project.
 * @param {string} text
 * @returns {string | undefined}
 */
export function whyWrongTags(file, text) {
  const tags = tagsOf(text);
  const unknown = tags.find((tag) => !Object.hasOwn(TAGS, tag));
  if (unknown !== undefined) {
    return `${file} has the unknown tag ${unknown}; use ${Object.keys(TAGS).join(', ')}`;
  }
  if (tags.length === 0 && /^\/\/ Tags:/m.test(text)) {
    return `${file} has tags that are not read: they must be in the first line, as in "// Tags: full, docker"`;
  }
  const parts = tags.filter((tag) => Object.hasOwn(PARTS, tag));
  if (tags.includes('anywhere') && parts.length > 0) {
    return `${file} has the tag anywhere, so ${parts.join(', ')} would run it a second time; remove one`;
  }
  const needsPart = LAYERS_WITH_PARTS.some((layer) => file.startsWith(`test/${layer}/`));
  if (needsPart && parts.length === 0 && !tags.includes('anywhere')) {
    return `${file} does not say where CI runs it; begin it with "// Tags: anywhere" or a part: ${Object.keys(PARTS).join(', ')}`;
  }
  return undefined;
}

/**
 * @param {string} text Of a test file.
 * @returns {string[]}
 */
function tagsOf(text) {
  const [first = ''] = text.split('\n', 1);
  return /^\/\/ Tags: (.*)$/.exec(first)?.[1]?.split(', ') ?? [];
}
