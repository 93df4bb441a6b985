/** The headers of a request from code as they go to the API. Pure. */
import { BridgeError } from '../../../core/base/errors.ts';
import { plainName, withoutTwins } from '../http/entry-headers.ts';

/** Names and values together. Chosen: most servers refuse more than 8 to 32 KiB. */
export const MAX_HEADER_BYTES = 64 * 1024;

type Header = readonly [name: string, value: string];

/** A token (RFC 9110, section 5.6.2). */
const NAME = /^[\w!#$%&'*+.^`|~-]+$/;
// biome-ignore lint/suspicious/noControlCharactersInRegex: what is not a control character.
const VALUE = /^[\t\x20-\x7e\x80-\xff]*$/;
/**
 * Not passed on: those of a connection (RFC 9110, section 7.6.1), what is said about the way of a request, which only proxies know, and
 * `proxy`, which CGI turns into a variable. `expect` has been answered; the host and the coding are set here.
 */
const DROPPED = new Set([
  'accept-encoding',
  'connection',
  'expect',
  'forwarded',
  'host',
  'http2-settings',
  'keep-alive',
  'proxy',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
  'via',
]);
const DROPPED_START = /^(?:proxy-|x-forwarded-)/;
/** Two lengths that differ are read differently by a proxy and a server behind it. */
const LENGTH = 'content-length';

/** Headers that are not passed on, in requests and in answers, with those that `connection` names. */
export function endToEnd(headers: readonly Header[]): Header[] {
  const named = headers
    .filter(([name]) => name.toLowerCase() === 'connection')
    .flatMap(([, value]) => value.split(',').map(plainName));
  // Without spaces, which `plainName` has turned into dashes.
  const dropped = new Set(named.map((name) => name.replace(/^-+|-+$/g, '')));
  return headers.filter(([name]) => {
    const plain = plainName(name);
    return !DROPPED.has(plain) && !DROPPED_START.test(plain) && !dropped.has(plain);
  });
}

/**
 * What is sent: the headers of code, without those that the entry sets, and those of the entry. Throws `HTTP_REFUSED`. Names of
 * the entry and `content-length` are in lower case.
 */
export function requestHeaders(
  ofCode: readonly Header[],
  ofEntry: Readonly<Record<string, string>>,
): Record<string, string> {
  const entry = Object.fromEntries(
    endToEnd(Object.entries(ofEntry)).map(([name, value]) => [name.toLowerCase(), value]),
  );
  const own = withoutTwins(endToEnd(ofCode), entry).filter(
    ([name]) => plainName(name) !== LENGTH || name.toLowerCase() === LENGTH,
  );
  const headers = { ...combined(own), ...entry };
  checkHeaders(headers);
  return headers;
}

/** One header for each name (RFC 9110, section 5.3), in the spelling of the first: some old servers look at it. */
function combined(headers: readonly Header[]): Record<string, string> {
  const byName = new Map<string, { readonly name: string; value: string }>();
  for (const [name, value] of headers) {
    const lower = name.toLowerCase();
    const known = byName.get(lower);
    if (known === undefined) {
      byName.set(lower, { name: lower === LENGTH ? LENGTH : name, value });
    } else if (lower !== LENGTH || known.value !== value) {
      known.value += `${lower === 'cookie' ? '; ' : ', '}${value}`;
    }
  }
  return Object.fromEntries([...byName.values()].map(({ name, value }) => [name, value]));
}

function checkHeaders(headers: Readonly<Record<string, string>>): void {
  let bytes = 0;
  for (const [name, value] of Object.entries(headers)) {
    bytes += name.length + value.length;
    if (!NAME.test(name)) {
      throw refused('a header name has a character that HTTP does not allow', 'Use letters, digits and "-" in it.');
    }
    if (!VALUE.test(value)) {
      const hint = 'A header value is one line of text. If the value is a key of the entry, use one that is one line.';
      throw refused(
        `the value of the header ${name.slice(0, 100)} has a character that HTTP does not allow, such as a line break`,
        hint,
      );
    }
  }
  if (bytes > MAX_HEADER_BYTES) {
    throw refused(
      `the headers have ${bytes} bytes; the limit is ${MAX_HEADER_BYTES} bytes`,
      'Send large data in the body.',
    );
  }
  const length = headers[LENGTH];
  if (length !== undefined && !/^\d{1,15}$/.test(length)) {
    throw refused('content-length is not a number', 'Leave it to the library.');
  }
}

/** The request may not be made as it is; nothing was sent. */
export function refused(what: string, hint: string): BridgeError {
  return new BridgeError('HTTP_REFUSED', `The request was not sent: ${what}.`, { hint });
}
