/**
 * Clients as code in the sandbox has them: they trust the authority with the strictest checks, use the proxy of their environment, and show
 * why a request was refused.
 */
import { execFile, spawnSync } from 'node:child_process';
import { createHash, createPrivateKey, createPublicKey } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { promisify } from 'node:util';
import { afterAll, describe, expect, it } from 'vitest';
import type { HandleEgress } from '../../../src/core/base/egress-exchange.ts';
import { BridgeError } from '../../../src/core/base/errors.ts';
import { openAuthority } from '../../../src/edges/egress-proxy/authority.ts';
import { certifyHost } from '../../../src/edges/egress-proxy/certificate.ts';
import { openFront, relayPort, textAnswer } from '../../support/egress.ts';
import { hasLocalPython } from '../../support/local-python.ts';
import { pause } from '../../support/pause.ts';

const folder = mkdtempSync(join(tmpdir(), 'bridge-egress-clients-'));
afterAll(() => rmSync(folder, { recursive: true }));

function works(program: string, ...argv: string[]): boolean {
  return spawnSync(program, argv).status === 0;
}

const hasPython = hasLocalPython();
const hasRequests = hasPython && works('python3', '-c', 'import requests');

async function* half(): AsyncGenerator<Buffer> {
  yield Buffer.from('half');
  await pause(300, 'the client gets what there is');
  throw new Error('the rest is missing');
}

/** Says what it got; denies `/denied`; breaks off at `/half`. */
const handle: HandleEgress = async ({ method, url, body }) => {
  const sent = await buffer(body);
  if (url.pathname === '/denied') {
    throw new BridgeError('POLICY_DENIED', 'Rule 3 denies this; nothing was sent.');
  }
  const hash = createHash('sha256').update(sent).digest('hex');
  const answer = textAnswer(`${method} ${url.href} ${sent.length} ${hash}`);
  return url.pathname === '/half' ? { ...answer, body: Readable.from(half()) } : answer;
};

/** What the program prints, with the proxy of a new front in its environment. */
async function run(program: string, ...argv: string[]): Promise<string> {
  const front = await openFront(handle);
  const port = await relayPort(front);
  const ca = join(folder, 'ca.pem');
  writeFileSync(ca, front.authority.certificate);
  const proxy = `http://127.0.0.1:${port}`;
  const trust = { SSL_CERT_FILE: ca, REQUESTS_CA_BUNDLE: ca, CURL_CA_BUNDLE: ca };
  const env = { PATH: process.env['PATH'], HTTP_PROXY: proxy, http_proxy: proxy, HTTPS_PROXY: proxy, ...trust };
  const { stdout } = await promisify(execFile)(program, argv, { env, timeout: 25_000 });
  return stdout;
}

const SHA256 = (length: number): string => createHash('sha256').update('x'.repeat(length)).digest('hex');

describe.skipIf(!hasPython)('urllib', () => {
  const STRICT = [
    'import ssl, urllib.request, urllib.error, http.client',
    'context = ssl.create_default_context()',
    'context.verify_flags |= ssl.VERIFY_X509_STRICT | ssl.VERIFY_X509_PARTIAL_CHAIN',
    'def ask(url, data=None):',
    '    try:',
    '        with urllib.request.urlopen(url, data, context=context) as answer: print(answer.read().decode())',
    '    except (urllib.error.URLError, http.client.HTTPException) as error: print(repr(error))',
  ].join('\n');

  it.each(['https://api.example/a', 'https://192.0.2.1/a', 'http://api.example:81/a', 'https://api.example:444/a'])(
    'gets %s, with the strictest checks',
    async (url) => {
      expect(await run('python3', '-c', `${STRICT}\nask('${url}')\nask('${url}', b'x' * 5_000_000)`)).toBe(
        `GET ${url} 0 ${SHA256(0)}\nPOST ${url} 5000000 ${SHA256(5_000_000)}\n`,
      );
    },
  );

  it('shows why a request was refused, and that an answer broke off', async () => {
    const output = await run(
      'python3',
      '-c',
      `${STRICT}\nask('https://a.example/denied')\nask('https://a.example/half')`,
    );
    expect(output.split('\n')).toEqual([
      "<HTTPError 403: 'Rule 3 denies this; nothing was sent.'>",
      expect.stringMatching(/^IncompleteRead\(\d+ bytes read\)$/),
      '',
    ]);
  });
});

describe.skipIf(!hasRequests)('requests', () => {
  it('keeps its connection, and says why a request was refused', async () => {
    const code = [
      'import requests',
      'session = requests.Session()',
      "for i in range(3): print(session.post('https://a.example/' + str(i), data=b'x' * 100_000).text)",
      "print(session.get('http://a.example/plain').text)",
      "try: session.get('https://a.example/denied').raise_for_status()",
      'except requests.HTTPError as error: print(error, error.response.json()["error"]["code"])',
      "try: session.get('https://a.example/half')",
      'except requests.exceptions.RequestException as error: print(type(error).__name__)',
    ].join('\n');
    const lines = (await run('python3', '-c', code)).trimEnd().split('\n');
    expect(lines.slice(0, 4)).toEqual([
      ...[0, 1, 2].map((i) => `POST https://a.example/${i} 100000 ${SHA256(100_000)}`),
      `GET http://a.example/plain 0 ${SHA256(0)}`,
    ]);
    expect(lines[4]).toBe(
      '403 Client Error: Rule 3 denies this; nothing was sent. for url: https://a.example/denied POLICY_DENIED',
    );
    expect(lines[5]).toBe('ChunkedEncodingError');
  });
});

describe.skipIf(!works('curl', '--version'))('curl', () => {
  it('sends a file with Expect: 100-continue', async () => {
    writeFileSync(join(folder, 'large'), 'x'.repeat(3_000_000));
    const argv = [
      '-sS',
      '--http1.1',
      '-H',
      'Expect: 100-continue',
      '-T',
      join(folder, 'large'),
      'https://a.example/put',
    ];
    expect(await run('curl', ...argv)).toBe(`PUT https://a.example/put 3000000 ${SHA256(3_000_000)}`);
  });
});

describe.skipIf(!works('openssl', 'version'))('openssl', () => {
  it.each(['api.example', '192.0.2.1', '2001:db8::1'])('verifies the certificate of %s strictly', async (host) => {
    const { certificate } = await openAuthority(folder);
    const key = createPrivateKey(readFileSync(join(folder, 'authority.pem')));
    writeFileSync(join(folder, 'ca.pem'), certificate);
    writeFileSync(join(folder, 'leaf.pem'), certifyHost(host, createPublicKey(key), key));
    const name = host === 'api.example' ? '-verify_hostname' : '-verify_ip';
    const argv = ['verify', '-x509_strict', '-purpose', 'sslserver', name, host, '-CAfile', 'ca.pem', 'leaf.pem'];
    const { stdout, stderr } = spawnSync('openssl', argv, { cwd: folder, encoding: 'utf8' });
    expect(`${stdout}${stderr}`).toBe('leaf.pem: OK\n');
  });
});
