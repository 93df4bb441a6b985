/** What the view takes from a result, whoever sent it. */
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { renderAnswer } from '../../../../../src/core/render/render.ts';
import { CELL_VIEW_KEY } from '../../../../../src/front/server/views.ts';
import type { HostMembers } from '../../../../../src/record/ui/page/chat/host.ts';
import { CELL_KEY, readShownResult } from '../../../../../src/record/ui/page/chat/shown-result.ts';

const text = (head: string) => ({ head, droppedBytes: 0, droppedLines: 0, tail: '' });
const EMPTY = {
  status: 'success',
  errorCode: undefined,
  session: undefined,
  texts: [],
  pictures: [],
  others: [],
  cell: undefined,
};

it('the page and the bridge mean the same place', () => {
  expect(CELL_KEY).toBe(CELL_VIEW_KEY);
});

describe('an answer of the bridge', () => {
  it('is shown with all of its parts, in every output mode', async () => {
    const answer = {
      status: 'error',
      stdout: text('a\nb\n'),
      stderr: text('careful\n'),
      value: '5',
      error: { code: 'LIMIT_CALLS', message: 'too many' },
      attachments: [
        { kind: 'image', mimeType: 'image/png', base64: 'QUJD' },
        { kind: 'image', mimeType: 'image/svg+xml', base64: 'QUJD' },
        { kind: 'audio', mimeType: 'audio/wav', base64: 'QUJD' },
        { kind: 'document', uri: 'x:1', mimeType: 'text/html', text: '<script>' },
        { kind: 'link', uri: 'artifact:///a/b', name: 'b.csv', mimeType: 'text/csv', sizeBytes: 5 },
      ],
      servers: [],
      session: 'work',
      timeoutSeconds: 30,
      notices: ['State was lost.'],
    } as const;
    for (const mode of ['compact', 'toon', 'json'] as const) {
      expect(readShownResult((await renderAnswer(answer, mode)) as unknown as HostMembers)).toEqual({
        ...EMPTY,
        status: 'error',
        errorCode: 'LIMIT_CALLS',
        session: 'work',
        texts: [
          { title: 'Printed', text: 'a\nb' },
          { title: 'Value', text: '5' },
          { title: 'Standard error', text: 'careful' },
          { title: 'Error', text: expect.stringContaining('too many') as unknown },
          { title: 'Notes', text: 'State was lost.' },
        ],
        pictures: ['data:image/png;base64,QUJD'],
        others: [
          'A picture that is not shown (image/svg+xml)',
          'A sound (audio/wav)',
          'A document (text/html)',
          'A saved file: b.csv',
        ],
      });
    }
  });

  it('is shown as text if the host passes on nothing else', () => {
    expect(readShownResult({ content: [{ type: 'text', text: 'hello' }], isError: true })).toEqual({
      ...EMPTY,
      status: 'error',
      texts: [{ title: 'Answer', text: 'hello' }],
    });
  });
});

describe('hostile results', () => {
  it.each([
    ['another type', { type: 'image', mimeType: 'text/html', data: 'QUJD' }],
    ['SVG', { type: 'image', mimeType: 'image/svg+xml;x=image/png', data: 'QUJD' }],
    ['a type with more', { type: 'image', mimeType: 'image/png,<script>', data: 'QUJD' }],
    ['no base64', { type: 'image', mimeType: 'image/png', data: '"><script>' }],
    ['an address', { type: 'image', mimeType: 'image/png', data: 'https://evil.example/' }],
    ['no text', { type: 'image', mimeType: 'image/png', data: ['QUJD'] }],
  ])('a picture of %s is not drawn', (_name, block) => {
    expect(readShownResult({ content: [block] }).pictures).toEqual([]);
  });

  it('calls with wrong parts are left out, and a status is one of ours', () => {
    const good = { server: 's', tool: 't', start_ms: 1, duration_ms: 2, status: '"><script>', error_code: 5 };
    const calls = [good, { ...good, server: 5 }, { ...good, start_ms: -1 }, { ...good, start_ms: NaN }, null, 'x', []];
    const { cell } = readShownResult({
      _meta: { [CELL_KEY]: { code: 'x', calls, duration_ms: '5', calls_left_out: {} } },
    });
    expect(cell).toEqual({
      code: 'x',
      codeChars: undefined,
      durationMs: 0,
      calls: [{ server: 's', tool: 't', startMs: 1, durationMs: 2, status: 'error', errorCode: undefined }],
      callsLeftOut: 0,
    });
  });

  it('nothing throws', () => {
    const keys = ['content', 'structuredContent', '_meta', 'isError', 'stdout', 'result', 'type', 'text', 'data'];
    const json = fc.jsonValue({ maxDepth: 4 });
    const members = fc.dictionary(fc.constantFrom(...keys, 'mimeType', CELL_KEY, 'calls', 'code', 'resource'), json);
    const property = fc.property(members, members, (outer, inner) => {
      readShownResult(outer);
      readShownResult({ content: [inner], structuredContent: inner, _meta: { [CELL_KEY]: inner } });
    });
    expect(() => fc.assert(property)).not.toThrow();
  });

  it('long texts and lists are cut', () => {
    const { pictures, texts } = readShownResult({
      content: Array.from({ length: 1_000 }, () => ({ type: 'image', mimeType: 'image/png', data: 'QUJD' })),
      structuredContent: { result: 'x'.repeat(2_000_000) },
    });
    expect([pictures.length, texts[0]?.text.length]).toEqual([50, 1_000_000]);
  });
});
