/** A collector on loopback: takes OTLP over HTTP, and keeps what it got. */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { buffer } from 'node:stream/consumers';
import { gunzipSync } from 'node:zlib';
import { onTestFinished } from 'vitest';
import { type ReceivedPoint, type ReceivedSpan, readPoints, readSpans } from './otlp.ts';

export interface OtlpReceiver {
  /** The variables that make a process send everything at once. */
  readonly env: Readonly<Record<string, string>>;
  readonly spans: ReceivedSpan[];
  /** The newest points of each export come last. */
  readonly points: ReceivedPoint[];
  /** Every body, as it came. */
  readonly bodies: Buffer[];
}

/** It stops when the test ends. */
export async function startReceiver(): Promise<OtlpReceiver> {
  const [spans, points, bodies]: [ReceivedSpan[], ReceivedPoint[], Buffer[]] = [[], [], []];
  const take = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const raw = await buffer(request);
    const body = request.headers['content-encoding'] === 'gzip' ? gunzipSync(raw) : raw;
    bodies.push(body);
    if (request.url === '/v1/traces') {
      spans.push(...readSpans(body));
    } else if (request.url === '/v1/metrics') {
      points.push(...readPoints(body));
    }
    response.writeHead(200, { 'Content-Type': 'application/x-protobuf' }).end();
  };
  const server = createServer((request, response) => void take(request, response));
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve);
  });
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const { port } = server.address() as AddressInfo;
  return {
    env: {
      OTEL_EXPORTER_OTLP_ENDPOINT: `http://127.0.0.1:${port}`,
      OTEL_BSP_SCHEDULE_DELAY: '50',
      OTEL_METRIC_EXPORT_INTERVAL: '200',
    },
    spans,
    points,
    bodies,
  };
}
