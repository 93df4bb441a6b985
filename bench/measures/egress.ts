/** Requests of code through the host, compared with the same ones without the bridge. */
import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { promisify } from 'node:util';
import { atMost, atMostMore, type Measure, type Quantity, type Row } from '../rows.ts';
import { withBridge } from '../support/bridge.ts';
import { interleave, median, timedEach } from '../support/statistics.ts';

const ROUNDS = 7;
const CALLS_PER_ROUND = 50;
const MEGABYTE = 1_000_000;
const BYTES = 100 * MEGABYTE;
/** Of a direct transfer. */
const SHARE = 0.7;
/** Not 127.0.0.1, which is the sandbox itself for libraries. */
const HOST = '127.0.0.2';

/** Each prints its times in milliseconds as JSON. */
const REQUESTS = (url: string) => `
import json, time, urllib.request
samples = []
for _ in range(${CALLS_PER_ROUND}):
    start = time.perf_counter()
    urllib.request.urlopen("${url}/small").read()
    samples.append((time.perf_counter() - start) * 1000)
print(json.dumps(samples))`;
const CALLS = `
import json, time
samples = []
for _ in range(${CALLS_PER_ROUND}):
    start = time.perf_counter()
    await mcp_api.get(path="/small")
    samples.append((time.perf_counter() - start) * 1000)
print(json.dumps(samples))`;
const DOWN = (url: string) => `
import json, time, urllib.request
start = time.perf_counter()
answer, count = urllib.request.urlopen("${url}/large"), 0
while piece := answer.read(1 << 20):
    count += len(piece)
assert count == ${BYTES}, count
print(json.dumps([(time.perf_counter() - start) * 1000]))`;
const UP = (url: string) => `
import json, time, urllib.request
data = bytes(${BYTES})
start = time.perf_counter()
assert urllib.request.urlopen(urllib.request.Request("${url}/up", data=data)).read() == b"${BYTES}"
print(json.dumps([(time.perf_counter() - start) * 1000]))`;

export const egress: Measure = {
  name: 'egress',
  title: 'requests of code',
  async run(context) {
    const { close, url } = await startApi();
    try {
      const entry = { url, egress: true, policy: { default: 'allow' } };
      return await withBridge(context, { servers: { api: entry as never } }, async ({ engine, run }) => {
        const inCell = (code: string) => async () => JSON.parse(await run(code, { servers: ['api'] })) as number[];
        const outside = (code: string) => async () => JSON.parse(await runPython(code)) as number[];
        const fetched = () => timedEach(CALLS_PER_ROUND, async () => (await fetch(`${url}/small`)).text());
        const ways = { library: inCell(REQUESTS(url)), call: inCell(CALLS), fetched };
        await interleave(2, ways);
        const small = await interleave(context.repeats(ROUNDS), ways);
        const large = await interleave(context.repeats(ROUNDS), {
          down: inCell(DOWN(url)),
          directDown: outside(DOWN(url)),
          up: inCell(UP(url)),
          directUp: outside(UP(url)),
        });
        const floor: Quantity = { value: median(small.fetched), unit: 'ms' };
        const rows = [
          callRow('call of an API from a cell, p50', median(small.call), floor),
          callRow('request of urllib from a cell, p50', median(small.library), floor),
          transferRow('100 MB from an API into a cell', median(large.down), median(large.directDown)),
          transferRow('100 MB from a cell to an API', median(large.up), median(large.directUp)),
        ];
        return rows.map((row) => ({ ...row, engine: engine() }));
      });
    } finally {
      close();
    }
  },
};

function callRow(figure: string, ms: number, floor: Quantity): Row {
  const measured: Quantity = { value: ms, unit: 'ms' };
  return {
    figure,
    measured,
    floor: { ...floor, what: 'fetch on the host from the same API' },
    goals: [atMostMore(measured, floor, 1)],
  };
}

function transferRow(figure: string, ms: number, directMs: number): Row {
  const measured: Quantity = { value: ms, unit: 'ms' };
  return {
    figure,
    measured,
    floor: { value: directMs, unit: 'ms', what: 'the same code in Python without the bridge' },
    goals: [atMost(measured, Math.round(directMs / SHARE))],
  };
}

async function startApi(): Promise<{ readonly url: string; readonly close: () => void }> {
  const large = Buffer.alloc(BYTES);
  const server = createServer((request, response) => {
    if (request.method === 'POST') {
      let bytes = 0;
      request.on('data', (chunk: Buffer) => {
        bytes += chunk.length;
      });
      request.once('end', () => response.end(String(bytes)));
      return;
    }
    response.end(request.url === '/large' ? large : '{"a": 1}');
  });
  server.listen(0, HOST);
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  return { url: `http://${HOST}:${port}`, close: () => server.close().closeAllConnections() };
}

async function runPython(code: string): Promise<string> {
  const { stdout } = await promisify(execFile)('python3', ['-c', code]);
  return stdout;
}
