/** Entries for APIs: `servers add NAME --openapi` reads the description, and finds out where the API is and what it needs. */
import { existsSync } from 'node:fs';
import { resolve } from 'node:path';
import { BridgeError, messageOf } from '../../core/base/errors.ts';
import { COMMAND } from '../../core/base/package.ts';
import { quoteShellWord } from '../../core/base/shell-words.ts';
import { counted } from '../../core/base/units.ts';
import type { FileObject } from '../../edges/clients/file-format.ts';
import { API_POLICY } from '../../edges/servers/server-file.ts';
import { ApiClient } from '../../edges/upstream/api/api-client.ts';
import { compileInWorker } from '../../edges/upstream/api/compile.ts';
import type { ApiCredential } from '../../edges/upstream/api/compiled-api.ts';
import { type AboutApi, readLines } from '../../edges/upstream/api/compiled-lines.ts';
import { readDescription } from '../../edges/upstream/api/description-source.ts';
import { hostOf, isThisMachine } from '../../edges/upstream/http/addresses.ts';
import { proxiesOf } from '../../edges/upstream/http/proxies.ts';
import type { NewEntries } from './examples.ts';

/** Chosen: a person waits. */
const MAX_READ_MS = 60_000;
/** Of what a description leaves out, so much is shown. Chosen. */
const SHOWN_NOTICES = 5;
const MAX_TITLE_CHARS = 60;

export interface ApiLine {
  readonly name: string;
  /** A file or an address. */
  readonly openapi: string | undefined;
  readonly graphql: string | undefined;
  readonly schema: string | undefined;
  readonly baseUrl: string | undefined;
  /** Whether the command line gives credentials. */
  readonly hasCredentials: boolean;
}

export interface EgressLine {
  readonly name: string;
  /** An address. */
  readonly egress: string;
  /** `VARIABLE` or `VARIABLE=PREFIX`. */
  readonly keys: readonly string[];
}

const NOT_ENCRYPTED = 'It is not encrypted (http:), so a key sent there can be read on the way.';

/** The entry, and what a person should know about it. Rejects with `USAGE_INVALID`. */
export async function createApiEntry(line: ApiLine, cwd: string): Promise<NewEntries> {
  const { name, graphql, openapi, schema } = line;
  if (graphql !== undefined) {
    const url = addressIn(graphql, '--graphql');
    const entry = { url, graphql: schema === undefined ? true : placeOf(schema, cwd), policy: API_POLICY };
    const note =
      'Its schema is read when it is first used. Mutations can change something, and ask you before each call.';
    return { entries: [[name, entry]], notes: [note] };
  }
  const place = placeOf(openapi ?? '', cwd);
  const about = await readAbout(name, place);
  const url = line.baseUrl === undefined ? addressOf(about, place) : addressIn(line.baseUrl, '--base-url');
  const entry: FileObject = { url, openapi: place, policy: API_POLICY };
  const needs = line.hasCredentials ? undefined : needsOf(name, about.credentials);
  const notes = [...notesOf(about, url), ...differenceOf(about, url, place)];
  return { entries: [[name, entry]], notes, ...(needs === undefined ? {} : { needs }) };
}

/** The entry of an API that code may reach itself. Throws `USAGE_INVALID`. */
export function createEgressEntry({ egress, keys, name }: EgressLine): NewEntries {
  const { origin: url, pathname } = new URL(addressIn(egress, '--egress'));
  const base = pathname.replace(/\/$/, '');
  const value = `\${secret:${secretName(name)}}`;
  const placeholders = keys.map((key): [string, unknown] => {
    const [, variable = '', prefix] = /^([A-Za-z_]\w*)(?:=(.*))?$/s.exec(key) ?? [];
    if (variable === '') {
      throw usage(`--key is '${key}'`, 'Write --key VARIABLE or --key VARIABLE=PREFIX.');
    }
    return [variable, prefix === undefined ? value : { value, prefix }];
  });
  const entry = {
    url,
    egress:
      keys.length === 0 && base === ''
        ? true
        : {
            ...(base !== '' && { paths: [`${base}/*`] }),
            ...(keys.length > 0 && { keys: Object.fromEntries(placeholders) }),
          },
    policy: API_POLICY,
  };
  const notes = [
    `Code may send requests to ${url}${base === '' ? '' : `, with paths below ${base}/`}. Those that can change something ask you before each.`,
    ...(isOpenHttp(url) ? [NOT_ENCRYPTED] : []),
  ];
  return { entries: [[name, entry]], notes };
}

/** An address as it is, or the absolute path of a file that exists. */
function placeOf(given: string, cwd: string): string {
  if (/^https?:\/\//i.test(given)) {
    return given;
  }
  const path = resolve(cwd, given);
  if (!existsSync(path)) {
    throw usage(`${path} does not exist`, 'Give a file, or an address that begins with https:// or http://.');
  }
  return path;
}

async function readAbout(name: string, place: string): Promise<AboutApi> {
  const url = new URL(/^https?:/i.test(place) ? place : 'http://localhost');
  const client = new ApiClient({ url, headers: {}, authorization: undefined, proxies: proxiesOf(process.env) });
  const signal = AbortSignal.timeout(MAX_READ_MS);
  const api = { kind: 'openapi' as const, description: place };
  const common = { name, timeoutMs: undefined, definitionHash: '', file: '' };
  const fail = (reason: string): BridgeError =>
    usage(signal.aborted ? `${place} was not read within ${MAX_READ_MS / 1000} s` : reason, hintFor(reason));
  try {
    const found = await readDescription({ ...common, url: url.href, transport: 'auto', headers: {}, api }, client, {
      signal,
    }).catch((error: unknown) => {
      throw fail(messageOf(error));
    });
    const text = found === 'same' ? '' : found.text;
    const lines = await compileInWorker(text, { kind: 'openapi', signal }).catch((error: unknown) => {
      throw fail(`${place} ${messageOf(error)}`);
    });
    return (await readLines(lines.map((line) => Buffer.from(line)))).about;
  } finally {
    client.close();
  }
}

function hintFor(reason: string): string {
  if (/HTTP 40[13]/.test(reason)) {
    return 'The address asks for a credential: save the description to a file, and give that.';
  }
  return /HTTP \d|could not be reached|was not read/.test(reason)
    ? 'Check the address in a browser, or save the description to a file and give that.'
    : 'Give a description in OpenAPI 3 or Swagger 2.0, as JSON or YAML.';
}

function addressIn(given: string, option: string): string {
  if (!/^https?:\/\//i.test(given) || !URL.canParse(given)) {
    throw usage(`${option} is not an address`, `Write ${option} https://HOST/PATH.`);
  }
  return given;
}

/** Where the description says that the API is. A relative address refers to that of the description. */
function addressOf({ addresses }: AboutApi, place: string): string {
  const base = /^https?:/i.test(place) ? place : undefined;
  // OpenAPI 3.1, "OpenAPI Object": without `servers`, the address is `/`.
  const found = [...addresses, '/'].find((address) => URL.canParse(address, base));
  const url = found === undefined ? undefined : new URL(found, base);
  // In an entry, `${secret:…}` and the like are filled in: whoever writes a description must not choose what is sent.
  if ((url?.protocol !== 'https:' && url?.protocol !== 'http:') || /[{}]/.test(url.origin + url.pathname)) {
    throw usage('the description does not say where the API is', 'Add --base-url https://HOST/PATH.');
  }
  return `${url.origin}${url.pathname}`.replace(/\/$/, '');
}

/** `--base-url` without the path that the description has, which is easily forgotten. */
function differenceOf(about: AboutApi, url: string, place: string): string[] {
  const base = /^https?:/i.test(place) ? place : 'http://localhost';
  const paths = about.addresses.flatMap((address) =>
    URL.canParse(address, base) ? new URL(address, base).pathname : [],
  );
  const plain = (path: string): string => path.replace(/\/$/, '');
  const own = plain(new URL(url).pathname);
  return paths.length === 0 || paths.map(plain).includes(own)
    ? []
    : [`The description has the path ${paths[0]}, and this address ${own === '' ? 'has none' : own}.`];
}

function notesOf({ addresses, notices, readingCount, title, toolCount }: AboutApi, url: string): string[] {
  const writing = toolCount - readingCount;
  const asks = writing === 0 ? '' : `; ${writing} of them can change something, and ask you before each call`;
  const hidden = notices.length - SHOWN_NOTICES;
  return [
    `The API at ${url}${title === '' ? '' : ` (${JSON.stringify(title.slice(0, MAX_TITLE_CHARS))})`}: ${counted(toolCount, 'operation')}${asks}.`,
    ...(isOpenHttp(url) ? [NOT_ENCRYPTED] : []),
    ...(addresses.length > 1 ? [`Other addresses in the description: ${addresses.slice(0, 5).join(', ')}.`] : []),
    ...notices.slice(0, SHOWN_NOTICES).map((notice) => `Left out or simplified: ${notice}.`),
    ...(hidden > 0 ? [`… and ${hidden} more; \`${COMMAND} servers test\` names them.`] : []),
  ];
}

function isOpenHttp(address: string): boolean {
  const url = new URL(address);
  return url.protocol === 'http:' && !isThisMachine(hostOf(url));
}

/** What the API takes to let someone in, and how to give it; undefined if it says nothing about that. */
function needsOf(name: string, credentials: readonly ApiCredential[]): string | undefined {
  const known = credentials.flatMap((credential) => {
    const how = optionFor(credential);
    return how === undefined ? [] : [{ credential, how }];
  });
  const [first] = known;
  if (first === undefined) {
    return credentials.length === 0
      ? undefined
      : `credentials (${credentials.map(({ name: scheme }) => scheme).join(', ')}). Add what it needs with --header or in the entry.`;
  }
  const what = { header: 'a key in the header', query: 'a key in the query parameter' } as const;
  const kind = first.credential.kind as keyof typeof what;
  const described =
    what[kind] === undefined ? `a credential (${kind})` : `${what[kind]} ${first.credential.field ?? ''}`;
  return `${described}. Store it with \`${COMMAND} secrets set ${secretName(name)}\`, and repeat this command with --auth ${quoteShellWord(first.how)} --force; or refer to a variable of the bridge: --header 'NAME: \${VARIABLE}'.`;
}

function optionFor({ field, kind }: ApiCredential): string | undefined {
  switch (kind) {
    case 'bearer':
    case 'basic':
      return kind;
    case 'oauth':
      return 'bearer';
    case 'header':
    case 'query':
      return field === undefined ? undefined : `${kind}:${field}`;
    default:
      return undefined;
  }
}

/** The stored secret that the entry of a server refers to. */
export function secretName(server: string): string {
  return server
    .replace(/[^\w.-]/g, '_')
    .replace(/^[^A-Za-z_]/, '_$&')
    .slice(0, 64);
}

/** The entry with a reference to the stored secret of the server, as `--auth` says. Throws `USAGE_INVALID`. */
export function withCredential(entry: FileObject, name: string, auth: string): FileObject {
  const secret = `\${secret:${secretName(name)}}`;
  const [, place = '', field = ''] = /^(header|query):(.+)$/i.exec(auth) ?? [];
  const headers = (entry['headers'] ?? {}) as FileObject;
  const url = String(entry['url']);
  const kind = place === '' ? auth.toLowerCase() : place.toLowerCase();
  switch (field === '' && /^(?:header|query)$/.test(kind) ? '' : kind) {
    case 'bearer':
      return { ...entry, headers: { ...headers, Authorization: `Bearer ${secret}` } };
    case 'basic':
      return { ...entry, headers: { ...headers, Authorization: `Basic ${secret}` } };
    case 'header':
      return { ...entry, headers: { ...headers, [field]: secret } };
    case 'query':
      return { ...entry, url: `${url}${url.includes('?') ? '&' : '?'}${encodeURIComponent(field)}=${secret}` };
    default:
      throw usage(`--auth is '${auth}'`, 'Write --auth bearer, basic, header:NAME or query:NAME.');
  }
}

function usage(message: string, hint: string): BridgeError {
  return new BridgeError('USAGE_INVALID', message, { hint });
}
