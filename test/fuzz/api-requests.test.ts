/**
 * Arguments of any content in requests to an API. Three readers: the serializers of `openapi-fetch` where both are right, a parser of
 * addresses that is written from the specification, and an HTTP server. Whatever an argument holds, nothing else changes.
 *
 * `openapi-fetch` (0.17.0) differs where the values below are not used: it does not encode names and `!'()*`, refuses members inside of
 * members, writes `|` unencoded, and knows neither objects with `spaceDelimited` nor lists with `deepObject`. `swagger-client` (3.38.4,
 * 108 packages, so it is no dependency) was compared once: it leaves out empty texts, writes `label` without explode with dots, as
 * versions before 3.1.1 show it, does not encode what `allowReserved` must not pass (`#&[]+`), nor names in a path, and joins cookies with `&`.
 */
import { createServer, type IncomingMessage, request } from 'node:http';
import type { AddressInfo } from 'node:net';
import * as fc from 'fast-check';
import { serializeArrayParam, serializeObjectParam, serializePrimitiveParam } from 'openapi-fetch';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { isObject } from '../../src/core/base/is-object.ts';
import { RequestError } from '../../src/core/protocol/server-requests.ts';
import { type BuiltRequest, buildRequest } from '../../src/edges/upstream/api/build-request.ts';
import type { ApiParameter, HttpOperation } from '../../src/edges/upstream/api/compiled-api.ts';
import { anyJson, anyText, isPrototypeClean, itHolds } from '../support/fuzzing.ts';

const BASE = new URL('https://api.example:8443/v1/api?version=2');
const QUERY = { api_key: 'secret&=#' };

const style = (place: ApiParameter['in']): fc.Arbitrary<ApiParameter['style']> =>
  ({
    path: fc.constantFrom('simple', 'label', 'matrix', 'json'),
    query: fc.constantFrom('form', 'spaceDelimited', 'pipeDelimited', 'deepObject', 'json'),
    header: fc.constantFrom('simple', 'json'),
    cookie: fc.constantFrom('form', 'json'),
  })[place] as fc.Arbitrary<ApiParameter['style']>;

const parameterIn = (place: ApiParameter['in'], name: string): fc.Arbitrary<ApiParameter> =>
  fc.record(
    {
      argument: fc.constant(name),
      name: fc.constant(name),
      in: fc.constant(place),
      style: style(place),
      explode: fc.boolean(),
      allowReserved: fc.boolean(),
    },
    { noNullPrototype: true },
  );

const HEX = /^(?:[A-Za-z0-9\-._~]|%[0-9A-F]{2})*$/;
const scalar = fc.oneof(anyText, fc.integer(), fc.boolean());
/** What both serializers write alike. */
const plainScalar = fc.oneof(
  anyText.filter((text) => text.isWellFormed()).map((text) => text.replaceAll(/[!'()*]/g, '-')),
  fc.integer(),
  fc.boolean(),
);
const plainList = fc.array(plainScalar, { minLength: 1, maxLength: 4 });
const plainObject = fc.dictionary(fc.stringMatching(/^[a-z]{1,6}$/), plainScalar, {
  minKeys: 1,
  maxKeys: 4,
  noNullPrototype: true,
});

function build(parameters: readonly ApiParameter[], args: Record<string, unknown>, path = '/things'): BuiltRequest {
  const operation: HttpOperation = { kind: 'http', method: 'GET', path, parameters, accept: [] };
  return buildRequest(operation, args, BASE, QUERY);
}

/** Undefined if the arguments were refused as invalid. */
function tryBuild(...given: Parameters<typeof build>): BuiltRequest | undefined {
  try {
    return build(...given);
  } catch (error) {
    expect(error).toBeInstanceOf(RequestError);
    expect(error).toMatchObject({ code: -32_602 });
    expect((error as Error).message.length).toBeLessThan(1_000);
    return undefined;
  }
}

describe('any arguments', () => {
  const all = fc.tuple(
    parameterIn('path', 'p'),
    parameterIn('query', 'q'),
    parameterIn('header', 'x-h'),
    parameterIn('cookie', 'c'),
    fc.tuple(
      fc.oneof(anyText, anyJson),
      fc.oneof(
        anyJson,
        fc.dictionary(fc.constantFrom('api_key', 'API key', 'version[x]', 'x'), scalar, { noNullPrototype: true }),
      ),
      fc.oneof(fc.stringMatching(/^[\t -~]{0,10}$/), anyJson),
      anyJson,
    ),
  );
  let builtCount = 0;

  itHolds(
    'change neither the path, nor the host, nor the credentials, nor other headers',
    4_000,
    all,
    ([p, q, h, c, values]) => {
      const [inPath, inQuery, inHeader, inCookie] = values;
      const sent = tryBuild([p, q, h, c], { p: inPath, q: inQuery, 'x-h': inHeader, c: inCookie }, '/a/{p}/b');
      expect(isPrototypeClean()).toBe(true);
      if (sent === undefined) {
        return;
      }
      builtCount += 1;
      const { url, headers } = sent;
      expect([url.origin, url.username, url.hash]).toEqual([BASE.origin, '', '']);
      expect(url.pathname).toMatch(/^\/v1\/api\/a\/[^/]+\/b$/);
      expect(new URL(url.href).href).toBe(url.href);
      const pairs = url.search.slice(1).split('&');
      expect([pairs[0], pairs.at(-1)]).toEqual(['version=2', 'api_key=secret%26%3D%23']);
      const names = pairs.map((pair) =>
        decodeURIComponent(pair.replace(/=.*$/, '')).toLowerCase().replace(/\[.*/s, ''),
      );
      expect(names.filter((name) => name === 'api_key' || name === 'version')).toHaveLength(2);
      expect(Object.keys(headers).filter((name) => !['accept', 'x-h', 'cookie'].includes(name))).toEqual([]);
      expect(Object.values(headers).join('')).toMatch(/^[\t -~]*$/);
    },
  );

  it('are not all refused', () => {
    console.log(`fuzz: ${builtCount} requests were built`);
    expect(builtCount).toBeGreaterThan(0);
  });

  itHolds(
    'that can be refused are refused one by one',
    1_000,
    fc.tuple(parameterIn('path', 'p'), anyText),
    ([p, text]) => {
      const built = tryBuild([{ ...p, style: 'simple' }], { p: text }, '/{p}');
      const isStructure = text === '' || text.split(/[/\\]/).some((part) => /^(?:\.|%2e){1,2}$/i.test(part));
      expect(built === undefined).toBe(isStructure || !text.isWellFormed());
      expect(built === undefined ? text : decodeURIComponent(built.url.pathname.split('/')[3] ?? '')).toBe(text);
    },
  );
});

describe('another serializer', () => {
  const inQuery = fc.tuple(
    parameterIn('query', 'q').map((each) => ({ ...each, allowReserved: false })),
    fc.oneof(plainScalar, plainList, plainObject),
  );

  itHolds('writes the same query', 2_000, inQuery, ([parameter, value]) => {
    const { explode } = parameter;
    const isDelimited = parameter.style === 'spaceDelimited' || parameter.style === 'pipeDelimited';
    // Where the two are not both right, see above.
    const isAlike =
      parameter.style !== 'json' &&
      !(parameter.style === 'deepObject' && !isObject(value)) &&
      !(isDelimited && isObject(value) && !explode);
    const built = isAlike ? tryBuild([parameter], { q: value }) : undefined;
    if (built !== undefined) {
      const options = { style: parameter.style as 'form', explode, allowReserved: false };
      const theirs = Array.isArray(value)
        ? serializeArrayParam('q', value, options)
        : isObject(value)
          ? serializeObjectParam('q', value, options)
          : serializePrimitiveParam('q', String(value));
      const ours = built.url.search.slice('?version=2&'.length, -'&api_key=secret%26%3D%23'.length);
      expect(ours).toBe(theirs.replaceAll('|', '%7C').replaceAll(/\[|\]/g, encodeURIComponent));
    }
  });

  const inPath = fc.tuple(parameterIn('path', 'p'), fc.oneof(plainList, plainObject));

  itHolds('writes the same path', 1_000, inPath, ([parameter, value]) => {
    const built = parameter.style === 'json' ? undefined : tryBuild([parameter], { p: value }, '/{p}');
    if (built !== undefined) {
      const options = { style: parameter.style as 'simple', explode: parameter.explode };
      const theirs = Array.isArray(value)
        ? serializeArrayParam('p', value, options)
        : serializeObjectParam('p', value, options);
      // Its label of an object without explode has commas, but its list has none where it explodes; both as the specification says.
      expect(built.url.pathname.slice('/v1/api/'.length)).toBe(theirs);
    }
  });
});

describe('a reader of the specification', () => {
  const decoded = (text: string) => text.split(',').map((part) => decodeURIComponent(part));
  const list = fc.array(
    scalar.filter((value) => String(value).isWellFormed()),
    { minLength: 1, maxLength: 4 },
  );

  itHolds(
    'gets the items of lists back',
    1_000,
    fc.tuple(fc.boolean(), fc.boolean(), list),
    ([explode, allowReserved, value]) => {
      const { url } = build([{ argument: 'q', name: 'q', in: 'query', style: 'form', explode, allowReserved }], {
        q: value,
      });
      const pairs = url.search.slice(1).split('&').slice(1, -1);
      expect(pairs.every((pair) => pair.startsWith('q='))).toBe(true);
      const texts = pairs.map((pair) => pair.slice(2));
      expect(texts.flatMap((text) => (explode ? [decodeURIComponent(text)] : decoded(text)))).toEqual(
        value.map(String),
      );
      expect(allowReserved || texts.every((text) => text.split(',').every((part) => HEX.test(part)))).toBe(true);
    },
  );

  const deep = fc.letrec((tie) => ({
    value: fc.oneof(
      { maxDepth: 3 },
      scalar.filter((value) => String(value).isWellFormed()),
      fc.array(tie('value'), { minLength: 1, maxLength: 3 }),
      fc.dictionary(fc.stringMatching(/^[^[\]\ud800-\udfff]{1,6}$/), tie('value'), {
        minKeys: 1,
        maxKeys: 3,
        noNullPrototype: true,
      }),
    ),
  })).value;

  itHolds('gets deep objects back', 1_000, deep, (value) => {
    const { url } = build(
      [{ argument: 'q', name: 'q', in: 'query', style: 'deepObject', explode: true, allowReserved: false }],
      { q: value },
    );
    const pairs = url.search.slice(1).split('&').slice(1, -1);
    expect(readBrackets(pairs)).toEqual(asTexts(value));
  });

  /** As `qs` and Rails do: `[]` appends, a number counts, anything else is a key. */
  function readBrackets(pairs: readonly string[]): unknown {
    const root: { q?: unknown } = {};
    for (const pair of pairs) {
      const [name = '', text = ''] = pair.split('=').map(decodeURIComponent);
      const keys = [...name.slice(1).matchAll(/\[([^[\]]*)\]/gs)].map(([, key]) => key ?? '');
      let [holder, at]: [Map<string, unknown>, string] = [new Map([['q', root.q]]), 'q'];
      for (const key of keys) {
        const below = (holder.get(at) ?? new Map()) as Map<string, unknown>;
        holder.set(at, below);
        root.q ??= below;
        [holder, at] = [below, key === '' ? `#${below.size}` : key];
      }
      holder.set(at, text);
      root.q ??= text;
    }
    return root.q;
  }

  function asTexts(value: unknown): unknown {
    if (Array.isArray(value)) {
      const isFlat = value.every((item) => typeof item !== 'object');
      return new Map(value.map((item, index) => [isFlat ? `#${index}` : String(index), asTexts(item)]));
    }
    return isObject(value)
      ? new Map(Object.entries(value).map(([key, member]) => [key, asTexts(member)]))
      : String(value);
  }
});

describe('a server', () => {
  let heard: { readonly url: string; readonly rawHeaders: readonly string[]; readonly body: Buffer } | undefined;
  const server = createServer((message: IncomingMessage, response) => {
    const pieces: Buffer[] = [];
    message.on('data', (piece: Buffer) => pieces.push(piece));
    message.on('end', () => {
      heard = { url: message.url ?? '', rawHeaders: message.rawHeaders, body: Buffer.concat(pieces) };
      response.end();
    });
  });
  const port = (): number => (server.address() as AddressInfo).port;

  beforeAll(() => new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve)));
  afterAll(() => new Promise((resolve) => void server.close(resolve)));

  const send = ({ url, method, headers, body }: BuiltRequest): Promise<void> =>
    new Promise((resolve, reject) => {
      const sent = request(url, { method, headers, agent: false }, (response) => response.resume().on('end', resolve));
      sent.on('error', reject).end(body);
    });

  const wellFormed = anyText.filter((text) => text.isWellFormed() && text !== '');
  const given = fc.record({
    p: wellFormed,
    q: wellFormed,
    h: fc.stringMatching(/^[!-~]([ -~]{0,20}[!-~])?$/),
    c: wellFormed,
    body: anyJson.filter((value) => value !== undefined),
  });

  it('hears what was said', { timeout: 60_000 }, async () => {
    const at = { style: 'form', explode: true, allowReserved: false } as const;
    const operation: HttpOperation = {
      kind: 'http',
      method: 'POST',
      path: '/a/{p}',
      parameters: [
        { ...at, argument: 'p', name: 'p', in: 'path', style: 'simple' },
        { ...at, argument: 'q', name: 'q', in: 'query' },
        { ...at, argument: 'h', name: 'X-H', in: 'header', style: 'simple' },
        { ...at, argument: 'c', name: 'c', in: 'cookie' },
      ],
      body: { mediaType: 'application/json', isRequired: true, argument: 'body' },
      accept: ['application/json'],
    };
    const heardAll = fc.asyncProperty(given, async (args) => {
      let built: BuiltRequest;
      try {
        built = buildRequest(operation, args, new URL(`http://127.0.0.1:${port()}/v1`), {});
      } catch (error) {
        expect(error).toMatchObject({ code: -32_602 });
        return;
      }
      await send(built);
      const [path = '', query = ''] = (heard?.url ?? '').split('?');
      const header = (name: string) => {
        const index = heard?.rawHeaders.findIndex((each) => each.toLowerCase() === name) ?? -1;
        return heard?.rawHeaders[index + 1] ?? '';
      };
      const cookie = header('cookie').replace(/^c=/, '');
      expect(decodeURIComponent(path.replace('/v1/a/', ''))).toBe(args.p);
      expect(decodeURIComponent(query.replace('q=', ''))).toBe(args.q);
      expect(header('x-h')).toBe(args.h);
      expect([cookie, /^(?:%[0-9A-F]{2}|[\w.~-])+$/.test(cookie) ? decodeURIComponent(cookie) : cookie]).toContain(
        args.c,
      );
      expect(JSON.parse(heard?.body.toString() ?? '')).toEqual(args.body);
      expect(header('content-type')).toBe('application/json');
    });
    await fc.assert(heardAll, { numRuns: 150 });
  });
});
