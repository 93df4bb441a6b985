import { expect, it } from 'vitest';
import { createMask } from '../../../src/upstream/mask.ts';
import { definitions } from '../../support/upstream.ts';

function mask(entry: { env?: Record<string, string>; args?: string[] }, text: string): string {
  const definition = definitions({ postgres: entry }).get('postgres');
  return definition === undefined ? '' : createMask(definition)(text);
}

it.each<[string, { env?: Record<string, string>; args?: string[] }, string, string]>([
  ['a value of env', { env: { TOKEN: 'ghp_1234' } }, 'bad token ghp_1234!', 'bad token ***!'],
  ['a short one with a telling name', { env: { DB_PASSWORD: 'abcd' } }, 'login abcd', 'login ***'],
  ['not what is too short to be one', { env: { DEBUG: '1', MODE: 'prod' } }, '1 prod', '1 prod'],
  [
    'not a path',
    { env: { MEMORY_FILE: '/home/me/memory.json' } },
    'open /home/me/memory.json',
    'open /home/me/memory.json',
  ],
  ['a secret that looks like a path', { env: { AWS_SECRET: '/aB3/x9Q' } }, 'key /aB3/x9Q', 'key ***'],
  ['a longer one before one it contains', { env: { A: 'secret-1', B: 'secret-1-long' } }, 'secret-1-long', '***'],
  ['a line of a key', { env: { KEY: '-----BEGIN\nabcdefgh\n' } }, 'line abcdefgh', 'line ***'],
  ['not the name of the server itself', { env: { POSTGRES_DB: 'postgres' } }, "server 'postgres'", "server 'postgres'"],
  ['an option', { args: ['--api-key', 'k-987'] }, 'key k-987', 'key ***'],
  ['an option with =', { args: ['--token=t-987'] }, 'run --token=t-987', 'run --token=***'],
  ['not other arguments', { args: ['--port', '8080'] }, 'port 8080', 'port 8080'],
  ['a password in an address', {}, 'postgres://me:hush@db/x', 'postgres://me:***@db/x'],
])('masks %s', (_what, entry, text, masked) => {
  expect(mask(entry, text)).toBe(masked);
});
