/** Tasks on git repositories. Their hashes are the same in every run. */
import { createRandom } from '../../../test/soak/random.ts';
import type { Workspace } from '../workspace.ts';
import { compareTrees, type EvalTask, expectAnswer } from './task.ts';

interface Commit {
  readonly branch: string;
  readonly message: string;
  readonly files: Readonly<Record<string, string>>;
  /** A branch to start from, for the first commit of a branch. */
  readonly from?: string;
}

const START = 1_790_000_000;

/** Creates a repository with these commits, one every hour, and checks out main. */
function createRepository({ git }: Workspace, path: string, commits: readonly Commit[]): void {
  const stream = commits.map(({ branch, files, from, message }, index) => {
    const who = `Robin Doe <robin@example.com> ${START + 3_600 * index} +0000`;
    const changes = Object.entries(files).map(([file, text]) => `M 100644 inline ${file}\n${dataOf(text)}`);
    const start = from === undefined ? '' : `from refs/heads/${from}\n`;
    return `commit refs/heads/${branch}\ncommitter ${who}\n${dataOf(message)}${start}${changes.join('')}\n`;
  });
  git(path, ['init', '--quiet', '--initial-branch=main']);
  git(path, ['config', 'user.name', 'Robin Doe']);
  git(path, ['config', 'user.email', 'robin@example.com']);
  git(path, ['config', 'core.autocrlf', 'false']);
  git(path, ['fast-import', '--quiet'], stream.join(''));
  git(path, ['reset', '--quiet', '--hard', 'main']);
}

function dataOf(text: string): string {
  return `data ${Buffer.byteLength(text)}\n${text}\n`;
}

const COMMITS = 60;
const CHANGED_AT = 37;

function limitCommits(): Commit[] {
  const random = createRandom(67);
  return Array.from({ length: COMMITS }, (_, index) => ({
    branch: 'main',
    message: `Tune ${random.pick(['cache', 'limits', 'queue', 'pool'])} (${index})`,
    files: {
      'settings.ini': `cache_mb = ${100 + index * 2}\nrequest_limit = ${index < CHANGED_AT ? 1000 : 100}\npool = ${8 + (index % 5)}\nqueue = ${20 + index}\n`,
    },
  }));
}

const FIND_COMMIT: EvalTask = {
  id: 'find-commit',
  title: `find one of ${COMMITS} commits`,
  build: (workspace) => createRepository(workspace, 'repos/gateway', limitCommits()),
  prompt: ({ absolute }) =>
    `In the git repository ${absolute('repos/gateway')}, one commit changed request_limit in settings.ini from 1000 to 100. State its full hash.`,
  check: ({ git }, answer) =>
    expectAnswer(answer, git('repos/gateway', ['rev-parse', `main~${COMMITS - 1 - CHANGED_AT}`]).trim()),
};

const PACKAGES = ['core', 'web', 'worker', 'tools'];
const OLD_VERSION = '2.3.1';
const NEW_VERSION = '2.4.0';
const RELEASE_BRANCH = 'release/2.4.0';
const RELEASE_MESSAGE = 'Release 2.4.0';

function packageFiles(version: string): Record<string, string> {
  const manifests = PACKAGES.map((name) => [
    `packages/${name}/package.json`,
    `${JSON.stringify({ name, version, dependencies: name === 'core' ? { tiny: OLD_VERSION } : { core: version } }, undefined, 2)}\n`,
  ]);
  return Object.fromEntries(manifests) as Record<string, string>;
}

const RELEASE: EvalTask = {
  id: 'release',
  title: 'change versions and commit them on a new branch',
  build: (workspace) =>
    createRepository(workspace, 'repos/suite', [
      { branch: 'main', message: 'Import', files: { 'README.md': '# Suite\n', ...packageFiles('2.3.0') } },
      { branch: 'main', message: 'Release 2.3.1', files: packageFiles(OLD_VERSION) },
    ]),
  prompt: ({ absolute }) =>
    `In the git repository ${absolute('repos/suite')}, create the branch ${RELEASE_BRANCH} from main. There, set the version of all packages in packages/*/package.json from ${OLD_VERSION} to ${NEW_VERSION}, and the version of core in their dependencies too. Commit everything as one commit with the message "${RELEASE_MESSAGE}". Leave main as it is.`,
  check({ git }) {
    const run = (...args: string[]): string => {
      try {
        return git('repos/suite', args).trim();
      } catch {
        return 'git failed';
      }
    };
    const paths = run('ls-tree', '-r', '--name-only', RELEASE_BRANCH).split('\n');
    const files = Object.fromEntries(paths.map((path) => [path, `${run('show', `${RELEASE_BRANCH}:${path}`)}\n`]));
    return [
      ...compareTrees(files, { 'README.md': '# Suite\n', ...packageFiles(NEW_VERSION) }),
      ...(run('log', '--format=%s', `main..${RELEASE_BRANCH}`) === RELEASE_MESSAGE
        ? []
        : ['the commit is missing or has another message']),
      ...(run('rev-list', '--count', 'main') === '2' ? [] : ['main has changed']),
    ];
  },
};

const TOPICS = [
  'login',
  'search',
  'export',
  'theme',
  'billing',
  'queue',
  'audit',
  'limits',
  'images',
  'remote',
  'charts',
  'tables',
];
const UNMERGED = ['export', 'queue', 'charts', 'limits'];

/** Branches of main: merged ones ended before its last commits, the others have a commit of their own. */
function topicCommits(): Commit[] {
  const merged = TOPICS.filter((topic) => !UNMERGED.includes(topic));
  return [
    { branch: 'main', message: 'Import', files: { 'main.txt': 'first\n' } },
    ...merged.map((topic) => ({
      branch: 'main',
      message: `Add ${topic}`,
      files: { [`${topic}.txt`]: `${topic}\n` },
    })),
    ...UNMERGED.map((topic) => ({
      branch: `topic/${topic}`,
      message: `Start ${topic}`,
      files: { [`${topic}.txt`]: 'not finished\n' },
      from: 'main',
    })),
  ];
}

const MERGED_BRANCHES: EvalTask = {
  id: 'merged-branches',
  title: `delete the merged ones of ${TOPICS.length} branches`,
  build(workspace) {
    createRepository(workspace, 'repos/site', topicCommits());
    const merged = TOPICS.filter((topic) => !UNMERGED.includes(topic));
    for (const [index, topic] of merged.entries()) {
      workspace.git('repos/site', ['branch', `topic/${topic}`, `main~${merged.length - 1 - index}`]);
    }
  },
  prompt: ({ absolute }) =>
    `In the git repository ${absolute('repos/site')}, delete all branches whose commits are all in main, but not main itself. Keep the others.`,
  check: ({ git }) =>
    expectAnswer(
      git('repos/site', ['branch', '--format=%(refname:short)']).trim().split('\n').toSorted().join(', '),
      ['main', ...UNMERGED.map((topic) => `topic/${topic}`)].toSorted().join(', '),
    ),
};

export const REPOSITORY_TASKS: readonly EvalTask[] = [FIND_COMMIT, RELEASE, MERGED_BRANCHES];
