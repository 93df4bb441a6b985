import { describe, expect, it } from 'vitest';
import { describeProxy, proxiesOf } from '../../../../src/edges/upstream/http/proxies.ts';

function chosen(env: Record<string, string>, address: string): string | undefined {
  const proxy = proxiesOf(env)(new URL(address));
  return proxy && describeProxy(proxy);
}

describe('the variables', () => {
  it.each([
    [{ HTTPS_PROXY: 'http://p:3128' }, 'https://a.example/mcp', 'the proxy http://p:3128 (HTTPS_PROXY)'],
    [{ HTTPS_PROXY: 'http://p:3128' }, 'http://a.example/mcp', undefined],
    [{ http_proxy: 'https://p' }, 'http://a.example/mcp', 'the proxy https://p (http_proxy)'],
    [{ HTTPS_PROXY: 'http://a', https_proxy: 'http://b' }, 'https://a.example', 'the proxy http://b (https_proxy)'],
    [{ HTTPS_PROXY: 'http://a', https_proxy: ' ' }, 'https://a.example', 'the proxy http://a (HTTPS_PROXY)'],
    [{ HTTPS_PROXY: 'p:3128' }, 'https://a.example', 'the proxy http://p:3128 (HTTPS_PROXY)'],
    [{ HTTPS_PROXY: 'http://u:secret@p:3128/' }, 'https://a.example', 'the proxy http://p:3128 (HTTPS_PROXY)'],
    [{ ALL_PROXY: 'http://p:3128' }, 'https://a.example', undefined],
    [{}, 'https://a.example', undefined],
  ] as [Record<string, string>, string, string | undefined][])('%j for %s: %s', (env, address, expected) => {
    expect(chosen(env, address)).toBe(expected);
  });

  it('give the user name and password to the proxy only', () => {
    const proxy = proxiesOf({ https_proxy: 'http://me%40home:a%3Ab@p:1' })(new URL('https://a.example'));
    expect(proxy?.url.href).toBe('http://p:1/');
    expect(Buffer.from(proxy?.authorization?.replace('Basic ', '') ?? '', 'base64').toString()).toBe('me@home:a:b');
  });

  it.each(['socks5://p:1080', 'http://', 'ht tp://u:secret@p', 'file:///p'])(
    'that do not name a usable proxy: %s',
    (value) => {
      const choose = proxiesOf({ HTTPS_PROXY: value });
      expect(() => choose(new URL('https://a.example'))).toThrow(
        'HTTPS_PROXY does not name a proxy with an http: or https: address',
      );
      expect(() => choose(new URL('http://a.example'))).not.toThrow();
    },
  );
});

describe('a direct connection', () => {
  const direct = (NO_PROXY: string, address: string): boolean =>
    chosen({ HTTPS_PROXY: 'http://p', HTTP_PROXY: 'http://p', NO_PROXY }, address) === undefined;

  it.each([
    'http://127.0.0.1:8080/mcp',
    'http://127.9.9.9/',
    'http://[::1]:1/',
    'http://[::ffff:127.0.0.1]/',
    'http://0.0.0.0/',
    'https://localhost/mcp',
    'https://LOCALHOST./mcp',
    'http://api.localhost:3000/',
  ])('to this machine, whatever is set: %s', (address) => {
    expect(direct('', address)).toBe(true);
  });

  it.each([
    ['*', 'https://a.example'],
    ['a.example', 'https://a.example/mcp'],
    ['A.Example', 'https://a.example./mcp'],
    ['example', 'https://a.example'],
    ['.example', 'https://a.example'],
    ['*.example', 'https://b.a.example'],
    ['x, a.example:443 y', 'https://a.example'],
    ['a.example:8443', 'https://a.example:8443'],
    ['10.1.2.3', 'http://10.1.2.3/'],
    ['10.0.0.0/8', 'http://10.200.0.1/'],
    ['fd00::/8', 'http://[fd12::1]/'],
    ['fd12::1', 'http://[fd12::1]/'],
    ['[fd12::1]:80', 'http://[fd12::1]/'],
  ])('NO_PROXY=%s: %s', (text, address) => {
    expect(direct(text, address)).toBe(true);
  });

  it.each([
    ['a.example', 'https://ba.example'],
    ['a.example:8443', 'https://a.example'],
    ['10.0.0.0/8', 'https://10.example'],
    ['10.0.0.0/8', 'http://11.0.0.1/'],
    ['0.0.1', 'http://10.0.0.1/'],
    ['10.0.0.0/99', 'http://10.0.0.1/'],
    ['', 'http://10.0.0.1/'],
    [',', 'https://a.example'],
  ])('not for NO_PROXY=%s: %s', (text, address) => {
    expect(direct(text, address)).toBe(false);
  });
});
