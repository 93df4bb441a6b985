// Tags: full, user-release
/** Remote servers behind a proxy. Only the proxy can resolve their names, so nothing can bypass it. */
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { type AddressInfo, connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createServer as createTlsServer } from 'node:tls';
import { execa } from 'execa';
import { describe, expect, it, onTestFinished } from 'vitest';
import { proxiesOf } from '../../../src/edges/upstream/http/proxies.ts';
import { createOAuthFetch } from '../../../src/edges/upstream/oauth/oauth-fetch.ts';
import { startHttp, startMini, textResult } from '../../support/http-servers.ts';
import { startProxy } from '../../support/proxy.ts';
import { resolverOf } from '../../support/resolver.ts';
import { callText, failureOf, startPool, until } from '../../support/upstream.ts';

const ROOT = join(import.meta.dirname, '..', '..', '..');
const CERTIFICATE = join(ROOT, 'test', 'fixtures', 'tls', 'mcp.test.crt');

describe('without TLS', () => {
  it('requests are forwarded, and headers for the proxy stay with the proxy', async () => {
    const seen: unknown[] = [];
    const mini = await startMini({
      onCall({ request, reply }) {
        seen.push(request.headers);
        reply(textResult('done'));
      },
    });
    const proxy = await startProxy({ ports: { 'mcp.test': mini.port }, credentials: 'me:pass word' });
    const env = { HTTP_PROXY: `http://me:pass%20word@${proxy.place}` };
    const pool = startPool({ far: { url: 'http://mcp.test:8080/mcp?a=b', headers: { 'X-Key': 'k' } } }, { env });
    expect(await callText(pool, 'far', 'act')).toBe('done');
    expect(new Set(proxy.log)).toContain('POST http://mcp.test:8080/mcp?a=b');
    expect(seen).toEqual([expect.objectContaining({ host: 'mcp.test:8080', 'x-key': 'k' })]);
    expect(JSON.stringify(seen)).not.toContain('proxy-authorization');
  });

  it('errors about a wrong password or a missing proxy name the proxy without the password', async () => {
    const proxy = await startProxy({ ports: {}, credentials: 'me:right-password' });
    const failureWith = async (HTTP_PROXY: string) =>
      failureOf(startPool({ far: { url: 'http://mcp.test/mcp' } }, { env: { HTTP_PROXY } }).describe('far'));
    const refused = await failureWith(`http://me:wrong-password@${proxy.place}`);
    expect(refused).toMatchObject({
      code: 'SERVER_UNREACHABLE',
      message: `server 'far' could not be reached: the proxy http://${proxy.place} (HTTP_PROXY) requires another user name and password (HTTP 407 Proxy Authentication Required)`,
      hint: expect.stringContaining('Check the value of HTTP_PROXY '),
    });
    const gone = await startHttp(() => undefined);
    await gone.stop();
    const missing = await failureWith(`http://me:wrong-password@127.0.0.1:${gone.port}`);
    expect(missing.message).toContain(`the proxy ${gone.origin} (HTTP_PROXY) could not be reached: `);
    const unusable = await failureWith('socks5://me:wrong-password@127.0.0.1:1');
    expect(unusable.message).toContain('HTTP_PROXY does not name a proxy');
    expect(JSON.stringify([refused, missing, unusable].map((error) => [error.message, error.hint]))).not.toContain(
      'wrong-password',
    );
  });
});

it('servers on this machine never go through a proxy', async () => {
  const proxy = await startProxy({ ports: {} });
  const mini = await startMini();
  const env = { HTTP_PROXY: proxy.place, HTTPS_PROXY: proxy.place };
  const pool = startPool(
    { near: { url: mini.url }, named: { url: mini.url.replace('127.0.0.1', 'localhost') } },
    { env },
  );
  expect(await callText(pool, 'near', 'act')).toBe('done');
  expect(await callText(pool, 'named', 'act')).toBe('done');
  expect(proxy.log).toEqual([]);
});

describe('with TLS', () => {
  /** A server with the certificate of the fixtures. */
  async function startTls(): Promise<number> {
    const mini = await startMini();
    const [key, cert] = ['mcp.test.key', 'mcp.test.crt'].map((name) => readFileSync(join(CERTIFICATE, '..', name)));
    const server = createTlsServer({ key, cert }, (socket) => {
      const onward = connect(mini.port, '127.0.0.1');
      socket.pipe(onward).pipe(socket);
      socket.on('error', () => onward.destroy());
      onward.on('error', () => socket.destroy());
    });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    onTestFinished(() => void server.close());
    return (server.address() as AddressInfo).port;
  }

  /** The output of `servers tools far --json` in a separate process, because Node reads certificates at startup. */
  async function askFromProcess(env: Record<string, string>) {
    const stateDir = mkdtempSync(join(tmpdir(), 'proxied-'));
    onTestFinished(() => rmSync(stateDir, { recursive: true }));
    writeFileSync(
      join(stateDir, 'servers.json'),
      JSON.stringify({ mcpServers: { far: { url: 'https://mcp.test/mcp' } } }),
    );
    const words = ['--import', './scripts/typescript-loader.mjs', 'src/cli.ts', 'servers', 'tools', 'far', '--json'];
    return execa(process.execPath, words, {
      cwd: ROOT,
      env: { MCP_BRIDGE_STATE_DIR: stateDir, ...env },
      reject: false,
    });
  }

  it('requests use a tunnel, in which the certificates of NODE_EXTRA_CA_CERTS apply', async () => {
    const proxy = await startProxy({ ports: { 'mcp.test': await startTls() }, credentials: 'me:secret-word' });
    const HTTPS_PROXY = `http://me:secret-word@${proxy.place}`;
    const { stdout, exitCode } = await askFromProcess({ HTTPS_PROXY, NODE_EXTRA_CA_CERTS: CERTIFICATE });
    expect(exitCode).toBe(0);
    expect(JSON.parse(stdout)).toMatchObject([{ name: 'act' }]);
    expect(new Set(proxy.log)).toEqual(new Set(['CONNECT mcp.test:443']));
    const untrusted = await askFromProcess({ HTTPS_PROXY });
    const message: unknown = expect.stringMatching(/^server 'far' could not be reached: self-signed certificate/);
    expect(JSON.parse(untrusted.stdout)).toMatchObject({ error: { code: 'SERVER_UNREACHABLE', message } });
  });

  it('a refusal by the proxy is reported, with its variable', async () => {
    const proxy = await startProxy({ ports: {}, credentials: 'me:secret-word' });
    const far = { url: 'https://mcp.test/mcp' };
    const failureWith = async (HTTPS_PROXY: string) =>
      failureOf(startPool({ far }, { env: { HTTPS_PROXY } }).describe('far'));
    expect((await failureWith(`http://me:secret-word@${proxy.place}`)).message).toContain(
      `the proxy http://${proxy.place} (HTTPS_PROXY) did not connect to mcp.test:443 (HTTP 403 Forbidden)`,
    );
    const refused = await failureWith(`http://me:wrong-word@${proxy.place}`);
    expect(refused.message).toContain('requires another user name and password (HTTP 407');
    expect(refused.hint).toContain('HTTPS_PROXY');
  });

  // The timeout is far below the connect timeout, which must not delay the test.
  it('a silent proxy delays neither other servers nor the end', { timeout: 10_000 }, async () => {
    const proxy = await startProxy({ ports: {}, isSilent: true });
    const mini = await startMini();
    const servers = { far: { url: 'https://mcp.test/mcp' }, near: { url: mini.url } };
    const pool = startPool(servers, { env: { HTTPS_PROXY: proxy.place } });
    const waiting = failureOf(pool.callTool({ server: 'far', tool: 'act', arguments: {}, timeoutMs: 300 }));
    expect(await callText(pool, 'near', 'act')).toBe('done');
    expect(await waiting).toMatchObject({ code: 'CALL_TIMEOUT' });
    await pool.close();
    await until(() => proxy.open.size === 0);
  });
});

describe('a login', () => {
  const internet = new URL('https://1.1.1.1/mcp');

  it('reaches its authorization server through the proxy', async () => {
    const server = await startHttp((_request, response) => void response.end('{}'));
    const proxy = await startProxy({ ports: { 'auth.example.test': server.port } });
    const http = createOAuthFetch(internet, { proxies: proxiesOf({ HTTP_PROXY: proxy.place }) });
    onTestFinished(() => http.close());
    expect((await http.fetch('http://auth.example.test/token')).status).toBe(200);
    expect(proxy.log).toEqual(['GET http://auth.example.test/token']);
  });

  it('cannot be sent into private networks behind the proxy', async () => {
    const proxy = await startProxy({ ports: {} });
    const http = createOAuthFetch(internet, {
      proxies: proxiesOf({ HTTP_PROXY: proxy.place, HTTPS_PROXY: proxy.place }),
      resolve: resolverOf({ 'rebound.example.test': ['192.168.7.7'] }),
    });
    onTestFinished(() => http.close());
    for (const host of ['10.0.0.1', '169.254.169.254', '[fd00::1]']) {
      await expect(http.fetch(`http://${host}/token`)).rejects.toThrow('in a private network');
    }
    for (const host of ['metadata.google.internal', 'vault', 'router.lan']) {
      await expect(http.fetch(`https://${host}/token`)).rejects.toThrow('it is a name in a private network');
    }
    await expect(http.fetch('https://rebound.example.test/')).rejects.toThrow('it is an address in a private network');
    expect(proxy.log).toEqual([]);
  });
});
