import { describe, expect, it } from 'vitest';
import {
  anyAddress,
  isPrivateAddress,
  neighborAddress,
  publicAddress,
  ruleForAddressesFrom,
} from '../../../../src/upstream/http/addresses.ts';

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
  ])('%s is private', (address) => {
    expect(isPrivateAddress(address)).toBe(true);
    expect(publicAddress(address)).toBeDefined();
    expect(anyAddress(address)).toBeUndefined();
  });

  it.each(['1.1.1.1', '172.32.0.1', '11.0.0.1', '2606:4700::1', '::ffff:8.8.8.8'])('%s is public', (address) => {
    expect(isPrivateAddress(address)).toBe(false);
    expect(publicAddress(address)).toBeUndefined();
  });

  it.each(['169.254.169.254', 'fe80::1', 'fd00:ec2::254', '::ffff:169.254.169.254'])(
    '%s is refused even from a server in a private network',
    (address) => {
      expect(neighborAddress(address)).toBeDefined();
    },
  );

  it('which addresses a server may name depends on its own address', async () => {
    const local = await ruleForAddressesFrom(new URL('http://localhost:1/mcp'));
    expect([local('127.0.0.1'), local('169.254.169.254')]).toEqual([undefined, 'it is a link-local address']);
    const internet = await ruleForAddressesFrom(new URL('https://1.1.1.1/mcp'));
    expect([internet('8.8.8.8'), internet('127.0.0.1')]).toEqual([undefined, 'it is an address in a private network']);
  });
});
