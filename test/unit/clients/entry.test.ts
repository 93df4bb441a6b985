import { describe, expect, it } from 'vitest';
import { toServerEntry } from '../../../src/edges/clients/entry.ts';

describe('entries of remote servers in files of clients', () => {
  const url = 'https://example.org/mcp';

  it.each([
    ['VS Code', { type: 'http', url, headers: { A: 'b' } }, { url, type: 'http', headers: { A: 'b' } }],
    ['Gemini', { httpUrl: url }, { url }],
    ['Windsurf', { serverUrl: url, disabled: false }, { url }],
    [
      'OpenCode',
      { type: 'remote', url, headers: { A: 'b' }, enabled: false },
      { url, headers: { A: 'b' }, disabled: true },
    ],
    ['Goose', { type: 'streamable_http', uri: url, envs: {} }, { url, type: 'streamable_http', env: {} }],
    ['Cline', { type: 'sse', url, autoApprove: [] }, { url, type: 'sse' }],
    [
      'Codex',
      { url, bearer_token_env_var: 'TOKEN', http_headers: { A: 'b' }, env_http_headers: { C: 'KEY' } },
      { url, headers: { Authorization: 'Bearer ${TOKEN}', A: 'b', C: '${KEY}' } },
    ],
  ])('%s', (_client, value, entry) => {
    expect(toServerEntry(value)).toEqual({ entry });
  });

  it('keep their settings for calls and changed tools', () => {
    const own = { policy: { default: 'ask' }, pin: 'strict' };
    expect(toServerEntry({ url, ...own })).toEqual({ entry: { url, ...own } });
  });

  it('are not converted if they need values that only the client has', () => {
    const value = { url, headers: { Authorization: 'Bearer ${input:key}' } };
    expect(toServerEntry(value)).toMatchObject({ isClientPart: false });
  });
});
