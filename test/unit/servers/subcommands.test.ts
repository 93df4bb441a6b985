import { expect, it } from 'vitest';
import { parseServerFile } from '../../../src/edges/servers/server-file.ts';

function read(entry: object) {
  return parseServerFile('/a.json', JSON.stringify({ mcpServers: { gh: entry } }), { home: '/home/me', env: {} });
}

it('an entry with subcommands is another server for each change of them', () => {
  const look = { args: ['look', '{at}'], parameters: { at: { type: 'string' } } };
  const entries = [{}, { look }, { look: { ...look, readOnly: true } }, { look: { ...look, args: ['see', '{at}'] } }];
  const read0 = read({ command: 'gh' });
  const all = entries.map((subcommands) => read({ command: 'gh', subcommands }));
  expect([read0, ...all].flatMap(({ issues }) => issues)).toEqual([]);
  expect(new Set([read0, ...all].map(({ servers }) => servers[0]?.definitionHash)).size).toBe(5);
  expect(all[1]?.servers[0]).toMatchObject({ subcommands: { look: { ...look, readOnly: false } } });
  expect(read0.servers[0]).not.toHaveProperty('subcommands');
});

it('a wrong subcommand is reported where it is', () => {
  const { servers, issues } = read({ command: 'gh', subcommands: { look: { args: ['{at}'] } } });
  expect(servers).toEqual([]);
  expect(issues).toMatchObject([{ level: 'error', path: 'mcpServers.gh.subcommands.look', server: 'gh' }]);
});
