/** Where to fetch from, as pip and uv read it from their files and the environment, and the secrets in the addresses. */
import { readFileSync } from 'node:fs';
import { BridgeError, messageOf } from '../../core/base/errors.ts';
import { IGNORED_CODES, variablesOfFiles } from './index-files.ts';
import { credentialsOfNetrc } from './netrc.ts';

type Environment = Readonly<Record<string, string | undefined>>;

export interface PackageIndex {
  /**
   * Indexes with their credentials, in the order in which they are asked for a name. The first that has it is the only one from which
   * it is taken, as with uv.
   */
  readonly urls: readonly string[];
  /** Pages of links to wheels (`--find-links`), which are asked before. */
  readonly links: readonly string[];
  /** Statuses besides 404 with which one of `urls` answers for a name that it does not have. */
  readonly absent: Readonly<Record<string, readonly number[]>>;
  /** Hosts, perhaps with a port, whose certificates are not checked (`--trusted-host`). */
  readonly trusted: readonly string[];
  /** Certificates of authorities, as PEM; undefined for those of the image. */
  readonly certificates: string | undefined;
  /** Proxies as programs read them, such as `https_proxy`. */
  readonly proxies: Readonly<Record<string, string>>;
  /** Replaces the credentials of every address in a text. */
  readonly mask: (text: string) => string;
}

const PYPI = 'https://pypi.org/simple';
/** Anyone can publish there, so every other index is asked before. */
const PUBLIC_HOSTS: ReadonlySet<string> = new Set(['pypi.org', 'www.pypi.org', 'pypi.python.org', 'test.pypi.org']);
const MAX_CERTIFICATE_BYTES = 4 * 1024 * 1024;

/** Reads the environment and the files that it leads to. Rejects with `CONFIG_INVALID` for an address that is not one, or certificates that cannot be read. */
export async function readPackageIndex(given: Environment): Promise<PackageIndex> {
  const env = { ...(await variablesOfFiles(given)), ...given };
  const netrc = await credentialsOfNetrc(given);
  const login = (text: string): string => withLogin(text, env, netrc);
  const links = wordsOf(env, 'UV_FIND_LINKS', 'PIP_FIND_LINKS').filter(isRemote).map(login);
  const indexes = isOn(env, 'UV_NO_INDEX', 'PIP_NO_INDEX') ? [] : indexesOf(env);
  const urls = indexes.map(login);
  if (urls.length + links.length === 0) {
    throw new BridgeError('CONFIG_INVALID', 'pip or uv is set up to use no index, and only folders of this machine', {
      hint: 'Unset PIP_NO_INDEX, or set PIP_FIND_LINKS to an http or https address that lists the wheels.',
    });
  }
  const proxies = readProxies(env);
  const secrets = [
    ...[...urls, ...links].flatMap(secretsOf),
    ...Object.values(proxies).flatMap((one) => (URL.canParse(one) ? credentialsIn(one) : [])),
  ];
  return {
    urls,
    links,
    absent: Object.fromEntries(indexes.map((text) => [login(text), absentCodes(text, env)])),
    trusted: wordsOf(env, 'UV_INSECURE_HOST', 'PIP_TRUSTED_HOST'),
    certificates: readCertificates(first(env, 'PIP_CERT', 'SSL_CERT_FILE', 'REQUESTS_CA_BUNDLE')),
    proxies,
    mask: (text) => secrets.reduce((masked, secret) => masked.replaceAll(secret, '***'), text),
  };
}

/** In the order of uv, where additional indexes come before the main one, and with PyPI at the end. */
function indexesOf(env: Environment): string[] {
  const extra = wordsOf(env, 'UV_INDEX', 'UV_EXTRA_INDEX_URL', 'PIP_EXTRA_INDEX_URL').filter(isRemote);
  const all = [...extra, first(env, 'UV_DEFAULT_INDEX', 'UV_INDEX_URL', 'PIP_INDEX_URL') ?? PYPI];
  return [...all.filter((url) => !isPublic(url)), ...all.filter(isPublic)];
}

function isPublic(text: string): boolean {
  const url = withoutName(text);
  return URL.canParse(url) && PUBLIC_HOSTS.has(new URL(url).hostname);
}

/** As uv has it, also for the index of PyTorch, which lies in a bucket that answers 403. */
function absentCodes(text: string, env: Environment): number[] {
  const address = withoutName(text);
  const stated = wordsOf(env, IGNORED_CODES).filter((word) => word.endsWith(`=${address}`));
  const isPytorch = address.startsWith('https://download.pytorch.org/');
  return [...stated.map((word) => Number.parseInt(word, 10)), ...(isPytorch ? [403] : [])];
}

/** A builder sees no folders of this machine. */
function isRemote(text: string): boolean {
  return URL.canParse(withoutName(text)) && !text.startsWith('file:');
}

/** uv allows NAME=ADDRESS. */
const NAMED = /^([A-Za-z0-9._-]+)=(?=https?:)/;

function withoutName(text: string): string {
  return text.replace(NAMED, '');
}

/** The address with its credentials: those in it, those that uv reads for its name, or those of the netrc file. */
function withLogin(text: string, env: Environment, netrc: ReadonlyMap<string, Login>): string {
  const address = withoutName(text);
  if (!URL.canParse(address)) {
    return address;
  }
  const url = new URL(address);
  const name = NAMED.exec(text)?.[1]
    ?.toUpperCase()
    .replaceAll(/[^A-Z0-9]/g, '_');
  const [username, password] = [env[`UV_INDEX_${name}_USERNAME`], env[`UV_INDEX_${name}_PASSWORD`]];
  const isNamed = name !== undefined && (username ?? password) !== undefined;
  const login = isNamed ? { username, password } : netrc.get(url.hostname);
  if (login === undefined || url.username !== '' || url.password !== '') {
    return address;
  }
  [url.username, url.password] = [login.username ?? '', login.password ?? ''].map(encodeURIComponent) as [
    string,
    string,
  ];
  return url.href;
}

interface Login {
  readonly username?: string | undefined;
  readonly password?: string | undefined;
}

function first(env: Environment, ...names: readonly string[]): string | undefined {
  return names.map((name) => env[name]?.trim()).find((value) => value !== undefined && value !== '');
}

/** The words of several variables. */
function wordsOf(env: Environment, ...names: readonly string[]): string[] {
  return names.flatMap((name) => (env[name] ?? '').split(/[\s,]+/)).filter((text) => text !== '');
}

function isOn(env: Environment, ...names: readonly string[]): boolean {
  return names.some((name) => /^(?:1|true|yes|on|y|t)$/i.test(env[name]?.trim() ?? ''));
}

/** The user name and password, as written and decoded. Throws `CONFIG_INVALID`; the message does not repeat the address. */
function secretsOf(address: string): string[] {
  if (!URL.canParse(address) || !/^https?:$/.test(new URL(address).protocol)) {
    throw new BridgeError('CONFIG_INVALID', 'the address of a package index is not an http or https address', {
      hint: 'Correct PIP_INDEX_URL, PIP_EXTRA_INDEX_URL, or the settings of pip or uv with the same meaning.',
    });
  }
  return credentialsIn(address);
}
function credentialsIn(address: string): string[] {
  const { password, username } = new URL(address);
  if (username === '' && password === '') {
    return [];
  }
  const secrets = password === '' ? [username] : [password, `${username}:${password}`];
  const header = Buffer.from(decoded(`${username}:${password}`)).toString('base64');
  // The header as well: an index can repeat what it got in its answer.
  return [header, ...secrets.flatMap((secret) => [secret, decoded(secret)])].filter((secret) => secret.length > 2);
}

/** A percent sign may also be part of a password. */
export function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

function readProxies(env: Environment): Record<string, string> {
  const names = ['http_proxy', 'https_proxy', 'all_proxy', 'no_proxy'];
  const found = names.map((name) => [name, first(env, name, name.toUpperCase())] as const);
  const ofPip = first(env, 'PIP_PROXY');
  return {
    ...(ofPip === undefined ? {} : { http_proxy: ofPip, https_proxy: ofPip }),
    ...Object.fromEntries(found.filter((entry): entry is [string, string] => entry[1] !== undefined)),
  };
}

function readCertificates(path: string | undefined): string | undefined {
  if (path === undefined) {
    return undefined;
  }
  try {
    const text = readFileSync(path, 'utf8');
    return text.length > MAX_CERTIFICATE_BYTES ? undefined : text;
  } catch (error) {
    throw new BridgeError('CONFIG_INVALID', `the certificates in ${path} cannot be read: ${messageOf(error)}`, {
      hint: 'Correct PIP_CERT, SSL_CERT_FILE or REQUESTS_CA_BUNDLE.',
    });
  }
}
