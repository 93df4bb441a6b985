import { describe, expect, it } from 'vitest';
import { renderIssue } from '../../../src/core/base/config-issue.ts';
import { parseServerFile } from '../../../src/edges/servers/server-file.ts';

const FILE = '/home/me/MCPs/a.json';
const URL_TEXT = 'https://example.org/mcp';

function read(mcpServers: object, env: Record<string, string> = {}) {
  return parseServerFile(FILE, JSON.stringify({ mcpServers }), { home: '/home/me', env });
}

describe('entries of remote servers', () => {
  it('are accepted as other clients write them', () => {
    const { servers } = read(
      {
        plain: { url: URL_TEXT },
        keyed: { type: 'streamable-http', url: '${BASE}/mcp', headers: { Authorization: 'Bearer ${TOKEN}\n' } },
        old: { transport: 'SSE', url: URL_TEXT, timeout: '2m', disabled: true },
        both: { command: 'run', url: URL_TEXT },
      },
      { BASE: 'http://127.0.0.1:8080', TOKEN: 't-1' },
    );
    const [plain, keyed, old, both] = servers;
    expect(plain).toMatchObject({ url: URL_TEXT, transport: 'auto', headers: {}, disabled: false, file: FILE });
    expect(keyed).toMatchObject({ url: 'http://127.0.0.1:8080/mcp', headers: { Authorization: 'Bearer t-1' } });
    expect(old).toMatchObject({ transport: 'sse', timeoutMs: 120_000, disabled: true });
    expect(both).toMatchObject({ command: 'run' });
    expect(new Set(servers.map(({ definitionHash }) => definitionHash)).size).toBe(4);
  });

  it('are refused with invalid addresses and headers, without repeating a possible secret', () => {
    const { servers, issues } = read(
      {
        file: { url: 'file:///etc/passwd' },
        words: { url: '${KEY}/mcp' },
        socket: { url: URL_TEXT, type: 'ws' },
        name: { url: URL_TEXT, headers: { 'a b': 'x' } },
        value: { url: URL_TEXT, headers: { 'X-Key': 'one\r\ntwo' } },
      },
      { KEY: 'secret' },
    );
    expect(servers).toEqual([]);
    expect(issues.map((issue) => renderIssue(issue).replace(`${FILE}: mcpServers.`, ''))).toEqual([
      'file has a "url" with the scheme "file:"; it must be http: or https:',
      'words has a "url" that is not a full address such as "https://example.org/mcp"',
      'socket.type must be "http" or "sse" for a server with a "url"',
      'name.headers["a b"] must be the name of a header',
      'value has a header "X-Key" with a character that headers cannot contain',
    ]);
  });
});
