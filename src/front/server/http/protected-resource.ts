/**
 * What clients read to find out where they get a token: metadata of a protected resource (RFC 9728), and the challenges that name it.
 */
import type { IncomingMessage } from 'node:http';
import { isLoopback } from './listen-address.ts';
import type { Unidentified } from './principal.ts';

export interface ProtectedResource {
  /** The authorization server that issues the tokens. */
  readonly issuer: string;
  /** What every token must allow. */
  readonly scopes: readonly string[];
}

const WELL_KNOWN = '/.well-known/oauth-protected-resource';
/** Of MCP, with or without a profile, whether or not there is such a profile. */
const MCP = /^\/mcp(?:\/p\/[a-z0-9._-]{1,64})?$/;

/** The path of the resource whose metadata is at this path; undefined for any other path. */
export function resourceAt(path: string | undefined): string | undefined {
  if (path?.startsWith(WELL_KNOWN) !== true) {
    return undefined;
  }
  // Section 3.1: the path of the resource comes after; clients that do not add it mean the only one.
  const rest = path.slice(WELL_KNOWN.length);
  return rest === '' || rest === '/' ? '/mcp' : MCP.test(rest) ? rest : undefined;
}

export function metadataOf({ issuer, scopes }: ProtectedResource, path: string, request: IncomingMessage): object {
  return {
    resource: `${originOf(request)}${path}`,
    resource_name: 'mcp-server-code-execution-mode',
    authorization_servers: [issuer],
    bearer_methods_supported: ['header'],
    ...(scopes.length > 0 && { scopes_supported: scopes }),
  };
}

const ERRORS: Partial<Record<Unidentified, string>> = {
  unknown: 'invalid_token',
  expired: 'invalid_token',
  subject: 'invalid_token',
  scope: 'insufficient_scope',
};

/** RFC 6750, section 3, and RFC 9728, section 5.1. */
export function challengeOf(
  reason: Unidentified,
  description: string,
  resource: ProtectedResource | undefined,
  { path, request }: { readonly path: string | undefined; readonly request: IncomingMessage },
): string {
  const error = ERRORS[reason];
  const own = path !== undefined && MCP.test(path) ? path : '/mcp';
  const parameters = [
    ...(error === undefined ? [] : [`error="${error}"`, `error_description="${description}"`]),
    ...(resource === undefined ? [] : [`resource_metadata="${originOf(request)}${WELL_KNOWN}${own}"`]),
    ...(resource === undefined || resource.scopes.length === 0 ? [] : [`scope="${resource.scopes.join(' ')}"`]),
  ];
  return parameters.length === 0 ? 'Bearer' : `Bearer ${parameters.join(', ')}`;
}

/** As clients see it: a proxy with TLS is in front of every other name. The header was checked before. */
function originOf({ headers: { host = '' } }: IncomingMessage): string {
  const name = host.replace(/:\d+$/, '').replace(/^\[(.*)\]$/, '$1');
  return `${isLoopback(name) ? 'http' : 'https'}://${host}`;
}
