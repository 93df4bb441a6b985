/** Every file of servers.d can be copied to the state directory unchanged, and starts a server that the tests have started. */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { discoverServers } from '../../../src/edges/servers/discover.ts';
import { REAL_SERVERS } from '../../real-servers/servers.ts';

const FOLDER = join(import.meta.dirname, '..', '..', '..', 'servers.d');
const FILES = readdirSync(FOLDER);

it('loads every example without issues, except for the variables that users must set', () => {
  const { servers, issues } = discoverServers({ stateDir: FOLDER, env: {} });
  expect(issues.filter(({ message }) => !/^the variable [A-Z_]+ is not set/.test(message))).toEqual([]);
  expect(new Set([...servers.values()].map((server) => server.file)).size).toBe(FILES.length);
  expect([...servers.values()].every((server) => server.description !== undefined)).toBe(true);
});

it('has examples of at least twenty servers', () => {
  expect(discoverServers({ stateDir: FOLDER, env: {} }).servers.size).toBeGreaterThanOrEqual(20);
});

describe.each(FILES)('%s', (file) => {
  const content = JSON.parse(readFileSync(join(FOLDER, file), 'utf8')) as {
    readonly needs?: string;
    readonly mcpServers: Readonly<Record<string, { readonly command: string; readonly args: readonly string[] }>>;
  };

  it('says what it needs', () => {
    expect(content.needs).toMatch(/.\.$/);
  });

  it('starts a package that the check of real servers also starts', () => {
    const known = Object.values(REAL_SERVERS).map(({ spec }) => spec.slice(0, spec.lastIndexOf('@')));
    for (const { command, args } of Object.values(content.mcpServers)) {
      // Servers in Python are not on npm.
      expect(command === 'uvx' || known.includes(args[1] ?? '')).toBe(true);
    }
  });
});
