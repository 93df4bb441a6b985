import { describe, expect, it, onTestFinished } from 'vitest';
import { noProxy } from '../../../../src/upstream/http/proxies.ts';
import { createOAuthFetch } from '../../../../src/upstream/oauth/oauth-fetch.ts';

async function fetchFor(server: string) {
  const http = await createOAuthFetch(new URL(server), noProxy);
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
  ])('sends no request to %s', async (address) => {
    const http = await fetchFor('https://1.1.1.1/mcp');
    await expect(http.fetch(address)).rejects.toThrow('it is an address in a private network');
    expect(http.lastFailure()?.message).toContain('could not be reached');
    expect(() => http.checkAddress(new URL(address))).toThrow('is not opened');
  });

  it.each([
    'file:///etc/passwd',
    'javascript:alert(1)',
    'https://user:pass@example.org/',
    'https://example.org/?a=`id`',
    'https://example.org/?a=b|c',
    'https://example.org/?a={b}',
  ])('opens no browser for %s', async (address) => {
    const http = await fetchFor('https://1.1.1.1/mcp');
    expect(() => http.checkAddress(new URL(address))).toThrow(/is not (?:allowed|opened)/);
  });

  it('opens a browser for a typical address of a provider', async () => {
    const http = await fetchFor('https://1.1.1.1/mcp');
    const address = 'https://example.org/o/authorize?scope=a%20b+c&state=x~y_z-1.2&claims=%7B%22a%22%3A1%7D#top';
    expect(() => http.checkAddress(new URL(address))).not.toThrow();
  });
});

it('a login at a server on this machine may use addresses on this machine', async () => {
  const http = await fetchFor('http://127.0.0.1:1/mcp');
  expect(() => http.checkAddress(new URL('http://localhost:2/authorize'))).not.toThrow();
  await expect(http.fetch('http://127.0.0.1:9/token')).rejects.toThrow('ECONNREFUSED');
});
