/** A collector of OpenTelemetry that takes everything and keeps nothing. */
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

/** Passes `use` its address, as `OTEL_EXPORTER_OTLP_ENDPOINT` takes it. It ends in any case. */
export async function withCollector<Result>(use: (address: string) => Promise<Result>): Promise<Result> {
  const server = createServer((request, response) => {
    request.resume().on('end', () => response.end());
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  try {
    return await use(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
  } finally {
    server.closeAllConnections();
    server.close();
  }
}
