/** `egress` in an entry. */
import { describe, expect, it } from 'vitest';
import { renderIssue } from '../../../src/core/base/config-issue.ts';
import { placesOf } from '../../../src/edges/servers/expand.ts';
import { parseServerFile } from '../../../src/edges/servers/server-file.ts';

const FILE = '/home/me/MCPs/a.json';

function read(entry: object, env: Record<string, string> = {}) {
  const { issues, servers } = parseServerFile(FILE, JSON.stringify({ mcpServers: { api: entry } }), {
    home: '/h',
    env,
  });
  return { issues: issues.map(renderIssue), server: servers[0] };
}

describe('egress in an entry', () => {
  it('allows everything at its address with true', () => {
    const { issues, server } = read({ url: 'https://api.example.com', egress: true });
    expect(issues).toEqual([]);
    expect(server).toMatchObject({
      api: { kind: 'http' },
      egress: { hosts: [], isPrivate: false, prefixes: {} },
      keys: {},
      policy: { value: { preset: 'ask-destructive' } },
    });
  });

  it('names hosts, methods, paths and keys', () => {
    const { issues, server } = read(
      {
        url: 'https://api.example.com',
        egress: {
          hosts: ['*.example.com'],
          methods: ['get', 'POST'],
          paths: ['/v1/*'],
          private: true,
          keys: { API_KEY: '${secret:api}', OTHER: { value: 'k-${REST}', prefix: 'sk_' } },
        },
      },
      { REST: 'rest' },
    );
    expect(issues).toEqual([]);
    expect(server).toMatchObject({
      egress: { hosts: ['*.example.com'], methods: ['GET', 'POST'], paths: ['/v1/*'], isPrivate: true },
      keys: { API_KEY: '${secret:api}', OTHER: 'k-rest' },
    });
    expect(server?.egress?.prefixes).toEqual({ API_KEY: '', OTHER: 'sk_' });
    expect(placesOf(server as never)).toContainEqual(['keys.API_KEY', '${secret:api}']);
  });

  it('has placeholders for the keys that the host signs with', () => {
    const aws = { accessKeyId: '${secret:id}', secretAccessKey: '${secret:key}', region: 'eu-west-1' };
    const { server } = read({ url: 'https://s3.eu-west-1.amazonaws.com', egress: { sign: { aws } } });
    expect(server?.keys).toEqual({ AWS_ACCESS_KEY_ID: '${secret:id}', AWS_SECRET_ACCESS_KEY: '${secret:key}' });
    expect(server?.signing).toEqual({ kind: 'aws', ...aws });
    expect(placesOf(server as never).map(([place]) => place)).toContain('signing.secretAccessKey');
  });

  it('signs tokens', () => {
    const jwt = { algorithm: 'RS256', key: '${file:key.pem}', claims: { iss: 'app' } };
    const { server } = read({ url: 'https://api.example.com', egress: { sign: { jwt } } });
    expect(server?.signing).toEqual({
      kind: 'jwt',
      algorithm: 'RS256',
      key: '${file:key.pem}',
      claims: '{"iss":"app"}',
      expires: '10m',
      header: 'authorization',
    });
  });

  it('makes another server of the entry if it changes', () => {
    const hashes = [true, { methods: ['GET'] }, { hosts: ['b.example'] }, { keys: { A: 'x' } }].map(
      (egress) => read({ url: 'https://a.example', egress }).server?.definitionHash,
    );
    expect(new Set(hashes).size).toBe(hashes.length);
  });

  it.each([
    [{ hosts: ['https://a.example/path'] }, 'egress.hosts[0] has the host "https://a.example/path" in "egress"'],
    [{ methods: ['TRACE'] }, 'egress.methods[0] must be one of GET, HEAD'],
    [{ paths: ['v1'] }, 'egress.paths[0] must begin with "/"'],
    [{ keys: { HTTPS_PROXY: 'x' } }, 'is a variable that the bridge sets itself'],
    [{ keys: { 'A B': 'x' } }, 'must be the name of a variable'],
    [{ allow: ['a.example'] }, 'allow'],
    ['yes', 'egress must be true or an object'],
    [{ sign: { jwt: { algorithm: 'none', key: 'x' } } }, 'egress.sign.jwt.algorithm'],
    [{ sign: { jwt: { algorithm: 'HS256', key: 'x', expires: '5s' } } }, 'must be a duration of a minute or more'],
  ])('is refused with %j', (egress, said) => {
    const { issues, server } = read({ url: 'https://api.example.com', egress });
    expect(server).toBeUndefined();
    expect(issues.join('\n')).toContain(said);
  });

  it('needs an address', () => {
    const { issues, server } = read({ egress: { hosts: ['a.example'] } });
    expect(server).toBeUndefined();
    expect(issues.join('\n')).toContain('api.url');
  });
});
