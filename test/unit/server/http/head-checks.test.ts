import type { IncomingMessage } from 'node:http';
import { describe, expect, it } from 'vitest';
import { allowedHosts, checkHead } from '../../../../src/front/server/http/head-checks.ts';

const LOCAL = allowedHosts({ host: '127.0.0.1', port: 7411 }, []);

/** The status of a request with these headers; undefined if it may go on. */
function statusOf(headers: readonly (readonly [string, string])[], hosts = LOCAL): number | undefined {
  const named = Object.fromEntries(headers.map(([name, value]) => [name.toLowerCase(), value]));
  return checkHead({ rawHeaders: headers.flat(), headers: named } as unknown as IncomingMessage, hosts)?.status;
}

describe('the Host of a request', () => {
  it.each(['127.0.0.1:7411', '127.0.0.1', 'localhost:9', 'LOCALHOST', '[::1]:7411'])(
    'may be %s on loopback',
    (host) => {
      expect(statusOf([['Host', host]])).toBeUndefined();
    },
  );

  it.each([
    'evil.example',
    'evil.example:7411',
    '127.0.0.1.evil.example',
    'localhost.',
    '127.0.0.1:7411@evil.example',
    'localhost, evil.example',
    '',
    '0.0.0.0',
  ])('may not be "%s"', (host) => {
    expect(statusOf([['Host', host]])).toBe(421);
  });

  it('must be there', () => {
    expect(statusOf([])).toBe(421);
  });

  it('may be a name that the operator allows, and on all addresses no name else but loopback', () => {
    const hosts = allowedHosts({ host: '0.0.0.0', port: 80 }, ['MCP.example.com']);
    const names = ['mcp.example.com', 'localhost', '0.0.0.0', 'other.example.com'];
    expect(names.map((name) => statusOf([['Host', name]], hosts))).toEqual([undefined, undefined, 421, 421]);
    const one = allowedHosts({ host: '10.0.0.1', port: 80 }, []);
    expect(['10.0.0.1', 'localhost'].map((name) => statusOf([['Host', name]], one))).toEqual([undefined, 421]);
  });
});

describe('the Origin of a request', () => {
  it.each(['http://localhost:7411', 'https://localhost:7411'])('may be the server itself: %s', (origin) => {
    expect(
      statusOf([
        ['Host', 'localhost:7411'],
        ['Origin', origin],
      ]),
    ).toBeUndefined();
  });

  it.each([
    'https://evil.example',
    'http://localhost:3000',
    'null',
    '',
    'http://localhost:7411@evil.example',
    'file://',
  ])('may not be "%s"', (origin) => {
    expect(
      statusOf([
        ['Host', 'localhost:7411'],
        ['Origin', origin],
      ]),
    ).toBe(403);
  });
});

it.each(['Host', 'Authorization', 'Origin', 'Mcp-Session-Id', 'Mcp-Method', 'mcp-param-session', 'Content-Type'])(
  'two headers %s are refused, in any case',
  (name) => {
    const headers = [
      ['Host', 'localhost'],
      [name, 'localhost'],
      [name.toUpperCase(), 'localhost'],
    ] as const;
    expect(statusOf(headers)).toBe(400);
  },
);

it('other headers may be repeated', () => {
  expect(
    statusOf([
      ['Host', 'localhost'],
      ['X-Forwarded-For', '1'],
      ['X-Forwarded-For', '2'],
    ]),
  ).toBeUndefined();
});
