import { describe, expect, it } from 'vitest';
import {
  anyAddress,
  checkHost,
  guardedLookup,
  hostOf,
  isPrivateAddress,
  neighborAddress,
  publicAddress,
  ruleForAddressesFrom,
} from '../../../../src/edges/upstream/http/addresses.ts';
import { resolverOf } from '../../../support/resolver.ts';

describe('addresses', () => {
  it.each([
    '127.0.0.1',
    '10.1.2.3',
    '172.31.0.1',
    '192.168.1.1',
    '169.254.169.254',
    '100.64.0.1',
    '0.0.0.0',
    '::1',
    '::',
    'fd00::1',
    'fe80::1%eth0',
    '::ffff:127.0.0.1',
    '::ffff:a9fe:a9fe',
    '::7f00:1',
    '64:ff9b::10.0.0.1',
    '64:ff9b::7f00:1',
    '64:ff9b:1::1',
    '2002:c0a8:101::1',
    'fec0::1',
  ])('%s is private', (address) => {
    expect(isPrivateAddress(address)).toBe(true);
    expect(publicAddress(address)).toBeDefined();
    expect(anyAddress(address)).toBeUndefined();
  });

  it.each([
    '1.1.1.1',
    '172.32.0.1',
    '11.0.0.1',
    '2606:4700::1',
    '::ffff:8.8.8.8',
    '64:ff9b::8.8.8.8',
    '2002:808:808::1',
  ])('%s is public', (address) => {
    expect(isPrivateAddress(address)).toBe(false);
    expect(publicAddress(address)).toBeUndefined();
  });

  it.each(['169.254.169.254', 'fe80::1', 'fd00:ec2::254', '::ffff:169.254.169.254'])(
    '%s is refused even from a server in a private network',
    (address) => {
      expect(neighborAddress(address)).toBeDefined();
    },
  );

  it.each([
    ['this machine', 'http://localhost:1/mcp', ['127.0.0.1', '::1'], [true, true]],
    ['a private network', 'http://mcp.test/mcp', ['10.0.0.7'], [true, false]],
    ['this machine and a private network', 'http://mcp.test/mcp', ['127.0.0.1', '10.0.0.7'], [true, false]],
    ['the internet', 'http://mcp.test/mcp', ['203.0.114.5'], [false, false]],
    // A name with one public and one private address counted as private.
    ['a private network and the internet', 'http://mcp.test/mcp', ['10.0.0.7', '203.0.114.5'], [false, false]],
    ['behind a proxy', 'http://mcp.test/mcp', [undefined], [false, false]],
    ['nowhere yet', 'http://mcp.test/mcp', [], [false, false]],
    ['an address of the internet', 'https://1.1.1.1/mcp', [], [false, false]],
    ['an address in a private network', 'http://10.0.0.7/mcp', [], [true, false]],
  ])('a server reached at %s', (_where, url, reached, [mayNamePrivate, mayNameThisMachine]) => {
    const rule = ruleForAddressesFrom(new URL(url), new Set(reached));
    expect(rule('8.8.8.8')).toBeUndefined();
    expect(rule('192.168.1.1') === undefined).toBe(mayNamePrivate);
    expect(rule('127.0.0.1') === undefined).toBe(mayNameThisMachine);
    expect(rule('169.254.169.254')).toBeDefined();
  });
});

describe('a name', () => {
  const lookUp = (addresses: readonly string[]) =>
    new Promise((resolve) => {
      guardedLookup(publicAddress, resolverOf({ 'mixed.test': addresses }))(
        'mixed.test',
        { all: true },
        (error, found) => resolve(error?.message ?? found),
      );
    });

  it('is not connected to if any of its addresses is private, wherever it stands', async () => {
    expect(await lookUp(['203.0.114.5'])).toEqual([{ address: '203.0.114.5', family: 4 }]);
    for (const addresses of [
      ['203.0.114.5', '10.0.0.1'],
      ['10.0.0.1', '203.0.114.5'],
    ]) {
      expect(await lookUp(addresses)).toContain('refused to connect to mixed.test: it is an address in a private');
    }
  });

  it.each([
    ['localhost', []],
    ['app.localhost', ['203.0.114.5']],
    ['vault', []],
    ['router.lan', []],
    ['mixed.test', ['203.0.114.5', '10.0.0.1']],
  ])('%s is refused before a proxy or a browser resolves it', async (host, addresses) => {
    const resolve = resolverOf({ [host]: addresses });
    await expect(checkHost(host, publicAddress, resolve)).rejects.toThrow();
    await checkHost(host, anyAddress, resolve);
  });

  it('may be one that only they can resolve', async () => {
    expect(await checkHost('auth.example', publicAddress, resolverOf({}))).toBeUndefined();
  });

  it('is the same with a dot at its end', () => {
    expect(hostOf(new URL('http://localhost./'))).toBe('localhost');
    expect(hostOf(new URL('http://[::1]:1/'))).toBe('::1');
  });
});
