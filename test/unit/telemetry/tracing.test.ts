/** Which span new work is below, and what late work does. */

import { AlwaysOnSampler, InMemorySpanExporter, SimpleSpanProcessor } from '@opentelemetry/sdk-trace';
import { expect, it } from 'vitest';
import { createLogger } from '../../../src/core/base/log.ts';
import { Later } from '../../../src/record/telemetry/later.ts';
import { withTraceIds } from '../../../src/record/telemetry/log.ts';
import { createSpanSource } from '../../../src/record/telemetry/sdk.ts';
import { Tracing } from '../../../src/record/telemetry/tracing.ts';
import { pause } from '../../support/pause.ts';

function setUp(showsContent = false) {
  const exporter = new InMemorySpanExporter();
  const source = createSpanSource({ sampler: new AlwaysOnSampler(), processor: new SimpleSpanProcessor({ exporter }) });
  const later = new Later((error) => expect.unreachable(String(error)));
  const spans = () => {
    later.finish();
    return exporter.getFinishedSpans();
  };
  return { tracing: new Tracing(source, { later, showsContent }), spans };
}

it('work that begins within other work is below it, also later', async () => {
  const { tracing, spans } = setUp();
  const cell = tracing.begin('cell');
  await tracing.within(cell, async () => {
    await Promise.resolve();
    tracing.end(tracing.begin('call'));
  });
  tracing.end(cell);
  expect(spans()[0]?.parentSpanContext?.spanId).toBe(cell.context.spanId);
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
    'INFO',
  );
  const cell = tracing.begin('cell');
  logger.info('before');
  tracing.within(cell, () => {
    logger.info('within');
    tracing.end(cell);
    logger.warning('after');
  });
  const { traceId, spanId } = cell.context;
  expect(lines).toEqual(['INFO before\n', `INFO within trace_id=${traceId} span_id=${spanId}\n`, 'WARNING after\n']);
});

it('keeps the times of the work, although its span is made later', async () => {
  const { tracing, spans } = setUp();
  const work = tracing.begin('cell');
  const begun = Date.now();
  tracing.end(work);
  await pause(300, 'the span must not end when it is made');
  const [span] = spans();
  const toMs = ([seconds, nanoseconds]: [number, number]): number => seconds * 1000 + nanoseconds / 1e6;
  expect(toMs(span?.duration ?? [1, 0])).toBeLessThan(250);
  expect(Math.abs(toMs(span?.startTime ?? [0, 0]) - begun)).toBeLessThan(250);
});
