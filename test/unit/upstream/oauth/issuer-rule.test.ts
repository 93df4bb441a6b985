import type { OAuthDiscoveryState } from '@modelcontextprotocol/client';
import { expect, it } from 'vitest';
import type { RemoteDefinition } from '../../../../src/core/base/server-definition.ts';
import { IssuerRule } from '../../../../src/edges/upstream/oauth/issuer-rule.ts';
import { definitions } from '../../../support/upstream.ts';

function check(found: Partial<OAuthDiscoveryState>, oauth: RemoteDefinition['oauth'] = {}, confirmed?: string): string {
  const url = 'https://mcp.example/mcp';
  const definition = definitions({ tracker: { url, oauth } }).get('tracker') as RemoteDefinition;
  try {
    new IssuerRule({ definition, before: undefined, confirmed }).check(found as OAuthDiscoveryState);
    return 'accepted';
  } catch (error) {
    return String(error);
  }
}

const metadata = (issuer: string, methods?: readonly string[]) =>
  ({ issuer, code_challenge_methods_supported: methods }) as unknown as NonNullable<
    OAuthDiscoveryState['authorizationServerMetadata']
  >;
const AUTH = 'https://auth.example';

it('requires PKCE, except of a server that is its own authorization server and publishes no metadata', () => {
  expect(check({ authorizationServerUrl: 'https://mcp.example/' })).toBe('accepted');
  expect(check({ authorizationServerUrl: `${AUTH}/` })).toContain('does not say that it supports');
  const own = { authorizationServerUrl: 'https://mcp.example/' };
  expect(check({ ...own, authorizationServerMetadata: metadata('https://mcp.example') })).toContain('(PKCE)');
});

it('accepts the issuer that the entry or the person names, with or without a slash at its end', () => {
  const found = { authorizationServerUrl: AUTH, authorizationServerMetadata: metadata(AUTH, ['S256']) };
  expect(check(found)).toBe('accepted');
  expect(check(found, { issuer: `${AUTH}/` })).toBe('accepted');
  expect(check(found, {}, AUTH)).toBe('accepted');
  for (const other of ['https://auth.example.org', 'https://auth.example/tenant', 'http://auth.example', `${AUTH}//`]) {
    expect(check(found, { issuer: other })).toContain(`but ${other} was expected`);
    expect(check(found, {}, other)).toContain(`but ${other} was expected`);
  }
  expect(check(found, { issuer: 'https://other.example' }, AUTH)).toContain('but https://other.example was expected');
});

it('escapes and cuts what the server names', () => {
  const authorizationServerUrl = `https://auth.example/\u001b[2J${'x'.repeat(500)}`;
  const shown = check({ authorizationServerUrl }, { issuer: AUTH });
  expect(shown).toContain(String.raw`https://auth.example/\x1b[2Jxxx`);
  expect(shown.length).toBeLessThan(500);
});
