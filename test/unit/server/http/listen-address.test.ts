import { describe, expect, it } from 'vitest';
import { hostInUrl, isLoopback, parseListenAddress } from '../../../../src/front/server/http/listen-address.ts';

describe('the address of --http', () => {
  it.each([
    ['127.0.0.1:80', { host: '127.0.0.1', port: 80 }],
    ['0.0.0.0:8000', { host: '0.0.0.0', port: 8000 }],
    ['localhost:0', { host: 'localhost', port: 0 }],
    ['[::1]:8000', { host: '::1', port: 8000 }],
    ['[::]', { host: '::', port: 7411 }],
    ['10.0.0.1', { host: '10.0.0.1', port: 7411 }],
    ['8000', { host: '127.0.0.1', port: 8000 }],
    [':8000', { host: '127.0.0.1', port: 8000 }],
  ])('reads %s', (text, address) => {
    expect(parseListenAddress(text)).toEqual(address);
  });

  it.each([
    'example.com:80',
    '::1:80',
    '[127.0.0.1]:80',
    '127.0.0.1:70000',
    '70000',
    '127.0.0.1:x',
    'http://127.0.0.1',
    '1.2.3',
  ])('refuses %s', (text) => {
    expect(() => parseListenAddress(text)).toThrow(expect.objectContaining({ code: 'USAGE_INVALID' }));
  });

  it('is loopback only if no other machine can reach it', () => {
    const addresses = ['127.0.0.1', '127.9.9.9', '::1', 'localhost', '0.0.0.0', '::', '10.0.0.1', '128.0.0.1'];
    expect(addresses.map(isLoopback)).toEqual([true, true, true, true, false, false, false, false]);
    expect(['::1', '10.0.0.1'].map(hostInUrl)).toEqual(['[::1]', '10.0.0.1']);
  });
});
