/** Programs in a sandbox reach the host by HTTP: the proxy of the kernel, the frames, and the streams of the host. */
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { type Duplex, Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { pipeline } from 'node:stream/promises';
import { TLSSocket } from 'node:tls';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { MAX_EGRESS_STREAM_BYTES, MAX_EGRESS_STREAMS } from '../../../src/core/base/egress-limits.ts';
import { reportError, toBridgeError } from '../../../src/core/base/errors.ts';
import type { RunForEgress } from '../../../src/core/session/dispatch.ts';
import type { Engine } from '../../../src/core/session/engine.ts';
import { PATIENCE } from '../../support/patience.ts';
import { pause } from '../../support/pause.ts';
import { createHarness, errorText, type Harness, textOf } from '../../support/session-harness.ts';

const TLS = new URL('../../fixtures/tls/', import.meta.url);
/** Of `mcp.test`, which has signed it itself: it is the authority, too. */
const CERTIFICATE = readFileSync(new URL('mcp.test.crt', TLS), 'utf8');
const OTHER_CERTIFICATE = readFileSync(new URL('company-ca.crt', TLS), 'utf8');
const KEY = readFileSync(new URL('mcp.test.key', TLS), 'utf8');
const PIECE = Buffer.from(Array.from({ length: 1 << 16 }, (_, index) => (index * 7 + (index >> 8)) % 256));
const MANY = 800;
const MANY_BYTES = MANY * PIECE.length;
const HASH = createHash('sha256')
  .update(Buffer.concat(Array.from<Buffer>({ length: MANY }).fill(PIECE)))
  .digest('hex');

/** Everything that a stream may hold on its way: in buffers of Node, of the kernel and of the system. */
const MAX_HELD_BYTES = 4 * MAX_EGRESS_STREAM_BYTES + 16 * 1024 * 1024;

/** A site behind the proxy, with what it has seen. */
function createSite() {
  const seen = { streams: new Set<Duplex>(), given: 0, waiting: 0, aborted: 0 };
  const ways = new WeakMap<Duplex, RunForEgress>();
  function* pieces(count: number): Generator<Buffer> {
    for (let index = 0; index < count; index += 1) {
      seen.given += PIECE.length;
      yield PIECE;
    }
  }
  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { pathname } = new URL(request.url ?? '', 'http://nowhere/');
    const run = ways.get(request.socket);
    if (pathname === '/up') {
      response.end(
        createHash('sha256')
          .update(await buffer(request))
          .digest('hex'),
      );
    } else if (pathname === '/down' || pathname === '/endless') {
      // Ends early if the program goes away.
      await pipeline(Readable.from(pieces(pathname === '/down' ? MANY : Infinity)), response).catch(() => undefined);
    } else if (pathname === '/call') {
      const text = await run?.(async ({ cell, job }) => `cell ${cell}, job ${job}`).catch(
        (error: unknown) => reportError(toBridgeError(error)).code,
      );
      response.end(text);
    } else if (pathname === '/waits') {
      await run?.(async ({ signal }) => {
        seen.waiting += 1;
        await new Promise<void>((resolve) => signal.addEventListener('abort', resolve));
        seen.aborted += 1;
      });
      response.end();
    } else if (pathname === '/cut') {
      response.write('some');
      setImmediate(() => response.destroy());
    } else {
      response.end(`${request.method} ${request.url}`);
    }
  }
  const server = createServer((request, response) => void answer(request, response));
  server.on('connect', (_, socket: Duplex) => {
    socket.write('HTTP/1.1 200 OK\r\n\r\n');
    server.emit('connection', new TLSSocket(socket, { isServer: true, cert: CERTIFICATE, key: KEY }));
  });
  const onEgress = (stream: Duplex, run: RunForEgress): void => {
    seen.streams.add(stream);
    stream.once('close', () => seen.streams.delete(stream));
    ways.set(stream, run);
    server.emit('connection', stream);
  };
  return { seen, onEgress, server };
}

const GET = `
import urllib.request
def get(path, **more): return urllib.request.urlopen("http://api.test" + path, **more).read().decode()
`;

/** On any engine whose sandboxes have sockets. */
export function describeEgress(name: string, createEngine: () => Engine): void {
  describe(`egress on ${name}`, () => {
    const site = createSite();
    let harness: Harness;
    const run: Harness['run'] = (code, request) => harness.run(GET + code, request);
    const untilClosed = (): Promise<void> =>
      expect.poll(() => site.seen.streams.size, { timeout: 5_000 * PATIENCE }).toBe(0);

    beforeAll(async () => {
      harness = await createHarness({
        engine: createEngine(),
        egress: { certificate: CERTIFICATE, keys: { API_KEY: 'bridge-key-1' } },
        onEgress: site.onEgress,
      });
    });
    afterAll(async () => {
      await harness.run('import os; os.unlink(os.environ["CURL_CA_BUNDLE"])');
      await harness.close();
      site.server.close();
    });

    it('names the proxy, the certificate and the keys in the environment of the session and of its programs', async () => {
      const code = `
import os, subprocess, sys
names = ["HTTP_PROXY", "https_proxy", "NO_PROXY", "SSL_CERT_FILE", "REQUESTS_CA_BUNDLE", "API_KEY"]
show = "import os, sys; print([os.environ[name] for name in sys.argv[1:]], os.path.getsize(os.environ['SSL_CERT_FILE']))"
print(subprocess.run([sys.executable, "-c", show, *names], capture_output=True, text=True).stdout)`;
      const shown = textOf((await run(code)).stdout);
      expect(shown).toMatch(
        new RegExp(
          `^\\['(http://127\\.0\\.0\\.1:(\\d+))', '\\1', 'localhost,127\\.0\\.0\\.1,::1', '(/tmp/bridge-ca-\\2\\.pem)', '\\3', 'bridge-key-1'\\] ${CERTIFICATE.length}\n`,
        ),
      );
    });

    it('is reached by urllib, http.client, streams of asyncio, threads, forked processes and other programs', async () => {
      const code = `
import asyncio, http.client, multiprocessing, subprocess, sys, threading
port = int(os.environ["HTTP_PROXY"].rpartition(":")[2])
connection = http.client.HTTPConnection("127.0.0.1", port)
def ask(path):
    connection.request("GET", "http://api.test" + path)
    return connection.getresponse().read().decode()
reader, writer = await asyncio.open_connection("127.0.0.1", port)
writer.write(b"GET http://api.test/streams HTTP/1.1\\r\\nhost: api.test\\r\\nconnection: close\\r\\n\\r\\n")
got = [get("/urllib"), ask("/first"), ask("/second"), (await reader.read()).decode().rpartition("\\r\\n")[2]]
writer.close()
got += [await asyncio.to_thread(get, "/thread")]
with multiprocessing.Pool(2) as pool: got += pool.map(get, ["/a", "/b"])
program = ${JSON.stringify(GET)} + "print(get('/program'))"
got += [subprocess.run([sys.executable, "-c", program], capture_output=True, text=True).stdout.strip()]
[each.removeprefix("GET http://api.test") for each in got]`;
      expect((await run(code)).value).toBe(
        "['/urllib', '/first', '/second', '/streams', '/thread', '/a', '/b', '/program']",
      );
      await run('connection.close(); del reader, writer');
      await untilClosed();
    });

    it('has its certificate trusted beside what libraries bring along, by clients alone, and by asyncio', async () => {
      const code = `
import asyncio, os, ssl
port = int(os.environ["HTTP_PROXY"].rpartition(":")[2])
del os.environ["SSL_CERT_FILE"]
OTHER = ${JSON.stringify(OTHER_CERTIFICATE)}
contexts = [ssl.create_default_context(), ssl.create_default_context(cadata=OTHER)]
got = [urllib.request.urlopen("https://mcp.test/tls", context=each).read().decode() for each in contexts]
server = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
server.load_verify_locations(cadata=OTHER)
reader, writer = await asyncio.open_connection("127.0.0.1", port)
writer.write(b"CONNECT mcp.test:443 HTTP/1.1\\r\\nhost: mcp.test\\r\\n\\r\\n")
await reader.readuntil(b"\\r\\n\\r\\n")
start = asyncio.get_running_loop().start_tls
transport = await start(writer.transport, writer.transport.get_protocol(), contexts[0], server_hostname="mcp.test")
transport.write(b"GET /asyncio HTTP/1.1\\r\\nhost: mcp.test\\r\\n\\r\\n")
got += [(await reader.readuntil(b"asyncio")).decode().rpartition("\\r\\n")[2]]
transport.close()
got, len(server.get_ca_certs())`;
      expect((await run(code)).value).toBe("(['GET /tls', 'GET /tls', 'GET /asyncio'], 1)");
      await untilClosed();
    });

    it('passes 50 MB in each direction unchanged', async () => {
      const up = `
import hashlib
piece = bytes((index * 7 + (index >> 8)) % 256 for index in range(1 << 16))
get("/up", data=piece * ${MANY})`;
      expect((await run(up, { timeoutMs: 60_000 })).value).toBe(`'${HASH}'`);
      const down = `
import hashlib
data = urllib.request.urlopen("http://api.test/down").read()
len(data), hashlib.sha256(data).hexdigest()`;
      expect((await run(down, { timeoutMs: 60_000 })).value).toBe(`(${MANY_BYTES}, '${HASH}')`);
      await untilClosed();
    });

    it('runs requests as calls of the running cell, or of a job, and refuses them otherwise', async () => {
      const answer = await run('get("/call")');
      expect(answer.value).toBe(`'cell ${answer.cell}, job undefined'`);
      const later = `
import threading, time
got = []
def later():
    while hasattr(threading, "holds"): time.sleep(0.01)
    got.append(get("/call"))
threading.holds = True
thread = threading.Thread(target=later); thread.start()
async def work():
    await asyncio.sleep(0.05)
    return await asyncio.to_thread(get, "/call")
def free(): del threading.holds
threading.Timer(0.1, free).start()`;
      await run(`import asyncio\n${later}`);
      await pause(400, 'the time in which the thread asks while no cell runs');
      expect((await run('thread.join(); got')).value).toBe("['CALL_REFUSED']");
      await run('job = runtime.background(work(), name="fetching")');
      await pause(400, 'the time in which the job asks while no cell runs');
      expect((await run('await job')).value).toBe("'cell 0, job fetching'");
    });

    it('ends requests of a cell that is cancelled, and the next cell works', async () => {
      const controller = new AbortController();
      const answer = run('get("/waits")', { signal: controller.signal });
      await expect.poll(() => site.seen.waiting, { timeout: 5_000 * PATIENCE }).toBe(1);
      controller.abort();
      expect((await answer).status).toBe('cancelled');
      await untilClosed();
      expect(site.seen.aborted).toBe(1);
      const late = await run('get("/endless")', { timeoutMs: 500 });
      expect(late.status).toBe('timeout');
      await untilClosed();
      expect((await run('get("/next")')).value).toBe("'GET http://api.test/next'");
    });

    it('holds little of an endless download that no one reads, and ends it with its connection', async () => {
      const before = site.seen.given;
      await run('answers = [urllib.request.urlopen("http://api.test/endless") for _ in range(20)]\nget("/beside")');
      await pause(300, 'the time in which the host could send more than it should');
      expect((await run('get("/beside"), len(answers[3].read(5_000_000))')).value).toBe(
        "('GET http://api.test/beside', 5000000)",
      );
      await expect.poll(() => site.seen.streams.size, { timeout: 5_000 * PATIENCE }).toBe(20);
      expect(site.seen.given - before).toBeLessThan(5 * MAX_HELD_BYTES);
      await run('for each in answers: each.close()\ndel answers, each');
      await untilClosed();
    });

    it('shows a connection that the host cuts as reset, not as ended', async () => {
      expect(errorText(await run('get("/cut")'))).toMatch(/ConnectionResetError|IncompleteRead/);
    });

    it('accepts as many connections as there may be streams, and closes the next', async () => {
      const code = `
import socket
port = int(os.environ["HTTP_PROXY"].rpartition(":")[2])
many = [socket.create_connection(("127.0.0.1", port)) for _ in range(${MAX_EGRESS_STREAMS + 1})]
many[-1].settimeout(5)
many[-1].recv(1)`;
      expect((await run(code)).value).toBe("b''");
      await run('for each in many: each.close()');
      await untilClosed();
      expect((await run('get("/after")')).value).toBe("'GET http://api.test/after'");
    });

    it('says what reaches hosts if a library asks for their addresses', async () => {
      const error = errorText(await run('import socket\nsocket.create_connection(("api.test", 5432))'));
      expect(error).toContain('Hint: Code reaches hosts only by HTTP, through the proxy');
    });

    it('had no invalid frame in all of this', () => {
      expect(harness.log.filter((line) => line.includes('invalid frame'))).toEqual([]);
    });
  });
}
