/** The settings of an OAuth issuer, whose tokens are accepted over HTTP. */

const LOOPBACK = /^(?:127\.\d+\.\d+\.\d+|localhost|\[::1\])$/;
const MAX_CHARS = 500;

/** The address as written, because tokens repeat it exactly. Throws for what no issuer can be (RFC 8414, section 2). */
export function readIssuer(text: string): string {
  const url = URL.canParse(text) && text.length <= MAX_CHARS ? new URL(text) : undefined;
  if (url === undefined) {
    throw new Error('it is not a full address');
  }
  if (url.protocol !== 'https:' && !(url.protocol === 'http:' && LOOPBACK.test(url.hostname))) {
    throw new Error('it must begin with https:');
  }
  if (/[?#\s]/.test(text) || url.username !== '' || url.password !== '') {
    throw new Error('an issuer has no query, fragment, user or password');
  }
  return text;
}

/** One or more texts. */
export function readAudience(text: string): readonly string[] {
  return text.split(/\s+/);
}

/** RFC 6749, section 3.3. */
export function readScopes(text: string): readonly string[] {
  const scopes = text.split(/\s+/);
  if (!scopes.every((scope) => /^[\x21\x23-\x5b\x5d-\x7e]+$/.test(scope))) {
    throw new Error('scopes have no quotes and no backslash');
  }
  return scopes;
}
