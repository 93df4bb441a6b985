import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import type { JsonObject } from '../../../../src/core/base/is-object.ts';
import { stringifyExact } from '../../../../src/core/protocol/exact-json.ts';
import type { HttpOperation } from '../../../../src/edges/upstream/api/compiled-api.ts';
import { HTTP_META, type HttpAnswer, resultOfAnswer } from '../../../../src/edges/upstream/api/read-answer.ts';
import { hasLocalPython } from '../../../support/local-python.ts';

const GET: HttpOperation = { kind: 'http', method: 'GET', path: '/x', parameters: [], accept: [] };
const URL_OF_REQUEST = new URL('https://user:word@api.example/v1/x?key=secret');

function answer(type: string, body: string | Buffer, more: Partial<HttpAnswer> = {}): HttpAnswer {
  return {
    status: 200,
    headers: type === '' ? {} : { 'content-type': type },
    body: Buffer.from(body),
    operation: GET,
    args: {},
    url: URL_OF_REQUEST,
    ...more,
  };
}

function result(type: string, body: string | Buffer, more: Partial<HttpAnswer> = {}): JsonObject {
  return resultOfAnswer(answer(type, body, more));
}

/** The result without `_meta`. */
function shape(type: string, body: string | Buffer, more: Partial<HttpAnswer> = {}): JsonObject {
  const { _meta, ...rest } = result(type, body, more);
  return rest;
}

const text = (written: string) => ({ content: [{ type: 'text', text: written }] });

describe('in Python, an answer is', () => {
  const CASES: [title: string, type: string, body: string | Buffer, repr: string][] = [
    ['an object', 'application/json', '{"a": [1, null]}', "dict {'a': [1, None]}"],
    ['an object with only a result', 'application/json', '{"result": 1}', "dict {'result': 1}"],
    ['one in another', 'application/json', '{"result": {"result": []}}', "dict {'result': {'result': []}}"],
    ['an object with only a content', 'application/json', '{"content": "x"}', "dict {'content': 'x'}"],
    [
      'an object like a result',
      'application/json',
      '{"content": [{"type":"text","text":"x"}], "isError": true}',
      "dict {'content': [{'type': 'text', 'text': 'x'}], 'isError': True}",
    ],
    [
      'an object with content blocks',
      'application/json',
      '{"content": [{"type":"text","text":"x"}]}',
      "dict {'content': [{'type': 'text', 'text': 'x'}]}",
    ],
    ['an empty object', 'application/json', '{}', 'dict {}'],
    ['a list', 'application/json', '[1, {"result": 2}]', "list [1, {'result': 2}]"],
    ['an empty list', 'application/json', '[]', 'list []'],
    ['a text of digits', 'application/json', '"123"', "str '123'"],
    ['a text that looks like JSON', 'application/json', '"{\\"a\\":1}"', 'str \'{"a":1}\''],
    ['an empty text', 'application/json', '""', "str ''"],
    ['a number', 'application/json', ' 42\n', 'int 42'],
    ['a fraction', 'application/json', '1.5', 'float 1.5'],
    ['a large number', 'application/json', '12345678901234567890', 'int 12345678901234567890'],
    ['large numbers', 'application/json', '{"id":[12345678901234567890]}', "dict {'id': [12345678901234567890]}"],
    ['false', 'application/json', 'false', 'bool False'],
    ['null', 'application/json', 'null', 'NoneType None'],
    ['an object of a vendor', 'Application/Vnd.X+JSON; charset=UTF-8', '{"a":"é"}', "dict {'a': 'é'}"],
    ['JSON with a byte order mark', 'application/json', '\uFEFF{"a":1}', "dict {'a': 1}"],
    ['JSON in another charset', 'application/json; charset=iso-8859-1', Buffer.from('["é"]', 'latin1'), "list ['é']"],
    ['JSON in UTF-16', 'application/json', Buffer.from('\uFEFF{"a":1}', 'utf16le'), "dict {'a': 1}"],
    ['the text of what is not JSON', 'application/json', '{"a":', 'str \'{"a":\''],
    ['the text of JSON that is text', 'text/plain', '{"a":1}', 'str \'{"a":1}\''],
    ['the text of a list', 'text/plain', '\n [1]', "str '\\n [1]'"],
    ['the text of a number', 'text/plain', '123', "str '123'"],
    ['blank text', 'text/plain', ' ', "str ' '"],
    ['lines of JSON', 'application/x-ndjson', '{"a":1}\n{"a":2}\n', 'str \'{"a":1}\\n{"a":2}\\n\''],
    ['text in latin 1', 'text/csv; charset="ISO-8859-1"', Buffer.from('é', 'latin1'), "str 'é'"],
    ['text in no charset', 'text/plain', Buffer.from('é', 'latin1'), "str 'é'"],
    ['text in a charset that does not exist', 'text/plain; charset=none', 'é', "str 'é'"],
    ['text in UTF-16', 'text/plain; charset=utf-16le', Buffer.from('é', 'utf16le'), "str 'é'"],
    [
      'XML in its charset',
      'application/atom+xml',
      Buffer.from('<?xml version="1.0" encoding="ISO-8859-1"?>é', 'latin1'),
      'str \'<?xml version="1.0" encoding="ISO-8859-1"?>é\'',
    ],
    ['a drawing', 'image/svg+xml', '<svg/>', "str '<svg/>'"],
    ['text without a type', '', 'é', "str 'é'"],
    ['nothing', 'application/json', '', 'NoneType None'],
    ['an image', 'image/png', Buffer.from([1, 2]), 'ImageContent image/png b"\\x01\\x02"'],
    ['a sound', 'audio/mpeg', 'x', 'AudioContent audio/mpeg b"x"'],
    ['bytes', 'application/pdf', '\0', 'ResourceContent application/pdf b"\\x00"'],
    ['bytes without a type', '', Buffer.from([255, 0]), 'ResourceContent application/octet-stream b"\\xff\\x00"'],
    [
      'bytes that are text',
      'application/octet-stream',
      '{"a":1}',
      'ResourceContent application/octet-stream b"{\\"a\\":1}"',
    ],
  ];
  const SCRIPT = `
import json, sys
from bridge_kernel.values import to_value
for line in sys.stdin:
    value = to_value(json.loads(line), "s", "t")
    kind = next((c.__name__ for c in (bool, int, float, str, dict, list, type(None)) if isinstance(value, c)), None)
    if kind:
        print(kind, str.__repr__(value) if kind == "str" else repr(value))
    else:
        print(type(value).__name__, value.mime_type, repr(value.data).replace('"', '\\\\"').replace("b'", 'b"')[:-1] + '"')
`;
  let shown: string[] = [];

  beforeAll(() => {
    const input = CASES.map(([, type, body]) => stringifyExact(result(type, body))).join('\n');
    const kernel = join(import.meta.dirname, '../../../../sandbox-runtime');
    const run = spawnSync('python3', ['-c', SCRIPT], {
      input,
      env: { ...process.env, PYTHONPATH: kernel, PYTHONUTF8: '1' },
    });
    if (run.status !== 0) {
      throw new Error(run.stderr.toString());
    }
    shown = run.stdout.toString().trimEnd().split('\n');
  });

  it.skipIf(!hasLocalPython()).each(CASES.map(([title, , , repr], index) => [title, index, repr] as const))(
    '%s',
    (_title, index, repr) => {
      expect(shown[index]).toBe(repr);
    },
  );
});

describe('a success', () => {
  it('has one form for each kind of answer', () => {
    expect(shape('application/json', '{"a":1}')).toEqual({ content: [], structuredContent: { a: 1 } });
    expect(shape('application/json', '{"result":1}')).toEqual(text('{"result":1}'));
    expect(shape('application/json', '[1]')).toEqual(text('[1]'));
    expect(shape('application/json', '1')).toEqual({ content: [], structuredContent: { result: 1 } });
    expect(shape('text/plain', 'a')).toEqual(text('a'));
    expect(shape('text/plain', '[a')).toEqual({ content: [], structuredContent: { result: '[a' } });
    expect(shape('image/png', 'a')).toEqual({ content: [{ type: 'image', data: 'YQ==', mimeType: 'image/png' }] });
    expect(shape('application/zip', 'a')).toEqual({
      content: [
        { type: 'resource', resource: { uri: 'https://api.example/v1/x', mimeType: 'application/zip', blob: 'YQ==' } },
      ],
    });
  });

  it.each([204, 205, 304])('without content is nothing: %s', (status) => {
    expect(shape('application/json', '', { status })).toEqual({ content: [] });
  });

  it('without a type is what the description says', () => {
    const operation = { ...GET, accept: ['application/json'] };
    expect(shape('', '{"a":1}', { operation })).toEqual({ content: [], structuredContent: { a: 1 } });
    expect(shape('', '1', { operation: { ...GET, accept: ['application/json', 'text/csv'] } })).toEqual(text('1'));
  });

  it('of HEAD is its headers', () => {
    const operation: HttpOperation = { ...GET, method: 'HEAD' };
    const headers = {
      'content-length': '5',
      etag: '"1"',
      'set-cookie': ['a=1'],
      connection: 'close',
      'content-type': 'application/json',
    };
    expect(shape('', '', { operation, headers })).toEqual({
      content: [],
      structuredContent: { 'content-length': '5', etag: '"1"', 'content-type': 'application/json' },
    });
  });

  it('says its status and useful headers', () => {
    const headers = { location: '/x/1', 'x-ratelimit-remaining': '5', 'set-cookie': ['a=1'], date: 'now' };
    const { _meta } = result('', '', { status: 201, headers });
    expect(_meta).toEqual({
      [HTTP_META]: { status: 201, headers: { location: '/x/1', 'x-ratelimit-remaining': '5' } },
    });
  });

  it('says no more than fits', () => {
    const headers = { etag: 'x'.repeat(900), location: 'y'.repeat(200), 'retry-after': '5' };
    const { _meta } = result('', '', { headers });
    expect(_meta).toEqual({ [HTTP_META]: { status: 200, headers: { etag: headers.etag, 'retry-after': '5' } } });
  });

  it('has the arguments for the next page', () => {
    const operation: HttpOperation = {
      ...GET,
      parameters: [
        { argument: 'cursor', name: 'cursor', in: 'query', style: 'form', explode: true, allowReserved: false },
      ],
    };
    const { _meta } = result('application/json', '{"items":[1],"next_cursor":"b"}', {
      operation,
      args: { cursor: 'a' },
    });
    expect(_meta).toMatchObject({ 'bridge/next-page': { arguments: { cursor: 'b' } } });
  });

  it.each([
    ['has too many values', `[${'[],'.repeat(2_100_000)}1]`, 'more than 2,000,000 values'],
    ['is nested too deeply', '['.repeat(250) + ']'.repeat(250), 'nested deeper than 197 levels'],
  ])('is refused if its JSON %s', (_what, body, reason) => {
    const read = () => result('application/json', body);
    expect(read).toThrow(
      expect.objectContaining({ name: 'RequestError', message: expect.stringContaining(reason) as string }),
    );
  });
});

describe('a failure says why', () => {
  /** Which request it was. */
  const WHERE = / \(GET https:[^)]*\)/;
  const said = (status: number, type: string, body: unknown, headers = {}): unknown => {
    const written = typeof body === 'string' ? body : JSON.stringify(body);
    const failed = result(type, written, { status, headers: { 'content-type': type, ...headers } });
    expect(failed).toMatchObject({ isError: true });
    expect(failed['content']).toHaveLength(1);
    const shown = (failed['content'] as { text: string }[])[0]?.text ?? '';
    expect(shown).toMatch(WHERE);
    return shown.replace(WHERE, '');
  };

  it.each<[string, unknown, string]>([
    [
      'Stripe',
      {
        error: {
          code: 'resource_missing',
          doc_url: 'https://x',
          message: "No such customer: 'cus_x'",
          param: 'id',
          type: 'invalid_request_error',
        },
      },
      "No such customer: 'cus_x' (code: resource_missing, param: id)",
    ],
    [
      'RFC 9457',
      { type: 'https://x', title: 'Out of credit', status: 404, detail: 'Your balance is 30.', instance: '/a' },
      'Out of credit: Your balance is 30.',
    ],
    [
      'RFC 9457 with errors',
      {
        title: 'Not valid',
        errors: [
          { detail: 'must be positive', pointer: '#/age' },
          { detail: 'is unknown', pointer: '#/color' },
        ],
      },
      'Not valid: must be positive (pointer: #/age); is unknown (pointer: #/color)',
    ],
    [
      'ASP.NET',
      { title: 'One or more errors.', errors: { Name: ['The Name field is required.'] } },
      'One or more errors. Name: The Name field is required.',
    ],
    [
      'GitHub',
      {
        message: 'Validation Failed',
        errors: [{ resource: 'Issue', code: 'missing_field', field: 'title' }],
        documentation_url: 'x',
      },
      'Validation Failed: code: missing_field, field: title',
    ],
    [
      'FastAPI',
      { detail: [{ loc: ['query', 'limit'], msg: 'field required', type: 'value_error.missing' }] },
      'field required (loc: query.limit)',
    ],
    [
      'JSON:API',
      {
        errors: [
          { status: '422', title: 'Invalid Attribute', detail: 'First name is short.', source: { pointer: '/data/x' } },
        ],
      },
      'Invalid Attribute: First name is short. (path: /data/x)',
    ],
    [
      'Google',
      { error: { code: 404, message: 'Requested entity was not found.', status: 'NOT_FOUND' } },
      'Requested entity was not found. (code: 404)',
    ],
    ['Jira', { errorMessages: ['Issue does not exist'], errors: {} }, 'Issue does not exist'],
    [
      'Jira with fields',
      { errorMessages: [], errors: { summary: 'You must specify one.' } },
      'summary: You must specify one.',
    ],
    ['OAuth', { error: 'invalid_token', error_description: 'It has expired' }, 'It has expired: invalid_token'],
    ['AWS', { __type: 'ResourceNotFoundException', Message: 'No such table' }, 'No such table'],
    ['OData', { error: { code: 'x', message: { lang: 'en', value: 'Bad thing' } } }, 'Bad thing (code: x)'],
    [
      'Elasticsearch',
      { error: { root_cause: [], type: 'index_not_found', reason: 'no such index [a]' }, status: 404 },
      'no such index [a]',
    ],
    [
      'Salesforce',
      [{ message: 'Session expired', errorCode: 'INVALID_SESSION_ID' }],
      'Session expired (code: INVALID_SESSION_ID)',
    ],
    ['GraphQL', { errors: [{ message: 'Field x', path: ['a', 0, 'b'] }] }, 'Field x (path: a.0.b)'],
    ['Shopify', { errors: 'Unavailable Shop' }, 'Unavailable Shop'],
    ['a text', 'no', 'no'],
    ['another shape', { username: ['taken'] }, '{"username":["taken"]}'],
  ])('as %s', (_who, body, reason) => {
    expect(said(404, 'application/problem+json', JSON.stringify(body))).toBe(`404 Not Found: ${reason}`);
  });

  it('in text, pages and XML', () => {
    expect(said(404, 'text/plain', ' no such thing\n')).toBe('404 Not Found: no such thing');
    const page =
      '<!doctype html><html><head><title>\n502 Bad &amp; Gateway</title></head><body><h1>nginx</h1></body></html>';
    expect(said(502, 'text/html', page)).toBe('502 Bad Gateway: 502 Bad & Gateway – nginx');
    expect(said(403, 'text/html; charset=utf-8', '<p>Go <b>away</b></p><script>x()</script>')).toBe(
      '403 Forbidden: Go away',
    );
    const xml = '<?xml version="1.0"?><Error><Code>NoSuchKey</Code><Message>The key does not exist.</Message></Error>';
    expect(said(404, 'application/xml', xml)).toBe('404 Not Found: The key does not exist. – NoSuchKey');
    expect(said(500, 'text/xml', '<s:Fault><faultstring xml:lang="en">Broken</faultstring></s:Fault>')).toBe(
      '500 Internal Server Error: Broken',
    );
  });

  it('without a body, or one that says nothing more', () => {
    expect(said(404, '', '')).toBe('404 Not Found');
    expect(said(404, 'application/json', { message: 'not found' })).toBe('404 Not Found');
    expect(said(599, 'application/json', '')).toBe('599');
    expect(said(500, 'application/octet-stream', '\0')).toBe('500 Internal Server Error');
  });

  it('and when to try again', () => {
    expect(said(429, 'text/plain', 'Slow down.', { 'retry-after': '30' })).toBe(
      '429 Too Many Requests: Slow down. Try again in 30 s.',
    );
    const headers = { date: 'Mon, 30 Nov 2026 10:00:00 GMT', 'retry-after': 'Mon, 30 Nov 2026 10:02:00 GMT' };
    expect(said(503, '', '', headers)).toBe('503 Service Unavailable. Try again in 120 s.');
    expect(said(503, '', '', { 'retry-after': 'soon' })).toBe('503 Service Unavailable');
  });

  it('and where it pointed, without the query', () => {
    const headers = { location: 'https://evil.example/y?token=secret' };
    expect(said(302, '', '', headers)).toBe(
      '302 Found: the API redirects (HTTP 302) to https://evil.example/y, which is not followed. Redirects to other hosts, and those ' +
        'that would change the method, are never followed.',
    );
  });

  it('in at most 2,000 characters, and code can read the rest', () => {
    const long = 'x'.repeat(5_000);
    const message = said(400, 'text/plain', long, { 'retry-after': '30' }) as string;
    expect(message.length).toBeLessThanOrEqual(2_000);
    expect(message).toContain('…. Try again in 30 s.');
    expect((said(400, 'application/json', { a: long }) as string).length).toBeLessThanOrEqual(2_000);
    expect(result('text/plain', long, { status: 400 })).toMatchObject({ structuredContent: { result: long } });
    expect(result('application/json', '{"a":1}', { status: 400 })).toMatchObject({
      structuredContent: { a: 1 },
      _meta: { [HTTP_META]: { status: 400 } },
    });
    expect(result('application/json', '[1]', { status: 400 })).toMatchObject({ structuredContent: { result: [1] } });
  });

  it('soon, whatever the body is, and without the key of exact numbers', () => {
    const begun = process.cpuUsage();
    for (const unit of ['<title', '<a', '<script>', '&amp', '<title>', '<x:']) {
      said(500, 'text/html', unit.repeat(100_000));
    }
    said(500, 'application/json', `${'{"error":'.repeat(190)}1${'}'.repeat(190)}`);
    said(500, 'application/json', { errors: Array.from({ length: 100_000 }, () => ({ message: 'x' })) });
    const { user } = process.cpuUsage(begun);
    expect(user / 1000).toBeLessThan(3_000);
    expect(
      said(400, 'application/json', '{"errors":{"a":12345678901234567890},"error":12345678901234567890}'),
    ).not.toContain('exact-number');
  });
});
