import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { readPackageIndex } from '../../../src/features/packages/package-index.ts';
import { allFences } from '../../support/documented-samples.ts';

/** Reads no files of this machine. */
const read = (env: Record<string, string>) =>
  readPackageIndex({ PIP_CONFIG_FILE: '/dev/null', UV_NO_CONFIG: '1', ...env });

describe('readPackageIndex', () => {
  it('is PyPI by default', async () => {
    expect(await read({})).toMatchObject({ urls: ['https://pypi.org/simple'], links: [], proxies: {} });
  });

  it('reads what pip and uv read', async () => {
    const ofPip = {
      PIP_INDEX_URL: 'https://a.example/simple',
      PIP_EXTRA_INDEX_URL: 'https://b.example/simple http://c.example',
    };
    expect(await read(ofPip)).toMatchObject({
      urls: ['https://b.example/simple', 'http://c.example', 'https://a.example/simple'],
    });
    const ofUv = { ...ofPip, UV_DEFAULT_INDEX: 'https://u.example/simple', UV_INDEX: 'own=https://v.example/simple' };
    expect(await read(ofUv)).toMatchObject({
      urls: ['https://v.example/simple', 'https://b.example/simple', 'http://c.example', 'https://u.example/simple'],
    });
  });

  it('asks PyPI, where anyone can publish, after every other index', async () => {
    const env = { PIP_INDEX_URL: 'https://private.example/simple', PIP_EXTRA_INDEX_URL: 'https://pypi.org/simple/' };
    expect((await read(env)).urls).toEqual(['https://private.example/simple', 'https://pypi.org/simple/']);
  });

  it('takes the credentials that uv has for a name', async () => {
    const env = { UV_INDEX: 'our-own=https://own.example/simple', UV_INDEX_OUR_OWN_USERNAME: 'ada' };
    const index = await read({ ...env, UV_INDEX_OUR_OWN_PASSWORD: 'pass word' });
    expect(index.urls[0]).toBe('https://ada:pass%20word@own.example/simple');
    expect(index.mask('pass word')).toBe('***');
  });

  it('masks every credential, also as it is decoded', async () => {
    const index = await read({
      PIP_INDEX_URL: 'https://ada:p%40ss@a.example/simple',
      PIP_EXTRA_INDEX_URL: 'https://token-123@b.example/simple',
      HTTPS_PROXY: 'http://eve:hidden@proxy.example:8080',
    });
    const text = 'https://ada:p%40ss@a.example p@ss token-123 http://eve:hidden@proxy.example:8080';
    expect(index.mask(text)).not.toMatch(/p%40ss|p@ss|token-123|hidden/);
    expect(index.mask('ada and eve')).toBe('ada and eve');
  });

  it('reads proxies in both spellings', async () => {
    const { proxies } = await read({ HTTPS_PROXY: 'http://p.example', no_proxy: 'localhost' });
    expect(proxies).toEqual({
      https_proxy: 'http://p.example',
      no_proxy: 'localhost',
    });
  });

  it.each(['file:///srv/simple', 'nonsense', 'ftp://x.example'])('refuses %s without repeating it', async (url) => {
    await expect(read({ PIP_INDEX_URL: url })).rejects.toThrow(/^the address of a package index is not an http/);
  });

  it('names certificates that cannot be read', async () => {
    await expect(read({ PIP_CERT: '/nonexistent.pem' })).rejects.toThrow('/nonexistent.pem');
  });

  describe('with files', () => {
    function homeWith(files: Record<string, string>): Record<string, string> {
      const home = mkdtempSync(join(tmpdir(), 'bridge-index-'));
      onTestFinished(() => rmSync(home, { recursive: true }));
      for (const [path, text] of Object.entries(files)) {
        mkdirSync(dirname(join(home, path)), { recursive: true });
        writeFileSync(join(home, path), text);
      }
      return { HOME: home };
    }
    const PIP = `# ours
[global]
index-url = https://user:secret@pip.example/simple
extra_index_url =
    https://b.example/simple
    file:///srv/simple
    https://c.example/simple
; proxy = http://no.example
[install]
proxy: http://proxy.example:8080
[list]
index-url = https://wrong.example
`;

    it('reads those of pip; the environment counts more', async () => {
      const env = homeWith({ '.config/pip/pip.conf': PIP });
      const index = await readPackageIndex(env);
      expect(index).toMatchObject({
        urls: ['https://b.example/simple', 'https://c.example/simple', 'https://user:secret@pip.example/simple'],
        proxies: { https_proxy: 'http://proxy.example:8080' },
      });
      expect(index.mask(index.urls.join(' '))).not.toContain('secret');
      const own = await readPackageIndex({ ...env, PIP_INDEX_URL: 'https://e.example/simple' });
      expect(own.urls.at(-1)).toBe('https://e.example/simple');
      expect((await readPackageIndex({ ...env, PIP_CONFIG_FILE: '/dev/null' })).urls).toEqual([
        'https://pypi.org/simple',
      ]);
    });

    it('reads those of uv', async () => {
      const text = `[[index]]
name = "ours"
url = "https://ours.example/simple"
[[index]]
url = "https://main.example/simple"
default = true
[[index]]
name = "only-for-torch"
url = "https://torch.example/simple"
explicit = true
[[index]]
name = "flat"
url = "https://flat.example/wheels"
format = "flat"
[[index]]
name = "bucket"
url = "https://bucket.example/simple"
ignore-error-codes = [401, 403]
`;
      const env = homeWith({ '.config/uv/uv.toml': text });
      expect(await readPackageIndex({ ...env, PIP_CONFIG_FILE: '/dev/null' })).toMatchObject({
        urls: ['https://ours.example/simple', 'https://bucket.example/simple', 'https://main.example/simple'],
        links: ['https://flat.example/wheels'],
        absent: { 'https://ours.example/simple': [], 'https://bucket.example/simple': [401, 403] },
      });
      const without = homeWith({ '.config/uv/uv.toml': 'not = [TOML' });
      expect((await readPackageIndex({ ...without, PIP_CONFIG_FILE: '/dev/null' })).urls).toEqual([
        'https://pypi.org/simple',
      ]);
    });

    it('reads the example of the documentation', async () => {
      const example = allFences('docs/packages.md').find(({ language }) => language === 'toml');
      const env = homeWith({ '.config/uv/uv.toml': example?.text ?? '' });
      expect((await readPackageIndex({ ...env, PIP_CONFIG_FILE: '/dev/null' })).absent).toMatchObject({
        'https://wheels.example.com/simple': [403],
      });
    });

    it('reads pages of links, trusted hosts and the netrc file; folders of this machine are left out', async () => {
      const conf = `[global]
index-url = https://pypi.org/simple
extra-index-url = https://private.example:8443/simple
find-links =
    /srv/wheels
    https://links.example/wheels
    relative/wheels
trusted-host = private.example:8443 links.example
`;
      const netrc = `# ours
machine private.example login ada password p@ss
machine links.example
  login eve
default login anyone password anything
`;
      const env = homeWith({ '.config/pip/pip.conf': conf, '.netrc': netrc });
      const index = await readPackageIndex(env);
      expect(index).toMatchObject({
        urls: ['https://ada:p%40ss@private.example:8443/simple', 'https://pypi.org/simple'],
        links: ['https://eve@links.example/wheels'],
        trusted: ['private.example:8443', 'links.example'],
      });
      expect(index.mask('p@ss p%40ss')).toBe('*** ***');
      const offline = readPackageIndex({ ...env, PIP_NO_INDEX: '1' });
      expect(await offline).toMatchObject({ urls: [], links: ['https://eve@links.example/wheels'] });
      const folders = { PIP_CONFIG_FILE: '/dev/null', PIP_NO_INDEX: 'yes', PIP_FIND_LINKS: '/srv/wheels' };
      await expect(readPackageIndex({ HOME: env['HOME'] ?? '', ...folders })).rejects.toThrow(
        'use no index, and only folders of this machine',
      );
    });
  });
});
