/**
 * Entries and files of other clients that were copied as they are into the state directory. Switches of other clients did not switch
 * off, placeholders of other clients went to servers literally, and milliseconds were read as seconds.
 */
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { renderIssue } from '../../../src/core/base/config-issue.ts';
import { discoverServers, findDefinedServers } from '../../../src/edges/servers/discover.ts';
import { parseServerFile } from '../../../src/edges/servers/server-file.ts';
import { setDisabled } from '../../../src/edges/servers/server-file-edit.ts';

const FILE = '/state/a.json';
const env = { SET: 'value', PATH: '/bin' };

function parse(root: object) {
  const { issues, servers } = parseServerFile(FILE, JSON.stringify(root), { home: '/home/me', env });
  return { servers, issues: issues.filter(({ level }) => level !== 'debug').map(renderIssue) };
}

function parseEntry(entry: object) {
  const { issues, servers } = parse({ mcpServers: { a: { command: 'x', ...entry } } });
  return { server: servers[0], issues };
}

describe('switches', () => {
  it.each([
    { enabled: false },
    { isActive: false },
    { active: false },
    { disable: true },
    { isDisabled: true },
    { disabled: true, enabled: true },
  ])('%j switches off, and enabling removes it', (entry) => {
    expect(parseEntry(entry)).toMatchObject({ server: { disabled: true }, issues: [] });
    const text = JSON.stringify({ mcpServers: { a: { command: 'x', ...entry } } });
    const enabled = setDisabled(text, 'a', false);
    expect(parseServerFile(FILE, enabled, { home: '/', env }).servers[0]).toMatchObject({ disabled: false });
    expect(setDisabled(text, 'a', true)).toBe(text);
  });

  it.each([{ enabled: true }, { isActive: true }, { disable: false }])('%j changes nothing', (entry) => {
    expect(parseEntry(entry)).toMatchObject({ server: { disabled: false }, issues: [] });
  });

  it('that are neither true nor false are errors', () => {
    expect(parseEntry({ enabled: 'no' })).toEqual({
      server: undefined,
      issues: [`${FILE}: mcpServers.a.enabled must be true or false`],
    });
  });
});

describe('placeholders', () => {
  it('in the notation of other clients are filled in', () => {
    const { issues, server } = parseEntry({
      args: ['--key={env:SET}', '$SET', '${userHome}/x'],
      env: { A: '{env:SET}', B: '$SET', C: 'pa$SET' },
    });
    expect(issues).toEqual([]);
    // A shell or the server may mean the others.
    expect(server).toMatchObject({
      args: ['--key=value', '$SET', '/home/me/x'],
      env: { A: 'value', B: 'value', C: 'pa$SET' },
    });
    const remote = { url: 'https://example.org/{env:SET}', headers: { Authorization: 'Bearer $SET' } };
    expect(parse({ mcpServers: { a: remote } }).servers[0]).toMatchObject({
      url: 'https://example.org/value',
      headers: { Authorization: 'Bearer value' },
    });
    expect(parseEntry({ env: { A: '{file:~/key}' } }).server).toMatchObject({ env: { A: '${file:~/key}' } });
  });

  it.each([
    [{ args: ['${input:token}'] }, '${input:token}'],
    [{ env: { A: 'x${input:token}' } }, '${input:token}'],
    [{ cwd: '${workspaceFolder}/a' }, '${workspaceFolder}'],
    [{ env: { A: '${keychain:b}' } }, '${keychain:b}'],
    [{ env: { A: '{env:NOT_SET}' } }, '{env:NOT_SET}'],
    [{ args: ['{env:NOT_SET}'] }, '{env:NOT_SET}'],
    [{ env: { A: '$NOT_SET' } }, '$NOT_SET'],
  ])('%j is reported, and the server does not start with it', (entry, placeholder) => {
    const { issues, server } = parseEntry(entry);
    expect(server).toBeUndefined();
    expect(issues).toEqual([expect.stringContaining(`contains ${placeholder}, `)]);
  });

  it('in headers and addresses too', () => {
    const remote = { url: 'https://example.org/mcp', headers: { Authorization: 'Bearer $NOT_SET' } };
    expect(parse({ mcpServers: { a: remote } })).toEqual({
      servers: [],
      issues: [`${FILE}: mcpServers.a contains $NOT_SET, and the variable NOT_SET is not set`],
    });
  });
});

describe('files', () => {
  const echo = { command: ['npx', '-y', 'echo'], type: 'local', environment: { A: 'b' }, timeout: 90_000 };

  it.each([
    [
      'OpenCode',
      { mcp: { a: { ...echo, enabled: false } } },
      { args: ['-y', 'echo'], disabled: true, timeoutMs: 90_000 },
    ],
    ['Zed', { context_servers: { a: { command: { path: 'npx', args: ['-y'] } } } }, { args: ['-y'] }],
    ['VS Code', { servers: { a: { command: 'npx', args: ['x'] } } }, { args: ['x'] }],
    ['Gemini', { mcpServers: { a: { httpUrl: 'https://example.org/' } } }, { url: 'https://example.org/' }],
    ['Windsurf', { mcpServers: { a: { serverUrl: 'https://example.org/' } } }, { url: 'https://example.org/' }],
    ['another', { mcpServers: { a: { baseUrl: 'https://example.org/' } } }, { url: 'https://example.org/' }],
  ])('of %s are read', (_client, root, expected) => {
    const { issues, servers } = parse(root);
    expect(issues).toEqual([]);
    expect(servers).toMatchObject([{ name: 'a', ...expected }]);
  });

  it('with "environment" under mcpServers are read, with a warning, because other clients ignore it', () => {
    expect(parseEntry({ environment: { A: 'b' } })).toEqual({
      server: expect.objectContaining({ env: { A: 'b' } }),
      issues: [`${FILE}: mcpServers.a.environment is read as "env"; other clients ignore it`],
    });
  });

  it.each([60_000, '60000'])('with a timeout of %j do not get hours', (timeout) => {
    const { issues, server } = parseEntry({ timeout });
    expect(server).toMatchObject({ timeoutMs: undefined });
    expect(issues).toEqual([
      `${FILE}: mcpServers.a.timeout is not used: 60000 without a unit is probably in milliseconds; write "60000ms" or "60000s"`,
    ]);
    expect(parseEntry({ timeout: 3_600 })).toMatchObject({ server: { timeoutMs: 3_600_000 }, issues: [] });
  });

  it('that are not UTF-8 are refused with the line, and are not edited under another key', async () => {
    const stateDir = await mkdtemp(join(tmpdir(), 'foreign-'));
    onTestFinished(() => rm(stateDir, { recursive: true }));
    await mkdir(stateDir, { recursive: true });
    const text = '{"mcpServers": {\n  "a": {"command": "x",\n  "env": {"A": "caf\u00e9"}}}}';
    await writeFile(join(stateDir, 'latin.json'), Buffer.from(text, 'latin1'));
    await writeFile(join(stateDir, 'opencode.json'), JSON.stringify({ mcp: { b: echo } }));
    const { issues, servers } = discoverServers({ stateDir, env });
    expect([...servers.keys()]).toEqual(['b']);
    expect(issues.filter(({ level }) => level !== 'debug').map(renderIssue)).toEqual([
      `${join(stateDir, 'latin.json')} is not text in UTF-8 (line 3)`,
    ]);
    expect(findDefinedServers({ stateDir, env }).filter(({ isOurs }) => !isOurs)).toEqual([
      { name: 'b', file: join(stateDir, 'opencode.json'), isOurs: false },
    ]);
  });
});

describe('restrictions', () => {
  it('are a policy of the server, stricter than one that the entry has', () => {
    const policyOf = (entry: object) => parseEntry(entry).server?.policy?.value;
    const reason = 'its client forbids it';
    expect(policyOf({ excludeTools: ['x'] })).toEqual({ rules: [{ effect: 'deny', tool: ['x'], reason }] });
    expect(policyOf({ excludeTools: ['x'], policy: { rules: [{ effect: 'ask' }] } })).toEqual({
      rules: [{ effect: 'deny', tool: ['x'], reason }, { effect: 'ask' }],
    });
    expect(policyOf({ includeTools: ['x'], policy: { rules: [{ effect: 'allow' }] } })).toEqual({ default: 'deny' });
    expect(policyOf({ includeTools: 'x' })).toEqual({ default: 'deny' });
    expect(parseEntry({ includeTools: 'x' }).issues).toEqual([
      `${FILE}: mcpServers.a.includeTools is not a list of names, or is beside a "policy"; no call is allowed until you write one policy`,
    ]);
  });
});
