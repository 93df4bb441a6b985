/**
 * The programs in `test/fixtures/egress/hostile`, which run in a sandbox and try to get at keys, or past the rules for hosts, methods
 * and paths. Each prints one JSON line for each attempt. Here is what they may and may not get.
 */
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { FakeInternet, FakeRequest } from './fake-internet.ts';
import { createSdkApis } from './fake-sdk-apis.ts';
import {
  ECHO_PATHS,
  escapeAll,
  HOSTILE_HOST,
  OPEN_HOST,
  OTHER_HOST,
  PRIVATE_HOSTS,
  REDIRECT_PATHS,
  SHAPE_PATHS,
} from './hostile-apis.ts';

export const HOSTILE_CODE_FOLDER = join(import.meta.dirname, '..', 'fixtures', 'egress', 'hostile');

const PLAIN_KEYS = createSdkApis()['plain']?.keys ?? {};
const HOSTILE_KEYS = { HOSTILE_API_KEY: 'canary-hostile-Zt5$Wn3Lq8' };
const ALLOWED_HOST = 'api.example.com';

/** What the bridge must be configured with: the entries of three servers. */
export const HOSTILE_CODE_SERVERS = {
  plain: { url: `https://${ALLOWED_HOST}`, egress: { methods: ['GET', 'POST'], paths: ['/v1/*'], keys: PLAIN_KEYS } },
  open: { url: `https://${OPEN_HOST}`, egress: {} },
  hostile: { url: `https://${HOSTILE_HOST}`, egress: { keys: HOSTILE_KEYS } },
};

/** Each key, and the only host that may get it. */
const CANARIES = [
  ...Object.entries(PLAIN_KEYS).map(([name, key]) => ({ name, key, host: ALLOWED_HOST })),
  ...Object.entries(HOSTILE_KEYS).map(([name, key]) => ({ name, key, host: HOSTILE_HOST })),
];
/** No key: the program has it, to show that its search finds what is there. */
const CONTROL = 'canary-control-4f1e';

const on = (port: number) => (host: string) => `${host}:${port}`;
const LOOPBACK_SPELLINGS = ['2130706433', '0x7f000001', '0177.0.0.1', '127.1', '0', '0.0.0.0', '①②⑦.0.0.1'];
const PRIVATE_IPV6 = ['[::1]', '[::ffff:127.0.0.1]', '[::ffff:a9fe:a9fe]', '[fd00::1]', '[fe80::1%25eth0]'];
const METADATA_SPELLINGS = ['2852039166', '0xa9fea9fe', 'metadata.google.internal'];
const LOOKALIKES = [
  `${ALLOWED_HOST}@${OTHER_HOST}`,
  `${ALLOWED_HOST}:443@${OTHER_HOST}`,
  `${OTHER_HOST}#${ALLOWED_HOST}`,
  `${ALLOWED_HOST}.${OTHER_HOST}`,
  `x${ALLOWED_HOST}`,
  `${ALLOWED_HOST}%00.${OTHER_HOST}`,
];
const REFUSED_AUTHORITIES = [
  ...[OTHER_HOST, ...PRIVATE_HOSTS.filter((host) => host !== '::1')].map(on(443)),
  ...[...PRIVATE_IPV6, ...LOOPBACK_SPELLINGS, ...LOOKALIKES].map(on(443)),
  ...METADATA_SPELLINGS.map(on(80)),
  ...[22, 80, 8443, 0, 65_536, 443_443].map((port) => on(port)(ALLOWED_HOST)),
  ':443',
  ALLOWED_HOST,
];
const REFUSED_URLS = [
  `http://${OTHER_HOST}/v1/items`,
  `https://${OTHER_HOST}/v1/items`,
  'http://169.254.169.254/latest/meta-data/',
  'http://2130706433/',
  'http://[::1]/',
  'http://localhost/',
  `http://${ALLOWED_HOST}@${OTHER_HOST}/`,
  `http://${OTHER_HOST}\\@${ALLOWED_HOST}/`,
  'file:///etc/passwd',
  `ftp://${ALLOWED_HOST}/v1/items`,
  '/v1/items',
  '*',
];
const REFUSED_PATHS = [
  '/admin',
  '/v1/../admin',
  '/v1/%2e%2e/admin',
  '/v1/.%2E/admin',
  '/v1/..\\admin',
  '/v1',
  '/V1/items',
  '/v10/x',
];
const ODD_PATHS = [
  '/v1/..%2fadmin',
  '/v1/..%5cadmin',
  '/v1/%252e%252e/admin',
  '/v1//../../admin',
  '/v1/items#/../admin',
];

/** Any other attempt may get anything that `faultsOf` does not call a fault. */
interface HostileProgram {
  /** They must succeed: without those, a bridge that lets nothing through would pass. */
  readonly works: readonly string[];
  /** No success may come back. */
  readonly refused: readonly string[];
}

/** By file. */
export const HOSTILE_PROGRAMS: Readonly<Record<string, HostileProgram>> = {
  'tunnels.py': {
    works: ['the allowed host', 'the allowed host in capitals'],
    refused: [...REFUSED_AUTHORITIES, 'a tunnel in a tunnel'],
  },
  'targets.py': {
    works: ['the allowed path'],
    refused: [
      ...REFUSED_URLS,
      ...REFUSED_PATHS.map((path) => `path ${path}`),
      ...['DELETE', 'TRACE', 'CONNECT', 'OPTIONS', 'get', 'G\0ET'].map((method) => `method ${method}`),
    ],
  },
  'smuggling.py': { works: ['one request'], refused: ['HTTP/0.9', 'headers without end'] },
  'credentials.py': {
    works: [
      'the placeholder',
      'the placeholder as a password',
      'the placeholder in the query',
      'to another allowed host',
    ],
    refused: ['no placeholder', 'half of it', 'in capitals', 'to another host', 'without TLS'],
  },
  'local_search.py': { works: ['control', 'a request with the key'], refused: [] },
  'answers.py': { works: ['/echo/plain', '/early'], refused: [] },
};

const ANSWER_PATHS = [...ECHO_PATHS, ...SHAPE_PATHS, ...REDIRECT_PATHS];

/** The program as one cell. `answers.py` asks for these paths. */
export function hostileCode(file: string, paths: readonly string[] = ANSWER_PATHS): string {
  const canaries = [...CANARIES, { key: CONTROL, name: 'control' }].map(({ key, name }) => ({
    name,
    before: key.indexOf('canary'),
    length: key.length,
    sha256: createHash('sha256').update(key).digest('hex'),
  }));
  const host = {
    authorities: [...REFUSED_AUTHORITIES, `${ALLOWED_HOST}.:443`, `user@${ALLOWED_HOST}:443`],
    urls: REFUSED_URLS,
    paths: [...REFUSED_PATHS, ...ODD_PATHS],
    canaries,
    control: CONTROL,
    stay: paths,
    follow: REDIRECT_PATHS.filter((path) => paths.includes(path)),
  };
  const read = (name: string): string => readFileSync(join(HOSTILE_CODE_FOLDER, name), 'utf8');
  // JSON of texts, numbers, lists and objects is also Python.
  return `HOST = ${JSON.stringify(host)}\n${read('start.py')}\n${read(file)}`;
}

interface Attempt {
  readonly name: string;
  readonly got: {
    readonly statuses?: readonly number[];
    readonly status?: number;
    readonly text?: string;
    readonly found?: readonly string[];
  };
}

/** What went wrong in a run of the program, by what it printed and what was asked of the internet, which no other program used. */
export function faultsOf(
  file: string,
  printed: string,
  internet: Pick<FakeInternet, 'requests' | 'refused'>,
): string[] {
  const attempts = printed
    .split('\n')
    .filter((line) => line.startsWith('{'))
    .map((line) => JSON.parse(line) as Attempt);
  const { works = [], refused = [] } = HOSTILE_PROGRAMS[file] ?? {};
  const succeeded = new Set(attempts.filter(hasSuccess).map(({ name }) => name));
  const names = new Set(attempts.map(({ name }) => name));
  return [
    ...works.filter((name) => !succeeded.has(name)).map((name) => `${name}: did not work`),
    ...refused.filter((name) => !names.has(name)).map((name) => `${name}: was not tried`),
    ...refused.filter((name) => succeeded.has(name)).map((name) => `${name}: was not refused`),
    ...attempts.flatMap((attempt) => leaksOf(attempt).map((leak) => `${attempt.name}: ${leak}`)),
    ...internet.requests.flatMap((request) => breachesOf(request)),
    ...internet.refused.map((place) => `${place}: was asked for, and is not allowed`),
  ];
}

function hasSuccess({ got }: Attempt): boolean {
  if (got.found !== undefined) {
    return got.found.includes('control');
  }
  // A hint before the answer (1xx) is neither.
  const statuses = got.statuses ?? [got.status ?? 0];
  return statuses.some((status) => status >= 200 && status < 300);
}

function leaksOf({ got }: Attempt): string[] {
  const text = JSON.stringify(got) + (got.text ?? '');
  const forms = CANARIES.flatMap(({ key }) => Object.entries(formsOf(key)));
  const leaks = forms.filter(([, form]) => text.toLowerCase().includes(form.toLowerCase())).map(([name]) => name);
  return [
    ...leaks.map((name) => `shows a key (${name})`),
    ...(got.found ?? []).filter((name) => !name.startsWith('control')).map((where) => `found ${where}`),
  ];
}

function breachesOf({ scheme, host, port, method, path, headers }: FakeRequest): string[] {
  const place = `${method} ${scheme}://${host}:${port}${path}`;
  const decoded = headers.map(([, value]) => Buffer.from(value.replace(/^Basic /, ''), 'base64').toString('latin1'));
  const text = [path, decodeAll(path), ...headers.flat(), ...decoded].join('\n');
  const keys = CANARIES.filter((canary) => text.includes(canary.key));
  const isAllowed = [ALLOWED_HOST, OPEN_HOST, HOSTILE_HOST].includes(host) && port === (scheme === 'http' ? 80 : 443);
  const names = headers.filter(([name]) => name.toLowerCase() === 'host').map(([, value]) => value);
  return [
    ...(isAllowed ? [] : ['reached a host that is not allowed']),
    ...(keys.some((canary) => canary.host !== host) ? ['a key went to a host that has no right to it'] : []),
    ...(keys.length > 0 && scheme === 'http' ? ['a key went without TLS'] : []),
    ...(names.length === 1 && names[0]?.replace(/:(?:80|443)$/, '') === host ? [] : ['the header Host is another one']),
    ...(host === ALLOWED_HOST && !['GET', 'POST'].includes(method) ? ['a method that is not allowed'] : []),
    ...(host === ALLOWED_HOST && !isBelowV1(path) ? ['a path that is not allowed'] : []),
  ].map((fault) => `${place}: ${fault}`);
}

/** Also for a server that decodes twice, or takes a backslash for a slash. */
function isBelowV1(path: string): boolean {
  const plain = decodeAll(decodeAll(path.replace(/\?.*$/, ''))).replaceAll('\\', '/');
  return new URL(`http://host${plain}`).pathname.startsWith('/v1/');
}

function decodeAll(text: string): string {
  return text.replaceAll(/%([0-9a-f]{2})/gi, (_all, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)));
}

/** The forms in which a key may come back, of which no masking may miss one. */
function formsOf(key: string): Record<string, string> {
  const bytes = Buffer.from(key);
  const hex = bytes.toString('hex');
  const base64 = [0, 1, 2].map((before) => {
    const text = Buffer.concat([Buffer.alloc(before), bytes]).toString('base64');
    // Without the characters that also depend on the bytes around it.
    return text.slice([0, 2, 3][before], Math.floor((before + bytes.length) / 3) * 4);
  });
  return {
    plain: key,
    hex,
    percent: encodeURIComponent(key),
    'percent-all': hex.replaceAll(/../g, '%$&'),
    'json-escaped': escapeAll(key),
    ...Object.fromEntries(base64.map((text, at) => [`base64 ${at}`, text])),
    ...Object.fromEntries(
      base64.map((text, at) => [`base64url ${at}`, text.replaceAll('+', '-').replaceAll('/', '_')]),
    ),
  };
}
