import { expect, it } from 'vitest';
import { secretsOf } from '../../../src/upstream/secrets.ts';

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

it.each<[string, Entry, string[]]>([
  ['a variable that is named like one', { env: { GITHUB_TOKEN: 'ghp_12345678' } }, ['ghp_12345678']],
  ['one with a number behind its name', { env: { API_KEY_2: 'sk-12345678' } }, ['sk-12345678']],
  ['an option and its value', { args: ['--api-key', 'k-1234567', '--port', '80808080'] }, ['k-1234567']],
  ['an option with =', { args: ['--token=t-1234567'] }, ['t-1234567']],
  ['a variable for a container', { args: ['run', '-e', 'DB_PASSWORD=hunter2-x'] }, ['hunter2-x']],
  ['a header in an argument', { args: ['--header', 'Authorization: Bearer abc.def.1'] }, ['abc.def.1']],
  ['a header', { headers: { 'X-Api-Key': 'x-1234567', Accept: 'application/json' } }, ['x-1234567']],
  ['a header without its scheme', { headers: { Authorization: 'Bearer abc.def.1' } }, ['abc.def.1']],
  ['a parameter of an address', { url: 'https://host/mcp?api_key=q-1234567&page=1' }, ['q-1234567']],
  ['the password of an address', { args: ['postgres://me:pw-1234567@host/db'] }, ['me:pw-1234567@', 'pw-1234567']],
  ['headers in JSON', { env: { MCP_HEADERS: '{"Authorization": "Bearer ntn_123456"}' } }, ['ntn_123456']],
  ['a connection text', { env: { DB: 'Server=x;Password=pw-1234567;' } }, ['pw-1234567']],
  ['a secret that begins like a path', { env: { AWS_SECRET_ACCESS_KEY: '/aB3+x9Qw' } }, ['/aB3+x9Qw']],
  ['an address that is itself a secret', { env: { SLACK_WEBHOOK_URL: 'https://h/s/x1' } }, ['https://h/s/x1']],
  ['what was declared to be one', { secrets: ['password', 'short'] }, ['password']],
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
  ['names that tell where or how', { env: { TOKEN_URL: 'https://host/token', AUTH_TYPE: 'client_credentials' } }],
  ['paths', { env: { PRIVATE_KEY: '/home/me/key.pem', SSH_KEY: '~/.ssh/id.pem' } }],
  ['addresses', { env: { VAULT_KEY: 'https://vault.example/keys' } }],
  ['arguments without a name', { args: ['-y', '@modelcontextprotocol/server-github'] }],
])('does not take %s', (_what, entry) => {
  expect(found(entry)).toEqual([]);
});

it('looks through long words once', () => {
  const word = 'x'.repeat(1_000_000);
  expect(secretsOf({ args: [word, `${word} token=0123456789abcdef`] })).toEqual(['0123456789abcdef']);
});
