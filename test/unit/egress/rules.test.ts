/** What an entry allows: its hosts, methods and paths. */
import { describe, expect, it } from 'vitest';
import { EgressRules, type EgressSource, explainHost } from '../../../src/core/base/egress.ts';

function rules(url: string, source: Partial<EgressSource> = {}): EgressRules {
  return new EgressRules(url, { hosts: [], isPrivate: false, prefixes: {}, ...source });
}

describe('hosts', () => {
  const allowed = rules('https://api.example.com/v1', {
    hosts: ['files.example.com', '*.cdn.example', 'http://localhost:8000', '[::1]:8443'],
  });

  it.each([
    'https://api.example.com/anything',
    'https://api.example.com:443/',
    'https://api.example.com./',
    'https://API.example.com/',
    'https://files.example.com/a',
    'https://a.cdn.example/',
    'https://a.b.cdn.example/',
    'http://localhost:8000/x',
    'https://[::1]:8443/',
  ])('%s is one of them', (address) => {
    expect(allowed.fit(new URL(address))).toBeGreaterThan(0);
  });

  it.each([
    'http://api.example.com/',
    'https://api.example.com:8443/',
    'https://example.com/',
    'https://xapi.example.com/',
    'https://api.example.com.evil.example/',
    'https://cdn.example/',
    'https://xcdn.example/',
    'https://evilcdn.example/',
    'https://localhost:8000/',
    'http://localhost/',
    'http://127.0.0.1:8000/',
  ])('%s is none of them', (address) => {
    expect(allowed.fit(new URL(address))).toBe(0);
  });

  it('fit better if they are exact', () => {
    const url = new URL('https://a.b.example/');
    const [exact, near, far] = [['a.b.example'], ['*.b.example'], ['*.example.com', '*.example']].map((hosts) =>
      rules('https://other.example', { hosts }).fit(url),
    );
    expect(exact).toBeGreaterThan(near ?? 0);
    expect(near).toBeGreaterThan(far ?? 0);
  });

  it.each([
    '',
    'a b',
    'ftp://a.example',
    'a.example/path',
    '*',
    '*.com',
    '*.1.2.3.4',
    'a*.example',
    'u@a.example',
    'a:99999',
  ])('%j is not one that an entry can name', (host) => {
    expect(explainHost(host)).toContain('write a host such as');
  });
});

describe('methods and paths', () => {
  const allowed = rules('https://api.example.com', { methods: ['GET'], paths: ['/v1/*', '/health', '/a/*/b'] });
  const refusal = (method: string, path: string) => allowed.refusal(method, new URL(path, 'https://api.example.com'));

  it.each(['/v1/', '/v1/customers/1', '/health', '/a/x/b', '/a/x/y/b', '/v1/x%20y'])('%s is allowed', (path) => {
    expect(refusal('GET', path)).toBeUndefined();
  });

  it.each([
    '/',
    '/v1',
    '/v2/',
    '/healthy',
    '/x/v1/',
    '/v1/../admin',
    '/v1/%2e%2e/admin',
    '/v1/..%2fadmin',
    '/v1/%5c..%5cadmin',
    '/v1/%252e%252e/admin',
    '/v1/..%25252fadmin',
    '/v1/..;/admin',
    '/v1/..%3b/admin',
    '/v1/%25%32%65%25%32%65/admin',
    '/v1/%%32e%%32e/admin',
    '/v1/%u002e%u002e/admin',
    '/a/b',
  ])('%s is not', (path) => {
    expect(refusal('GET', path)).toContain('it allows only the paths /v1/*');
  });

  it.each([
    ['/repos/*/*/issues/*/comments', `/repos${'/'.repeat(30_000)}`],
    ['/*/*/*/*/*/*/*/*/x', '/a'.repeat(15_000)],
    ['/*a*a*a*a*a*a*a*a*b', `/${'a'.repeat(30_000)}`],
  ])('a path that almost matches %s takes no time', (pattern, path) => {
    const one = rules('https://api.example.com', { paths: [pattern] });
    const start = process.cpuUsage();
    expect(one.refusal('GET', new URL(path, 'https://api.example.com'))).toBeDefined();
    expect(process.cpuUsage(start).user).toBeLessThan(1_000_000);
  });

  it.each([
    ['/a*b*', '/aXbY', true],
    ['/a*b*', '/aX', false],
    ['/a*a', '/a', false],
    ['/a*a', '/aa', true],
    ['/a*b*b', '/abb', true],
    ['/a*b*b', '/ab', false],
    ['*', '/x', true],
  ])('%s and %s: %s', (pattern, path, isAllowed) => {
    const one = rules('https://api.example.com', { paths: [pattern] });
    expect(one.refusal('GET', new URL(path, 'https://api.example.com')) === undefined).toBe(isAllowed);
  });

  it('says which methods are allowed', () => {
    expect(refusal('POST', '/v1/')).toBe('it allows only GET');
    expect(refusal('TRACE', '/v1/')).toBe('TRACE is none of GET, HEAD, OPTIONS, POST, PUT, PATCH, DELETE');
  });
});
