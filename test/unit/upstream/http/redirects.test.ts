import { describe, expect, it } from 'vitest';
import { explainRedirect, redirectTarget } from '../../../../src/edges/upstream/http/redirects.ts';

const FROM = new URL('http://example.org/mcp');

function target(method: string, status: number, location: string, from = FROM): string | undefined {
  return redirectTarget(method, from, { status, headers: { location } })?.href;
}

describe('redirects', () => {
  it.each([
    ['GET', 301, '/new', 'http://example.org/new'],
    ['POST', 307, '/new', 'http://example.org/new'],
    ['POST', 308, 'https://example.org/mcp', 'https://example.org/mcp'],
  ])('%s %i to %s is followed', (method, status, location, expected) => {
    expect(target(method, status, location)).toBe(expected);
  });

  it.each([
    ['POST', 301, '/new'],
    ['POST', 303, '/new'],
    ['GET', 302, 'http://example.org:8080/'],
    ['GET', 302, 'https://example.com/'],
    ['GET', 302, 'http://169.254.169.254/'],
    ['GET', 302, 'file:///etc/passwd'],
    ['GET', 302, 'http://user@example.org/'],
    ['GET', 302, 'http://['],
    ['GET', 200, '/new'],
  ])('%s %i to %s is not followed', (method, status, location) => {
    expect(target(method, status, location)).toBeUndefined();
  });

  it('from TLS to plain text is not followed', () => {
    expect(target('GET', 302, 'http://example.org/', new URL('https://example.org/'))).toBeUndefined();
  });

  it('that are not followed are described without the secrets in their query', () => {
    const headers = { location: 'https://user:pass@other.example/x?code=1#y' };
    expect(explainRedirect(FROM, { status: 302, headers })).toBe(
      'redirects (HTTP 302) to https://other.example/x, which is not followed',
    );
    expect(explainRedirect(FROM, { status: 302, headers: {} })).toBe('redirects (HTTP 302) without an address');
    expect(explainRedirect(FROM, { status: 404, headers })).toBeUndefined();
  });
});
