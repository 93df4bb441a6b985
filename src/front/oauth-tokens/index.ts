/** Access tokens of an OAuth issuer, with which clients come over HTTP: the bridge as a resource server (RFC 9728, RFC 9068). */
export { createTokenCheck } from './token-check.ts';
