import { describe, expect, it } from 'vitest';
import type { JsonObject } from '../../../../src/core/base/is-object.ts';
import { parseExact } from '../../../../src/core/protocol/exact-json.ts';
import { RequestError } from '../../../../src/core/protocol/server-requests.ts';
import { type BuiltRequest, buildRequest } from '../../../../src/edges/upstream/api/build-request.ts';
import type { ApiBody, ApiParameter, HttpOperation } from '../../../../src/edges/upstream/api/compiled-api.ts';

const BASE = new URL('https://api.example/v1');

function parameter(place: ApiParameter['in'], more: Partial<ApiParameter> = {}): ApiParameter {
  const style = place === 'path' || place === 'header' ? 'simple' : 'form';
  const name = more.name ?? 'color';
  return { argument: name, name, in: place, style, explode: style === 'form', allowReserved: false, ...more };
}

function operation(path: string, parameters: ApiParameter[], more: Partial<HttpOperation> = {}): HttpOperation {
  return { kind: 'http', method: 'GET', path, parameters, accept: [], ...more };
}

const inPath = (more?: Partial<ApiParameter>) => operation('/x/{color}', [parameter('path', more)]);
const inQuery = (more?: Partial<ApiParameter>) => operation('/x', [parameter('query', more)]);
const inHeader = (more?: Partial<ApiParameter>) => operation('/x', [parameter('header', more)]);
const inCookie = (more?: Partial<ApiParameter>) => operation('/x', [parameter('cookie', more)]);

function build(described: HttpOperation, args: JsonObject = {}, query: Record<string, string> = {}): BuiltRequest {
  return buildRequest(described, args, BASE, query);
}

const searchOf = (described: HttpOperation, color: unknown) => build(described, { color }).url.search;

/** The error's message; fails if there is none. */
function refusal(run: () => unknown): string {
  try {
    run();
  } catch (error) {
    expect(error).toBeInstanceOf(RequestError);
    expect(error).toMatchObject({ kind: 'rpc', code: -32_602 });
    return (error as Error).message;
  }
  throw new Error('it was not refused');
}

const ARRAY = ['blue', 'black', 'brown'];
const OBJECT = { R: 100, G: 200, B: 150 };

describe('the table "Style Examples" of OpenAPI 3.1.1', () => {
  it.each<[ApiParameter['style'], boolean, string, string, string]>([
    ['simple', false, 'blue', 'blue,black,brown', 'R,100,G,200,B,150'],
    ['simple', true, 'blue', 'blue,black,brown', 'R=100,G=200,B=150'],
    ['label', false, '.blue', '.blue,black,brown', '.R,100,G,200,B,150'],
    ['label', true, '.blue', '.blue.black.brown', '.R=100.G=200.B=150'],
    ['matrix', false, ';color=blue', ';color=blue,black,brown', ';color=R,100,G,200,B,150'],
    ['matrix', true, ';color=blue', ';color=blue;color=black;color=brown', ';R=100;G=200;B=150'],
  ])('in the path: %s, explode %s', (style, explode, ...expected) => {
    const described = inPath({ style, explode });
    const written = ['blue', ARRAY, OBJECT].map((color) => build(described, { color }).url.pathname);
    expect(written).toEqual(expected.map((text) => `/v1/x/${text}`));
  });

  it.each<[ApiParameter['style'], boolean, string, string, string]>([
    ['form', false, 'color=blue', 'color=blue,black,brown', 'color=R,100,G,200,B,150'],
    ['form', true, 'color=blue', 'color=blue&color=black&color=brown', 'R=100&G=200&B=150'],
    ['spaceDelimited', false, 'color=blue', 'color=blue%20black%20brown', 'color=R%20100%20G%20200%20B%20150'],
    ['pipeDelimited', false, 'color=blue', 'color=blue%7Cblack%7Cbrown', 'color=R%7C100%7CG%7C200%7CB%7C150'],
    // The table has no lists for this style: as Stripe and Rails take them.
    [
      'deepObject',
      true,
      'color=blue',
      'color%5B%5D=blue&color%5B%5D=black&color%5B%5D=brown',
      'color%5BR%5D=100&color%5BG%5D=200&color%5BB%5D=150',
    ],
    [
      'json',
      false,
      'color=%22blue%22',
      'color=%5B%22blue%22%2C%22black%22%2C%22brown%22%5D',
      'color=%7B%22R%22%3A100%2C%22G%22%3A200%2C%22B%22%3A150%7D',
    ],
  ])('in the query: %s, explode %s', (style, explode, ...expected) => {
    const described = inQuery({ style, explode });
    expect(['blue', ARRAY, OBJECT].map((color) => searchOf(described, color))).toEqual(
      expected.map((text) => `?${text}`),
    );
  });

  it.each<[boolean, string, string]>([
    [false, 'blue,black,brown', 'R,100,G,200,B,150'],
    [true, 'blue,black,brown', 'R=100,G=200,B=150'],
  ])('in a header, explode %s', (explode, ...expected) => {
    const described = inHeader({ name: 'Color', argument: 'color', explode });
    expect([ARRAY, OBJECT].map((color) => build(described, { color }).headers['color'])).toEqual(expected);
  });

  it('in a cookie', () => {
    const written = ['blue', ARRAY, 'a b;c'].map((color) => build(inCookie(), { color }).headers['cookie']);
    expect(written).toEqual(['color=blue', 'color=blue; color=black; color=brown', 'color=a%20b%3Bc']);
    expect(build(inCookie({ explode: false }), { color: ARRAY }).headers['cookie']).toBe('color=blue,black,brown');
  });
});

describe('values', () => {
  it.each([
    [true, 'true'],
    [0, '0'],
    [-0, '0'],
    [1.5, '1.5'],
    [1e21, '1e%2B21'],
    [parseExact('12345678901234567890'), '12345678901234567890'],
    ['', ''],
    ['a b&c=d#e?f/g+h%20', 'a%20b%26c%3Dd%23e%3Ff%2Fg%2Bh%2520'],
    ["!'()*~", '%21%27%28%29%2A~'],
    ['é💥', '%C3%A9%F0%9F%92%A5'],
  ])('of %j in the query', (value, text) => {
    expect(searchOf(inQuery(), value)).toBe(`?color=${text}`);
  });

  it.each([undefined, null, [], {}, [null], { a: null }])('%j is left out', (value) => {
    const places = [inQuery(), inQuery({ explode: false }), inQuery({ style: 'deepObject' }), inHeader(), inCookie()];
    expect(places.map((described) => build(described, { color: value }).url.search)).toEqual(['', '', '', '', '']);
    expect(build(inHeader(), { color: value }).headers).toEqual({ accept: '*/*' });
    expect(build(inCookie(), { color: value }).headers).toEqual({ accept: '*/*' });
  });

  it('inside of lists and objects are left out if they are null, and written as JSON if they have members', () => {
    expect(searchOf(inQuery(), ['a', null, { b: [1] }])).toBe('?color=a&color=%7B%22b%22%3A%5B1%5D%7D');
  });

  it('at any depth of a deep object', () => {
    const value = { a: { b: 1 }, c: ['x', 'y'], d: [{ e: 1 }, { e: 2 }], f: null };
    expect(decodeURIComponent(searchOf(inQuery({ style: 'deepObject' }), value))).toBe(
      '?color[a][b]=1&color[c][]=x&color[c][]=y&color[d][0][e]=1&color[d][1][e]=2',
    );
  });

  it('keep reserved characters where they are allowed, but none that would change the query', () => {
    expect(searchOf(inQuery({ allowReserved: true }), ":/?@!$'()*,=#[]&+;% é")).toBe(
      '?color=:/?@!$%27()*,=%23%5B%5D%26%2B%3B%25%20%C3%A9',
    );
    const several = inQuery({ allowReserved: true, explode: false });
    expect(searchOf(several, ['a,b', '/'])).toBe('?color=a%2Cb,/');
  });

  it('go under the name of the parameter, from the argument', () => {
    const described = operation('/x/{id}', [
      parameter('path', { name: 'id', argument: 'id_in_path' }),
      parameter('query', { name: 'id' }),
    ]);
    expect(build(described, { id: 1, id_in_path: 2 }).url.href).toBe('https://api.example/v1/x/2?id=1');
  });

  it('are not taken from the prototype of the arguments', () => {
    expect(build(inQuery({ name: 'toString' })).url.search).toBe('');
    expect(build(inQuery({ name: '__proto__' }), JSON.parse('{"__proto__":1}')).url.search).toBe('?__proto__=1');
  });

  it('in a header can be JSON of any characters', () => {
    expect(build(inHeader({ style: 'json' }), { color: ['é\n'] }).headers['color']).toBe('["\\u00e9\\n"]');
  });
});

describe('the address', () => {
  it.each([
    ['https://api.example', '/x', 'https://api.example/x'],
    ['https://api.example/', '/x', 'https://api.example/x'],
    ['https://api.example/v1/', '/x', 'https://api.example/v1/x'],
    ['https://api.example/v1?version=2#a', '/', 'https://api.example/v1/?version=2'],
    ['https://user:word@api.example:8443/a%20b', '/x:y(z=1)', 'https://user:word@api.example:8443/a%20b/x:y(z=1)'],
  ])('of %s and %s', (base, path, expected) => {
    expect(buildRequest(operation(path, []), {}, new URL(base), {}).url.href).toBe(expected);
  });

  it('has the credentials of the entry, which arguments neither replace nor repeat', () => {
    const described = operation('/x', [
      parameter('query', { name: 'Api_Key' }),
      parameter('query', { name: 'filter' }),
      parameter('query', { name: 'other' }),
    ]);
    const query = { api_key: 's&=1' };
    expect(build(described, { Api_Key: 'mine', other: 1 }, query).url.search).toBe('?other=1&api_key=s%26%3D1');
    for (const name of ['api_key', 'API_KEY', 'api key', 'api.key', ' api_key', 'api_key[]', 'api_key[0][x]']) {
      expect(refusal(() => build(described, { filter: { [name]: 1 } }, query))).toContain(
        'that the entry of this server sets',
      );
    }
  });

  it('keeps its own query', () => {
    const base = new URL('https://api.example/v1?api-version=2024-01-01&x=%2f');
    const described = operation('/x', [parameter('query', { name: 'api-version' }), parameter('query', { name: 'y' })]);
    const { url } = buildRequest(described, { 'api-version': '1', y: 2 }, base, { key: 'k' });
    expect(url.search).toBe('?api-version=2024-01-01&x=%2f&y=2&key=k');
  });
});

describe('the path', () => {
  it.each(['.', '..', '%2e', '%2E%2e', '.%2E', '../../admin', 'a/../b', 'a\\..\\b', './a'])(
    'does not take %j',
    (color) => {
      expect(refusal(() => build(inPath(), { color }))).toMatch(
        /^the argument 'color' is or holds the path segment '\.' or '\.\.'.*%2E/,
      );
    },
  );

  it.each([[''], [null], [undefined], [[]], [{}], [['']]])('does not take %j', (color) => {
    expect(refusal(() => build(inPath(), { color }))).toMatch(/^the argument 'color' is (?:missing|empty or '\.')/);
  });

  it('does not take what becomes a dot only with the rest of its segment', () => {
    const two = operation('/x/{a}{b}', [parameter('path', { name: 'a' }), parameter('path', { name: 'b' })]);
    expect(build(two, { a: '.a', b: 'b' }).url.pathname).toBe('/v1/x/.ab');
    expect(refusal(() => build(operation('/x/.{a}', [parameter('path', { name: 'a' })]), { a: ['.'] }))).toContain(
      "'a'",
    );
    expect(refusal(() => build(inPath({ style: 'label' }), { color: [''] }))).toContain("is empty or '.'");
    expect(refusal(() => build(operation('/x/../../y', [])))).toContain('outside of that of the API');
    expect(refusal(() => build(operation('/%2e%2e/%2e%2e/y', [])))).toContain('outside of that of the API');
  });

  it.each([
    ['a/b', 'a%2Fb'],
    ['a\\b', 'a%5Cb'],
    ['a?b#c', 'a%3Fb%23c'],
    ['%2F', '%252F'],
    ['...', '...'],
    ['{color}', '%7Bcolor%7D'],
    ['a;b=c', 'a%3Bb%3Dc'],
    ['\0\r\n', '%00%0D%0A'],
    ['@evil.example', '%40evil.example'],
    ['//evil.example', '%2F%2Fevil.example'],
    [':8080', '%3A8080'],
  ])('holds %j as one segment', (color, segment) => {
    expect(build(inPath(), { color }).url.href).toBe(`https://api.example/v1/x/${segment}`);
  });

  it('has no placeholder that is not described', () => {
    expect(refusal(() => build(operation('/x/{id}', [])))).toContain("does not say what 'id'");
  });
});

describe('headers', () => {
  it.each(['a\r\nb: c', 'a\nb', '\0', '\x7f', '\x1b', 'é', '\u2028'])('do not take %j', (color) => {
    expect(refusal(() => build(inHeader(), { color }))).toContain('which a header cannot hold');
  });

  it('do not take items that would be several', () => {
    expect(refusal(() => build(inHeader(), { color: ['a,b'] }))).toContain("an item with ','");
    expect(build(inHeader(), { color: 'a,b' }).headers['color']).toBe('a,b');
  });

  it.each([
    'Accept',
    'content-type',
    'AUTHORIZATION',
    'Cookie',
    'Host',
    'Content-Length',
    'transfer-encoding',
    'Proxy-Authorization',
  ])('that are not the API’s to describe are left out: %s', (name) => {
    expect(build(inHeader({ name, argument: 'color' }), { color: 'x' }).headers).toEqual({ accept: '*/*' });
  });

  it('say what is accepted, JSON first', () => {
    const accept = (types: string[]) => build(operation('/x', [], { accept: types })).headers['accept'];
    expect(accept(['text/csv', 'application/json'])).toBe('application/json, text/csv;q=0.5');
    expect(accept(['image/png'])).toBe('image/png');
    expect(accept(['application/json; charset=utf-8', 'a/b\r\nx: y'])).toBe('application/json; charset=utf-8');
  });

  it.each(['a\r\nb', '\n', '\0', '\x7f'])('cookies do not take %j', (color) => {
    expect(refusal(() => build(inCookie(), { color }))).toContain('which a cookie cannot hold');
  });

  it('cookies do not take members, which would be other cookies', () => {
    expect(refusal(() => build(inCookie(), { color: { session: 'x', '\udc00': [] } }))).toContain('other cookies');
    expect(build(inCookie({ explode: false }), { color: { R: 1 } }).headers['cookie']).toBe('color=R,1');
  });

  it('cookies keep tokens as they are', () => {
    expect(build(inCookie(), { color: 'aGk+/==.%20' }).headers['cookie']).toBe('color=aGk+/==.%20');
    expect(build(inCookie(), { color: 'x; admin=1' }).headers['cookie']).toBe('color=x%3B%20admin%3D1');
  });
});

describe('faults', () => {
  it('name an argument that the operation does not have', () => {
    const described = operation('/x', [parameter('query', { name: 'limit' })]);
    expect(refusal(() => build(described, { limt: 5 }))).toBe(
      "the argument 'limt' is none of this operation; it takes limit",
    );
    expect(refusal(() => build(operation('/x', []), { a: 1 }))).toContain('it takes none');
  });

  it.each(['query', 'path', 'cookie'] as const)('are half characters in the %s', (place) => {
    const described = operation(place === 'path' ? '/{color}' : '/', [parameter(place)]);
    expect(refusal(() => build(described, { color: '\ud800' }))).toContain('lone surrogate');
  });

  it.each(['a[b', ']', ''])('are members of deep objects named %j', (key) => {
    expect(refusal(() => build(inQuery({ style: 'deepObject' }), { color: { [key]: 1 } }))).toContain('bracket');
  });

  it('are items that hold what separates them', () => {
    const [spaces, pipes] = [
      inQuery({ style: 'spaceDelimited', explode: false }),
      inQuery({ style: 'pipeDelimited', explode: false }),
    ];
    expect(refusal(() => build(spaces, { color: ['a b'] }))).toContain("' '");
    expect(refusal(() => build(pipes, { color: { 'a|b': 1 } }))).toContain("'|'");
    expect(searchOf(spaces, 'a b')).toBe('?color=a%20b');
  });
});

describe('bodies', () => {
  const withBody = (body: Partial<ApiBody>): HttpOperation =>
    operation('/x', [], { method: 'POST', body: { mediaType: 'application/json', isRequired: false, ...body } });
  const whole = (mediaType: string, more: Partial<ApiBody> = {}) => withBody({ mediaType, argument: 'body', ...more });
  const form = (more: Partial<ApiBody> = {}) =>
    withBody({ mediaType: 'application/x-www-form-urlencoded', members: { a: 'a', b: 'b', c: 'c', d: 'd' }, ...more });

  it('are JSON, with exact numbers and null', () => {
    const { body, headers, method } = build(withBody({ members: { a: 'a', b_in_body: 'b' } }), {
      a: parseExact('[12345678901234567890, 1.5]'),
      b_in_body: null,
    });
    expect([method, headers['content-type'], body]).toEqual([
      'POST',
      'application/json',
      '{"a":[12345678901234567890,1.5],"b":null}',
    ]);
    expect(build(whole('application/merge-patch+json'), { body: null }).body).toBe('null');
  });

  it('may have a member with the name of the prototype', () => {
    const described = withBody({ members: JSON.parse('{"__proto__":"__proto__"}') });
    expect(build(described, JSON.parse('{"__proto__":{"a":1}}')).body).toBe('{"__proto__":{"a":1}}');
  });

  it('are left out if nothing is given and nothing is required', () => {
    const { body, headers } = build(whole('application/json'));
    expect([body, headers]).toEqual([undefined, { accept: '*/*' }]);
    expect(build(withBody({ members: { a: 'a' } })).body).toBeUndefined();
    expect(build(withBody({ members: { a: 'a' }, isRequired: true })).body).toBe('{}');
    expect(refusal(() => build(whole('application/json', { isRequired: true })))).toBe(
      "the argument 'body' is missing",
    );
  });

  it('are forms', () => {
    const args = { a: 'x y&z', b: { c: { d: true } }, c: [1, 2], d: null };
    expect(build(form(), args).body).toBe('a=x%20y%26z&b%5Bc%5D%5Bd%5D=true&c%5B%5D=1&c%5B%5D=2');
    expect(build(form({ brackets: [] }), { c: [1, 2] }).body).toBe('c=1&c=2');
    expect(build(form({ brackets: ['c'] }), { c: [1, 2] }).body).toBe('c%5B%5D=1&c%5B%5D=2');
    expect(refusal(() => build(form({ members: undefined, argument: 'body' }), { body: 'a=1' }))).toContain(
      'must be an object',
    );
    expect(refusal(() => build(form(), { a: { 'x]': 1 } }))).toMatch(/^the argument 'a' has a member/);
  });

  it('are bytes, from base64', () => {
    const described = whole('application/octet-stream', { isBase64: true });
    expect(build(described, { body: 'AP/+\nAA==' }).body).toEqual(Buffer.from([0, 255, 254, 0]));
    expect(build(described, { body: '' }).body).toEqual(Buffer.alloc(0));
    for (const body of ['AP-_', 'A', 'AAA', 'AA=A', 'AAAA=', 'é', '=', 'data:,x']) {
      expect(refusal(() => build(described, { body }))).toContain("the argument 'body' is not valid base64");
    }
    expect(refusal(() => build(described, { body: 5 }))).toContain('must be bytes');
  });

  it('are text', () => {
    const built = build(whole('text/plain'), { body: 'é' });
    expect([built.body, built.headers['content-type']]).toEqual(['é', 'text/plain; charset=utf-8']);
    expect(build(whole('text/plain; charset=utf-8'), { body: 5 }).body).toBe('5');
    expect(build(whole('application/xml'), { body: '<a/>' }).headers['content-type']).toBe('application/xml');
    expect(refusal(() => build(whole('application/xml'), { body: {} }))).toBe(
      "the argument 'body' must be a text, because the API takes it as application/xml",
    );
    expect(refusal(() => build(whole('text/plain'), { body: '\ud800' }))).toContain('lone surrogate');
  });

  it('are several parts', async () => {
    const described = form({ mediaType: 'multipart/form-data', files: ['a', 'b'] });
    const { body, headers } = build(described, {
      a: Buffer.from('\r\n--x\0ÿ', 'latin1').toString('base64'),
      b: [`data:image/png;name=é"x y".png;base64,${Buffer.from('PNG').toString('base64')}`, 'AA=='],
      c: { x: 1 },
      d: [1, null, 'é'],
    });
    // Another implementation reads it.
    const read = await new Response(body as Buffer<ArrayBuffer>, { headers }).formData();
    const entries = await Promise.all(
      [...read].map(async ([name, value]) =>
        typeof value === 'string'
          ? [name, value]
          : [name, value.name, value.type, Buffer.from(await value.arrayBuffer()).toString('latin1')],
      ),
    );
    expect(entries).toEqual([
      ['a', 'a', 'application/octet-stream', '\r\n--x\0ÿ'],
      ['b', 'é"x y".png', 'image/png', 'PNG'],
      ['b', 'b', 'application/octet-stream', '\0'],
      ['c', '{"x":1}'],
      ['d', '1'],
      ['d', 'é'],
    ]);
    expect(refusal(() => build(described, { a: 'nope!' }))).toContain("the argument 'a' is not valid base64");
  });
});
