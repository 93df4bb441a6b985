/** Which span new work is below, and what late work does. */

import { InMemorySpanExporter, SimpleSpanProcessor, TracerProvider } from '@opentelemetry/sdk-trace';
import { expect, it } from 'vitest';
import { createLogger } from '../../../src/base/log.ts';
import { withTraceIds } from '../../../src/telemetry/log.ts';
import { spanSource } from '../../../src/telemetry/sdk.ts';
import { Tracing } from '../../../src/telemetry/tracing.ts';

function setUp(showsContent = false) {
  const exporter = new InMemorySpanExporter();
  const source = spanSource(new TracerProvider({ spanProcessors: [new SimpleSpanProcessor({ exporter })] }));
  return { tracing: new Tracing(source, { showsContent }), spans: () => exporter.getFinishedSpans() };
}

it('work that begins within other work is below it, also later', async () => {
  const { tracing, spans } = setUp();
  const cell = tracing.begin('cell');
  await tracing.within(cell, async () => {
    await Promise.resolve();
    tracing.end(tracing.begin('call'));
  });
  tracing.end(cell);
  expect(spans()[0]?.parentSpanContext?.spanId).toBe(cell.span.spanContext().spanId);
});

it('work that begins when it is over has a trace of its own, with a link', async () => {
  const { tracing, spans } = setUp();
  const cell = tracing.begin('cell');
  const late = tracing.within(cell, () => Promise.resolve().then(() => tracing.begin('late')));
  tracing.end(cell);
  tracing.end(await late);
  const [ended, begun] = spans();
  expect(begun?.parentSpanContext).toBeUndefined();
  expect(begun?.spanContext().traceId).not.toBe(ended?.spanContext().traceId);
  expect(begun?.links.map(({ context }) => context.spanId)).toEqual([ended?.spanContext().spanId]);
});

it('a fault has its type, and its text only with content', () => {
  for (const showsContent of [false, true]) {
    const { tracing, spans } = setUp(showsContent);
    tracing.end(tracing.begin('call'), { type: '-32000', code: 'TOOL_FAILED', text: 'the secret' });
    expect(spans()[0]?.attributes).toEqual({ 'error.type': '-32000', 'mcp_bridge.error.code': 'TOOL_FAILED' });
    expect(spans()[0]?.status).toEqual(showsContent ? { code: 2, message: 'the secret' } : { code: 2 });
  }
});

it('lines of the log have ids only while the work runs', () => {
  const { tracing } = setUp();
  const lines: string[] = [];
  const logger = withTraceIds(
    createLogger('INFO', (line) => lines.push(line.replace(/^\S+ /, ''))),
    tracing,
  );
  const cell = tracing.begin('cell');
  logger.info('before');
  tracing.within(cell, () => {
    logger.info('within');
    tracing.end(cell);
    logger.warning('after');
  });
  const { traceId, spanId } = cell.span.spanContext();
  expect(lines).toEqual(['INFO before\n', `INFO within trace_id=${traceId} span_id=${spanId}\n`, 'WARNING after\n']);
});
