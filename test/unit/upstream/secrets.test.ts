import { describe, expect, it } from 'vitest';
import { createMask, secretsOf } from '../../../src/edges/upstream/secrets.ts';
import { definitions } from '../../support/upstream.ts';

interface Entry {
  readonly env?: Record<string, string>;
  readonly args?: readonly string[];
  readonly url?: string;
  readonly headers?: Record<string, string>;
  readonly secrets?: readonly string[];
}

function found(entry: Entry): string[] {
  return secretsOf({ env: {}, args: [], ...entry });
}

describe('what a server sends', () => {
  it.each<[string, Entry, string[]]>([
    ['a variable with a telling name', { env: { GITHUB_TOKEN: 'ghp_12345678' } }, ['ghp_12345678']],
    ['a variable whose name ends in a number', { env: { API_KEY_2: 'sk-12345678' } }, ['sk-12345678']],
    ['an option and its value', { args: ['--api-key', 'k-1234567', '--port', '80808080'] }, ['k-1234567']],
    ['an option with =', { args: ['--token=t-1234567'] }, ['t-1234567']],
    ['a variable for a container', { args: ['run', '-e', 'DB_PASSWORD=hunter2-x'] }, ['hunter2-x']],
    ['a header in an argument', { args: ['--header', 'Authorization: Bearer abc.def.1'] }, ['abc.def.1']],
    ['a header', { headers: { 'X-Api-Key': 'x-1234567', Accept: 'application/json' } }, ['x-1234567']],
    ['a header without its scheme', { headers: { Authorization: 'Bearer abc.def.1' } }, ['abc.def.1']],
    ['a parameter of an address', { url: 'https://host/mcp?api_key=q-1234567&page=1' }, ['q-1234567']],
    ['the password in an address', { args: ['postgres://me:pw-1234567@host/db'] }, ['me:pw-1234567@', 'pw-1234567']],
    ['headers in JSON', { env: { MCP_HEADERS: '{"Authorization": "Bearer ntn_123456"}' } }, ['ntn_123456']],
    ['a connection string', { env: { DB: 'Server=x;Password=pw-1234567;' } }, ['pw-1234567']],
    ['a secret that begins like a path', { env: { AWS_SECRET_ACCESS_KEY: '/aB3+x9Qw' } }, ['/aB3+x9Qw']],
    ['an address that is itself a secret', { env: { SLACK_WEBHOOK_URL: 'https://h/s/x1' } }, ['https://h/s/x1']],
    ['a declared secret', { secrets: ['password', 'short'] }, ['password']],
    [
      'the lines of a key',
      { env: { PRIVATE_KEY: '-----BEGIN KEY-----\nMIIBOgIBAAJBAK+x\n' } },
      ['-----BEGIN KEY-----\nMIIBOgIBAAJBAK+x', 'MIIBOgIBAAJBAK+x'],
    ],
  ])('takes %s', (_what, entry, secrets) => {
    expect(found(entry)).toEqual(secrets);
  });

  it.each<[string, Entry]>([
    ['short values', { env: { TOKEN: '1234567', PASSWORD: 'true' } }],
    ['words', { env: { POSTGRES_PASSWORD: 'postgres', DB_PASS: 'Password' } }],
    ['other variables', { env: { MODE: 'production', REGION: 'eu-central-1' } }],
    ['names of places and methods', { env: { TOKEN_URL: 'https://host/token', AUTH_TYPE: 'client_credentials' } }],
    ['paths', { env: { PRIVATE_KEY: '/home/me/key.pem', SSH_KEY: '~/.ssh/id.pem' } }],
    ['addresses', { env: { VAULT_KEY: 'https://vault.example/keys' } }],
    ['arguments without a name', { args: ['-y', '@modelcontextprotocol/server-github'] }],
  ])('does not take %s', (_what, entry) => {
    expect(found(entry)).toEqual([]);
  });

  it('searches long words in linear time', () => {
    const word = 'x'.repeat(1_000_000);
    expect(secretsOf({ args: [word, `${word} token=0123456789abcdef`] })).toEqual(['0123456789abcdef']);
  });
});

function mask(entry: Pick<Entry, 'env' | 'args'>, text: string): string {
  const definition = definitions({ postgres: entry }).get('postgres');
  return definition === undefined ? '' : createMask(definition)(text);
}

describe('a message', () => {
  it.each<[string, Pick<Entry, 'env' | 'args'>, string, string]>([
    ['a value of env', { env: { TOKEN: 'ghp_1234' } }, 'bad token ghp_1234!', 'bad token ***!'],
    ['a short value with a telling name', { env: { DB_PASSWORD: 'abcd' } }, 'login abcd', 'login ***'],
    ['no value that is too short', { env: { DEBUG: '1', MODE: 'prod' } }, '1 prod', '1 prod'],
    [
      'no path',
      { env: { MEMORY_FILE: '/home/me/memory.json' } },
      'open /home/me/memory.json',
      'open /home/me/memory.json',
    ],
    ['a secret that looks like a path', { env: { AWS_SECRET: '/aB3/x9Q' } }, 'key /aB3/x9Q', 'key ***'],
    ['a secret before one that it contains', { env: { A: 'secret-1', B: 'secret-1-long' } }, 'secret-1-long', '***'],
    ['a line of a key', { env: { KEY: '-----BEGIN\nabcdefgh\n' } }, 'line abcdefgh', 'line ***'],
    ['no name of the server', { env: { POSTGRES_DB: 'postgres' } }, "server 'postgres'", "server 'postgres'"],
    ['an option', { args: ['--api-key', 'k-987'] }, 'key k-987', 'key ***'],
    ['an option with =', { args: ['--token=t-987'] }, 'run --token=t-987', 'run --token=***'],
    ['no other arguments', { args: ['--port', '8080'] }, 'port 8080', 'port 8080'],
    ['a password in an address', {}, 'postgres://me:hush@db/x', 'postgres://me:***@db/x'],
  ])('masks %s', (_what, entry, text, masked) => {
    expect(mask(entry, text)).toBe(masked);
  });
});
