/** Servers that Claude Code keeps for single folders: `install --import` moves them, and `uninstall` moves each back to where it was. */
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';
import type { Person, Question } from '../../../src/core/base/cell.ts';
import { type Home, makeHome, put, read, SECRET } from '../../support/client-homes.ts';

const BRIDGE = { type: 'stdio', command: 'npx', args: ['-y', 'mcp-server-code-execution-mode'] };

let home: Home;
let path: string;
let store: string;

beforeEach(() => {
  home = makeHome();
  path = home.fileOf('claude-code');
  store = join(home.stateDir, 'claude-code.json');
});

const run = (call: Parameters<Home['run']>[1] = {}) => home.run('claude-code', call);
const stored = () => JSON.parse(read(store));

/** Creates a folder. */
function folder(name: string): string {
  const made = join(home.path, name);
  mkdirSync(made, { recursive: true });
  return made;
}

/** The file as Claude Code writes it, with other settings in each folder. */
function putFile(projects: Readonly<Record<string, unknown>>, servers: unknown = {}, indent: string | number = 2) {
  const settings = Object.entries(projects).map(([name, mcpServers]) => [
    name,
    { allowedTools: [], mcpContextUris: [], mcpServers, enabledMcpjsonServers: [], hasTrustDialogAccepted: true },
  ]);
  const root = { numStartups: 3, mcpServers: servers, projects: Object.fromEntries(settings), userID: 'u' };
  return put(path, JSON.stringify(root, undefined, indent), 0o600);
}

const stdio = (command: string, ...args: string[]) => ({ type: 'stdio', command, args, env: { API_KEY: SECRET } });

describe('moving', () => {
  it('covers the servers of every folder, keeps their working folder, and can be undone byte for byte', async () => {
    const [a, b] = [folder('a'), folder('b')];
    const before = putFile(
      {
        [a]: { memory: stdio('memory'), docs: { type: 'http', url: 'https://docs.example/mcp' } },
        [b]: { git: stdio('./git') },
      },
      { files: stdio('files') },
    );
    const out = await run({ isImport: true });
    expect(out).toContain(`'files', 'memory' (${a}), 'docs' (${a}), 'git' (${b}): moved to ${store}.`);
    expect(out).toContain('Code can call: files, memory, docs, git. To add one: ');
    expect(out).not.toContain('one folder each');
    expect(out).not.toContain(SECRET);
    expect(stored().mcpServers).toEqual({
      files: { command: 'files', args: [], env: { API_KEY: SECRET } },
      memory: { command: 'memory', args: [], env: { API_KEY: SECRET }, cwd: a },
      docs: { url: 'https://docs.example/mcp', type: 'http' },
      git: { command: './git', args: [], env: { API_KEY: SECRET }, cwd: b },
    });
    const after = read(path);
    expect(after).not.toContain(SECRET);
    expect(JSON.parse(after)).toMatchObject({
      mcpServers: { code: BRIDGE },
      projects: { [a]: { mcpServers: {}, hasTrustDialogAccepted: true }, [b]: { mcpServers: {} } },
    });

    expect(await run({ isImport: true })).toContain('nothing to change');
    expect(read(path)).toBe(after);

    expect(await run({ command: 'uninstall' })).toContain(
      `'files', 'memory' (${a}), 'docs' (${a}), 'git' (${b}): moved back from ${store}.`,
    );
    expect(read(path)).toBe(before);
    expect(existsSync(store)).toBe(false);
  });

  it.each([
    ['tabs', (text: string) => text.replaceAll(/^(?: {2})+/gm, (spaces) => '\t'.repeat(spaces.length / 2))],
    ['Windows line endings', (text: string) => text.replaceAll('\n', '\r\n')],
    ['a byte order mark', (text: string) => `\uFEFF${text}`],
    ['a single line', (text: string) => JSON.stringify(JSON.parse(text))],
    ['comments', (text: string) => text.replace('"mcpServers"', '// mine\n"mcpServers"')],
  ])('restores a file with %s byte for byte', async (_what, change) => {
    const before = change(
      putFile({ [folder('a')]: { one: stdio('one'), two: stdio('two') }, [folder('b')]: { three: stdio('three') } }),
    );
    writeFileSync(path, before);
    await run({ isImport: true });
    expect(Object.keys(stored().mcpServers)).toEqual(['one', 'two', 'three']);
    await run({ command: 'uninstall' });
    expect(read(path)).toBe(before);
  });

  it.each(['with spaces', 'a.b', 'quote\'s "here"', 'tilde~1#x', 'ünï 漢字', '$HOME', '{x}', 'back\\slash'])(
    'recognizes a folder called %s again',
    async (name) => {
      const made = folder(name);
      const before = putFile({ [made]: { memory: stdio('memory') } });
      await run({ isImport: true });
      expect(stored().mcpServers.memory.cwd).toBe(made);
      writeFileSync(path, read(path).replace('"numStartups": 3', '"numStartups": 4'));
      await run({ command: 'uninstall' });
      expect(JSON.parse(read(path))).toEqual({ ...JSON.parse(before), numStartups: 4 });
    },
  );

  it('leaves a registration of the bridge for one folder in place', async () => {
    const a = folder('a');
    putFile({ [a]: { code: BRIDGE, memory: stdio('memory') } });
    await run({ isImport: true });
    expect(JSON.parse(read(path)).projects[a].mcpServers).toEqual({ code: BRIDGE });
    expect(Object.keys(stored().mcpServers)).toEqual(['memory']);
  });

  it('registers the bridge for all folders beside a registration for one folder', async () => {
    const a = folder('a');
    putFile({ [a]: { code: BRIDGE } });
    await run();
    expect(JSON.parse(read(path))).toMatchObject({
      mcpServers: { code: BRIDGE },
      projects: { [a]: { mcpServers: { code: BRIDGE } } },
    });
    await run({ command: 'uninstall' });
    expect(JSON.parse(read(path)).projects[a].mcpServers).toEqual({ code: BRIDGE });
  });

  it('ignores folder settings without servers', async () => {
    const odd = { '/none': {}, '/null': null, '/list': { mcpServers: [1] }, '/text': 'x' };
    put(path, JSON.stringify({ projects: odd }));
    await run({ isImport: true });
    expect(JSON.parse(read(path)).projects).toEqual(odd);
    put(path, '{"projects": [1]}');
    await run({ isImport: true });
    expect(JSON.parse(read(path)).projects).toEqual([1]);
  });

  it('does not apply to --scope project, nor to other clients', async () => {
    const projects = { [folder('a')]: { mcpServers: { memory: { command: 'memory' } } } };
    for (const [id, scope, file] of [
      ['claude-code', 'project', join(home.path, 'project/.mcp.json')],
      ['cursor', 'user', home.fileOf('cursor')],
    ] as const) {
      put(file, JSON.stringify({ projects }));
      await home.run(id, { scope, isImport: true });
      expect(JSON.parse(read(file)).projects).toEqual(projects);
    }
    expect(existsSync(home.stateDir)).toBe(false);
  });
});

describe('servers with the same name', () => {
  it('move once, those for all folders first, and each one that stays is listed with the reason', async () => {
    const [a, b, c] = [folder('a'), folder('b'), folder('c')];
    const before = putFile(
      { [a]: { files: stdio('other'), memory: stdio('memory') }, [b]: { memory: stdio('memory') }, [c]: {} },
      { files: stdio('files') },
    );
    const out = await run({ isImport: true });
    expect(out).toContain(`'files', 'memory' (${a}): moved to`);
    expect(out).toContain(
      `'files' (${a}) stays: it has the same name as a different server in ${path}; rename one of them.`,
    );
    expect(out).toContain(
      `'memory' (${b}) stays: it has the same name as a different server in ${a}; rename one of them.`,
    );
    expect(out).toContain(
      `defines these servers for one folder each, and they cannot be moved: files (${a}), memory (${b}). To let`,
    );
    expect(stored().mcpServers).toMatchObject({ files: { command: 'files' }, memory: { cwd: a } });
    const after = read(path);
    expect(await run({ isImport: true })).toContain(
      `'memory' (${b}) stays: it has the same name as a different server in ${store}`,
    );
    expect(read(path)).toBe(after);
    await run({ command: 'uninstall' });
    expect(read(path)).toBe(before);
  });

  it('move from every folder if their definitions are identical', async () => {
    const [a, b] = [folder('a'), folder('b')];
    const docs = { type: 'http', url: 'https://docs.example/mcp' };
    const before = putFile({ [a]: { docs }, [b]: { docs } }, { docs });
    const out = await run({ isImport: true });
    expect(out).toContain(`'docs', 'docs' (${a}), 'docs' (${b}): moved to`);
    expect(out).toContain('Code can call: docs. To add one');
    expect(Object.keys(stored().mcpServers)).toEqual(['docs']);
    expect(read(path)).not.toContain('docs.example');
    await run({ command: 'uninstall' });
    expect(read(path)).toBe(before);
    expect(existsSync(store)).toBe(false);
  });
});

it('leaves a server whose folder no longer exists, and moves the working one of the same name', async () => {
  const [gone, a] = [folder('gone'), folder('a')];
  rmSync(gone, { recursive: true });
  putFile({ [gone]: { memory: stdio('memory') }, [a]: { memory: stdio('memory') } });
  const out = await run({ isImport: true });
  expect(out).toContain(`'memory' (${gone}) stays: it runs in a folder that does not exist.`);
  expect(stored().mcpServers.memory.cwd).toBe(a);
});

describe('the output of install', () => {
  it('offers to move these servers with the others', async () => {
    const a = folder('a');
    const before = putFile({ [a]: { memory: stdio('memory') } }, { files: stdio('files') });
    const line =
      'To move those of Claude Code (files, memory) to the bridge: mcp-server-code-execution-mode install claude-code --import.';
    expect(await run({ isDryRun: true })).toContain(line);
    const asked: Question[] = [];
    const person: Person = {
      opensPages: false,
      ask: async (question) => (asked.push(question), { action: 'accept', content: { move: true } }),
    };
    const out = await run({ person });
    expect(asked[0]?.message).toContain(`${path} defines 2 other MCP servers: files, memory (${a}). `);
    expect(out).toContain('Code can call: files, memory. To add one');
    await run({ command: 'uninstall' });
    expect(read(path)).toBe(before);
    expect(await run({ isImport: false })).not.toContain('memory');
  });

  it('lists them in the JSON report', async () => {
    const a = folder('a');
    putFile({ [a]: { memory: stdio('memory') } });
    const out = await run({ isImport: true, isJson: true });
    expect(out).not.toContain(SECRET);
    expect(JSON.parse(out)).toMatchObject([
      {
        client: 'claude-code',
        changes: [{ path: store }, { path }],
        notes: [`'memory' (${a}): moved to ${store}.`],
      },
    ]);
  });
});

describe('changes that the user made in the meantime', () => {
  it('stay in the file of the client, including names that are used again', async () => {
    const [a, b] = [folder('a'), folder('b')];
    putFile({ [a]: { memory: stdio('memory'), git: stdio('git') }, [b]: { docs: stdio('docs') } }, {}, '\t');
    await run({ isImport: true });
    const root = JSON.parse(read(path));
    root.projects[a].mcpServers.memory = { command: 'new' };
    root.projects[a].allowedTools.push('Bash');
    // As if Claude Code had removed the folder.
    delete root.projects[b];
    const edited = JSON.stringify(root, undefined, '\t');
    writeFileSync(path, edited);
    const out = await run({ command: 'uninstall' });
    expect(out).toContain(`'git' (${a}), 'docs' (${b}): moved back from ${store}.`);
    expect(out).toContain(
      `'memory' (${a}) was not moved back from ${store}: ${path} already has a server with that name.`,
    );
    delete root.mcpServers.code;
    root.projects[a].mcpServers.git = stdio('git');
    root.projects[b] = { mcpServers: { docs: stdio('docs') } };
    expect(JSON.parse(read(path))).toEqual(root);
    // Apart from the moved servers, every line is as the user left it.
    const kept = edited.split('\n').filter((line) => /numStartups|allowedTools|Bash|userID|hasTrust/.test(line));
    expect(read(path).split('\n')).toEqual(expect.arrayContaining(kept));
  });

  it('stay in the state directory as well', async () => {
    const [a, b] = [folder('a'), folder('b')];
    const docs = { type: 'http', url: 'https://docs.example/mcp' };
    const before = putFile({ [a]: { docs }, [b]: { docs } });
    await run({ isImport: true });
    writeFileSync(
      store,
      read(store).replace('"url": "https://docs.example/mcp",', '"url": "https://new.example/mcp",'),
    );
    const out = await run({ command: 'uninstall' });
    expect(out.match(/'docs' was changed in .* and also stays there\./g)).toHaveLength(1);
    expect(read(path)).toBe(before);
    expect(stored()).toMatchObject({ mcpServers: { docs: { url: 'https://new.example/mcp' } }, importedFrom: {} });
  });
});

describe('a state directory of an earlier version', () => {
  /** What `install --import` wrote when it moved only the servers for all folders. */
  const putOld = (memory: unknown) => {
    const a = folder('a');
    const before = putFile({ [a]: { memory } }, { files: stdio('files') });
    const entry = { command: 'files', args: [], env: { API_KEY: SECRET } };
    const sha256 = createHash('sha256').update(JSON.stringify(entry)).digest('hex');
    const origins = { [path]: { files: { original: stdio('files'), sha256 } } };
    put(store, JSON.stringify({ mcpServers: { files: entry }, importedFrom: origins }, undefined, 2));
    put(`${path}.backup-20260101T000000Z`, before);
    putFile({ [a]: { memory } }, { code: BRIDGE });
    return { a, before };
  };

  it('is read by uninstall', async () => {
    const { before } = putOld(stdio('memory'));
    await run({ command: 'uninstall' });
    expect(read(path)).toBe(before);
    expect(existsSync(store)).toBe(false);
  });

  it('also gets the servers of folders, and uninstall still restores the original file', async () => {
    const { a, before } = putOld(stdio('memory'));
    expect(await run({ isImport: true })).toContain(`'memory' (${a}): moved to ${store}.`);
    expect(Object.keys(stored().importedFrom)).toEqual([path, `${path}#${a}`]);
    expect(readdirSync(home.path).filter((name) => name.includes('.backup-'))).toHaveLength(2);
    await run({ command: 'uninstall' });
    expect(read(path)).toBe(before);
    expect(existsSync(store)).toBe(false);
  });
});
