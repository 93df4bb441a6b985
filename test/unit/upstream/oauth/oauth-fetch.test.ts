import { describe, expect, it, onTestFinished } from 'vitest';
import { noProxy } from '../../../../src/edges/upstream/http/proxies.ts';
import { createOAuthFetch } from '../../../../src/edges/upstream/oauth/oauth-fetch.ts';
import { resolverOf } from '../../../support/resolver.ts';

function fetchFor(server: string) {
  const http = createOAuthFetch(new URL(server), {
    proxies: noProxy,
    resolve: resolverOf({ 'example.org': ['203.0.114.5'], 'router.test': ['203.0.114.5', '192.168.0.1'] }),
  });
  onTestFinished(() => http.close());
  return http;
}

describe('a login at a server on the internet', () => {
  it.each([
    'http://127.0.0.1:1/token',
    'http://10.0.0.1/token',
    'http://[::1]:1/token',
    'http://169.254.169.254/latest',
    'http://localhost:1/token',
    'http://localhost.:1/token',
    'http://app.localhost.:1/token',
    'http://router.test/token',
  ])('sends no request to %s', async (address) => {
    const http = fetchFor('https://1.1.1.1/mcp');
    await expect(http.fetch(address)).rejects.toThrow('it is an address in a private network');
    expect(http.lastFailure()?.message).toContain('could not be reached');
    await expect(http.checkAddress(new URL(address))).rejects.toThrow(
      'is not opened: it is an address in a private network',
    );
  });

  it.each([
    'file:///etc/passwd',
    'javascript:alert(1)',
    'https://user:pass@example.org/',
    'https://example.org/?a=`id`',
    'https://example.org/?a=b|c',
    'https://example.org/?a={b}',
  ])('opens no browser for %s', async (address) => {
    const http = fetchFor('https://1.1.1.1/mcp');
    await expect(http.checkAddress(new URL(address))).rejects.toThrow(/is not (?:allowed|opened)/);
  });

  it('opens a browser for a typical address of a provider', async () => {
    const http = fetchFor('https://1.1.1.1/mcp');
    const address = 'https://example.org/o/authorize?scope=a%20b+c&state=x~y_z-1.2&claims=%7B%22a%22%3A1%7D#top';
    expect(await http.checkAddress(new URL(address))).toBeUndefined();
  });
});

it('a login at a server on this machine may use addresses on this machine', async () => {
  const http = fetchFor('http://127.0.0.1:1/mcp');
  await http.checkAddress(new URL('http://localhost:2/authorize'));
  await expect(http.fetch('http://127.0.0.1:9/token')).rejects.toThrow('ECONNREFUSED');
});
