import { describe, expect, test } from 'vitest';
import { CancelSource } from '../../../../src/core/base/cancel.ts';
import { compileInWorker } from '../../../../src/edges/upstream/api/compile.ts';
import { readLines } from '../../../../src/edges/upstream/api/compiled-lines.ts';

const SHOP = `
openapi: 3.1.0
info: { title: Shop, version: "1" }
paths:
  /orders/{id}:
    get: { operationId: getOrder, responses: {} }
`;
/** Each level has ten times the one before. */
const LAUGHS = `openapi: 3.1.0
a0: &a0 { type: object, properties: { x: { type: string } } }
${Array.from({ length: 40 }, (_, at) => `a${at + 1}: &a${at + 1} { type: object, properties: { a: *a${at}, b: *a${at}, c: *a${at} } }`).join('\n')}
paths:
  /x:
    post:
      requestBody: { required: true, content: { application/json: { schema: *a40 } } }
`;

describe('a description that is compiled in a thread', () => {
  test('becomes tools', async () => {
    const lines = await compileInWorker(SHOP, { kind: 'openapi' });
    const { about, operations, toolLines } = await readLines(lines.map((line) => Buffer.from(line)));
    expect(about).toMatchObject({ toolCount: 1, readingCount: 1 });
    expect(String(toolLines[0])).toContain('"name":"getOrder"');
    expect(operations.get('getOrder')).toMatchObject({ method: 'GET', path: '/orders/{id}' });
  });

  test('is refused with a reason', async () => {
    await expect(compileInWorker('openapi: 3.1.0\na: ]', { kind: 'openapi' })).rejects.toThrow(
      /^is not YAML \(line 2, column \d+\): /,
    );
    await expect(compileInWorker('x'.repeat(33 * 1024 * 1024), { kind: 'openapi' })).rejects.toThrow(
      'is larger than 32 MiB',
    );
  });

  test('may be small and stand for more than fits into memory', async () => {
    await expect(compileInWorker(LAUGHS, { kind: 'openapi' })).rejects.toThrow('has anchors that stand for too much');
  });

  test('is given up on abort and after the time limit', async () => {
    const cancel = new CancelSource();
    const cancelled = compileInWorker(SHOP, { kind: 'openapi', signal: cancel });
    cancel.abort();
    await expect(cancelled).rejects.toThrow('was not compiled, because that was cancelled');
    await expect(compileInWorker(SHOP, { kind: 'openapi', signal: cancel })).rejects.toThrow('cancelled');
    await expect(compileInWorker(SHOP, { kind: 'openapi', maxSeconds: 0.001 })).rejects.toThrow(
      'is too complex: compiling it took more than 0.001 seconds',
    );
  });
});
