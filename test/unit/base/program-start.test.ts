/** How the program was started, and what starts it again, in the folder layouts of the package managers. */
import { describe, expect, it } from 'vitest';
import { findProgramStart, type ProgramStart, type StartContext } from '../../../src/core/base/program-start.ts';

const NAME = 'mcp-server-code-execution-mode';
const NODE = '/usr/bin/node';
const WINDOWS_NODE = 'C:\\Program Files\\nodejs\\node.exe';

interface Layout extends Partial<Pick<StartContext, 'platform' | 'execPath' | 'cwd' | 'script'>> {
  readonly path?: string;
  /** Each path and its target; the target of a file is the file itself. */
  readonly links?: Readonly<Record<string, string>>;
  readonly files?: Readonly<Record<string, string>>;
}

function find(root: string, { path = '/usr/bin', links = {}, files = {}, ...more }: Layout = {}): ProgramStart {
  const execPath = more.execPath ?? (more.platform === 'win32' ? WINDOWS_NODE : NODE);
  const known = new Map<string, string>([[execPath, execPath], ...Object.entries(links)]);
  return findProgramStart(root, {
    platform: 'linux',
    cwd: '/home/u',
    ...more,
    execPath,
    env: { PATH: path },
    realPath: (wanted) => known.get(wanted),
    readText: (file) => files[file],
  });
}

const npxOf = (text: string) => ({ '/home/u/.npm/_npx/0f1e/package.json': text });
const NPX_ROOT = `/home/u/.npm/_npx/0f1e/node_modules/${NAME}`;

describe('npx', () => {
  it.each([
    ['an unreadable package', {}, ['npx', '-y', NAME]],
    ['the name', npxOf(JSON.stringify({ _npx: { packages: [NAME] } })), ['npx', '-y', NAME]],
    ['a version', npxOf(JSON.stringify({ _npx: { packages: [`${NAME}@0.1.0`] } })), ['npx', '-y', `${NAME}@0.1.0`]],
    [
      'another package as well',
      npxOf(JSON.stringify({ _npx: { packages: ['cowsay', `${NAME}@1`] } })),
      ['npx', '-y', `${NAME}@1`],
    ],
    [
      'an archive, whose path npx stores relative to its own folder',
      npxOf(JSON.stringify({ _npx: { packages: ['./b.tgz'] }, dependencies: { [NAME]: 'file:../../../w/b.tgz' } })),
      ['npx', '-y', '--package=/home/u/w/b.tgz', NAME],
    ],
    // npm 10 does not record `packages`. The hint used to name this package, which is not published.
    [
      'an archive of npm 10',
      npxOf(JSON.stringify({ dependencies: { [NAME]: 'file:../../../w/b.tgz' } })),
      ['npx', '-y', '--package=/home/u/w/b.tgz', NAME],
    ],
    ['a name, with npm 10', npxOf(JSON.stringify({ dependencies: { [NAME]: '^0.1.0' } })), ['npx', '-y', NAME]],
    [
      'a repository',
      npxOf(JSON.stringify({ _npx: { packages: ['a/b'] }, dependencies: { [NAME]: 'github:a/b' } })),
      ['npx', '-y', '--package=github:a/b', NAME],
    ],
  ])('started with %s is started with the same again', (_what, files, words) => {
    const start = find(NPX_ROOT, { files });
    expect(start).toEqual({ kind: 'npx', shellWords: words, clientWords: words, nodePath: NODE });
  });

  it('is recognized by its cache on Windows', () => {
    const root = `C:\\Users\\u\\AppData\\Local\\npm-cache\\_npx\\0f1e\\node_modules\\${NAME}`;
    const text = JSON.stringify({ _npx: { packages: ['b.tgz'] }, dependencies: { [NAME]: 'file:../../../w/b.tgz' } });
    const files = { 'C:\\Users\\u\\AppData\\Local\\npm-cache\\_npx\\0f1e\\package.json': text };
    expect(find(root, { platform: 'win32', files }).clientWords).toEqual([
      'npx',
      '-y',
      '--package=C:\\Users\\u\\AppData\\Local\\w\\b.tgz',
      NAME,
    ]);
  });
});

describe('a checkout', () => {
  it('is started with its file and this Node, or with `node` in a shell whose `node` is this one', () => {
    expect(find('/src/bridge', { links: { '/usr/bin/node': NODE } })).toEqual({
      kind: 'checkout',
      shellWords: ['node', '/src/bridge/dist/cli.js'],
      clientWords: [NODE, '/src/bridge/dist/cli.js'],
      nodePath: NODE,
    });
    const other = { '/usr/local/bin/node': '/opt/node18/bin/node' };
    expect(find('/src/bridge', { path: '/usr/local/bin:/usr/bin', links: other }).shellWords[0]).toBe(NODE);
  });

  it('is started by name if linked globally, unless another program of that name comes first', () => {
    const links = { [`/usr/local/bin/${NAME}`]: '/src/bridge/dist/cli.js' };
    const path = '/home/u/bin:/usr/local/bin';
    expect(find('/src/bridge', { path, links })).toMatchObject({ kind: 'global', shellWords: [NAME] });
    const older = { ...links, [`/home/u/bin/${NAME}`]: `/home/u/old/${NAME}.py` };
    expect(find('/src/bridge', { path, links: older })).toMatchObject({ kind: 'checkout' });
  });
});

describe('a global installation', () => {
  const root = `/usr/local/lib/node_modules/${NAME}`;
  const cli = `${root}/dist/cli.js`;
  const links = { [`/usr/local/bin/${NAME}`]: cli };

  it('is started by name if that is on PATH, otherwise by its absolute path', () => {
    const clientWords = [NODE, cli];
    const onPath = find(root, { path: '/usr/local/bin:/usr/bin', links });
    expect(onPath).toMatchObject({ kind: 'global', shellWords: [NAME], clientWords });
    const hidden = find(root, { path: '/usr/bin:/bin', links });
    expect(hidden).toMatchObject({ kind: 'global', shellWords: [`/usr/local/bin/${NAME}`], clientWords });
  });

  it('is started by the short name if that was typed, and registered without either', () => {
    const both = { ...links, '/usr/local/bin/mcp-code': cli };
    const typed = { links: both, script: '/usr/local/bin/mcp-code' };
    const short = find(root, { path: '/usr/local/bin:/usr/bin', ...typed });
    expect(short).toMatchObject({ kind: 'global', shellWords: ['mcp-code'], clientWords: [NODE, cli] });
    expect(find(root, typed)).toMatchObject({ kind: 'global', shellWords: ['/usr/local/bin/mcp-code'] });
    for (const script of [`/usr/local/bin/${NAME}`, cli, undefined]) {
      expect(find(root, { path: '/usr/local/bin', links: both, script }).shellWords).toEqual([NAME]);
    }
    // Another program of this name is none of ours, and the long one is not what was typed.
    const foreign = { ...links, '/usr/bin/mcp-code': '/usr/bin/mcp-code' };
    const other = find(root, { path: '/usr/bin:/usr/local/bin', links: foreign, script: '/home/u/bin/mcp-code' });
    expect(other.shellWords).toEqual([NAME]);
  });

  it('is registered with paths that survive updates by pnpm and Homebrew', () => {
    const global = '/home/u/.local/share/pnpm/global/5';
    const versioned = `${global}/.pnpm/${NAME}@0.1.0/node_modules/${NAME}`;
    const cellar = '/opt/homebrew/Cellar/node/25.1.0/bin/node';
    const start = find(versioned, {
      execPath: cellar,
      links: {
        [`${global}/node_modules/${NAME}/dist/cli.js`]: `${versioned}/dist/cli.js`,
        '/opt/homebrew/opt/node/bin/node': cellar,
      },
    });
    expect(start.clientWords[0]).toBe('/opt/homebrew/opt/node/bin/node');
    const inModules = `${global}/node_modules/.pnpm/${NAME}@0.1.0/node_modules/${NAME}`;
    const linked = { [`${global}/node_modules/${NAME}/dist/cli.js`]: `${inModules}/dist/cli.js` };
    expect(find(inModules, { links: linked }).clientWords[1]).toBe(`${global}/node_modules/${NAME}/dist/cli.js`);
  });

  it('is a script on Windows, but clients start Node directly', () => {
    const npm = 'C:\\Users\\u\\AppData\\Roaming\\npm';
    const file = `${npm}\\node_modules\\${NAME}\\dist\\cli.js`;
    const known = { [`${npm}\\${NAME}.cmd`]: `${npm}\\${NAME}.cmd`, [file]: file };
    const windows = { platform: 'win32', cwd: 'C:\\Users\\u', links: known } as const;
    const onPath = find(`${npm}\\node_modules\\${NAME}`, { ...windows, path: `C:\\Windows;${npm}` });
    expect(onPath).toMatchObject({ kind: 'global', shellWords: [NAME], clientWords: [WINDOWS_NODE, file] });
    const hidden = find(`${npm}\\node_modules\\${NAME}`, { ...windows, path: 'C:\\Windows' });
    expect(hidden).toMatchObject({ kind: 'global', shellWords: [`${npm}\\${NAME}.cmd`] });
  });
});

describe('a dependency of a project', () => {
  const root = `/home/u/project/node_modules/${NAME}`;
  const bin = `/home/u/project/node_modules/.bin/${NAME}`;
  const links = { [bin]: `${root}/dist/cli.js` };

  it('is started with npx inside the project, and by its path elsewhere', () => {
    // npx and npm add this folder to the PATH of what they start; a shell does not have it.
    const path = '/home/u/project/node_modules/.bin:/usr/bin';
    const inside = find(root, { cwd: '/home/u/project/src', path, links });
    expect(inside).toMatchObject({ kind: 'dependency', shellWords: ['npx', NAME] });
    expect(find(root, { cwd: '/home/u', links }).shellWords).toEqual([bin]);
    const short = '/home/u/project/node_modules/.bin/mcp-code';
    const typed = { script: short, path, links: { ...links, [short]: `${root}/dist/cli.js` } };
    expect(find(root, { ...typed, cwd: '/home/u/project' }).shellWords).toEqual(['npx', 'mcp-code']);
    expect(find(root, { ...typed, cwd: '/home/u' }).shellWords).toEqual([short]);
    expect(inside.clientWords).toEqual([NODE, `${root}/dist/cli.js`]);
  });

  it('is recognized on Windows too', () => {
    const folder = 'C:\\project\\node_modules';
    const file = `${folder}\\${NAME}\\dist\\cli.js`;
    const known = { [`${folder}\\.bin\\${NAME}.cmd`]: 'x', [file]: file };
    const start = find(`${folder}\\${NAME}`, { platform: 'win32', cwd: 'C:\\project', path: '', links: known });
    expect(start).toMatchObject({ kind: 'dependency', shellWords: ['npx', NAME] });
  });
});
