import { describe, expect, it } from 'vitest';
import { readPackageIndex } from '../../../src/packages/package-index.ts';

describe('readPackageIndex', () => {
  it('is PyPI by default', () => {
    expect(readPackageIndex({})).toMatchObject({ url: 'https://pypi.org/simple', extra: [], proxies: {} });
  });

  it('reads what pip and uv read', () => {
    const ofPip = {
      PIP_INDEX_URL: 'https://a.example/simple',
      PIP_EXTRA_INDEX_URL: 'https://b.example/simple http://c.example',
    };
    expect(readPackageIndex(ofPip)).toMatchObject({
      url: 'https://a.example/simple',
      extra: ['https://b.example/simple', 'http://c.example'],
    });
    const ofUv = { ...ofPip, UV_DEFAULT_INDEX: 'https://u.example/simple', UV_INDEX: 'own=https://v.example/simple' };
    expect(readPackageIndex(ofUv)).toMatchObject({
      url: 'https://u.example/simple',
      extra: ['https://v.example/simple', 'https://b.example/simple', 'http://c.example'],
    });
  });

  it('masks every credential, also as it is decoded', () => {
    const index = readPackageIndex({
      PIP_INDEX_URL: 'https://ada:p%40ss@a.example/simple',
      PIP_EXTRA_INDEX_URL: 'https://token-123@b.example/simple',
      HTTPS_PROXY: 'http://eve:hidden@proxy.example:8080',
    });
    const text = 'https://ada:p%40ss@a.example p@ss token-123 http://eve:hidden@proxy.example:8080';
    expect(index.mask(text)).not.toMatch(/p%40ss|p@ss|token-123|hidden/);
    expect(index.mask('ada and eve')).toBe('ada and eve');
  });

  it('reads proxies in both spellings', () => {
    expect(readPackageIndex({ HTTPS_PROXY: 'http://p.example', no_proxy: 'localhost' }).proxies).toEqual({
      https_proxy: 'http://p.example',
      no_proxy: 'localhost',
    });
  });

  it.each(['file:///srv/simple', 'nonsense', 'ftp://x.example'])('refuses %s without repeating it', (url) => {
    expect(() => readPackageIndex({ PIP_INDEX_URL: url })).toThrow(/^the address of a package index is not an http/);
  });

  it('names certificates that cannot be read', () => {
    expect(() => readPackageIndex({ PIP_CERT: '/nonexistent.pem' })).toThrow('/nonexistent.pem');
  });
});
