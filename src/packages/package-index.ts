/** The indexes to fetch from, as pip and uv read them from their files and the environment, and the secrets in their addresses. */
import { readFileSync } from 'node:fs';
import { BridgeError, messageOf } from '../base/errors.ts';
import { variablesOfFiles } from './index-files.ts';

type Environment = Readonly<Record<string, string | undefined>>;

export interface PackageIndex {
  /** With its credentials, if there are any. */
  readonly url: string;
  readonly extra: readonly string[];
  /** Certificates of authorities, as PEM; undefined for those of the image. */
  readonly certificates: string | undefined;
  /** Proxies as programs read them, such as `https_proxy`. */
  readonly proxies: Readonly<Record<string, string>>;
  /** Replaces the credentials of every address in a text. */
  readonly mask: (text: string) => string;
}

const PYPI = 'https://pypi.org/simple';
const MAX_CERTIFICATE_BYTES = 4 * 1024 * 1024;

/** Reads the environment and the files that it leads to. Rejects with `CONFIG_INVALID` for an address that is not one, or certificates that cannot be read. */
export async function readPackageIndex(given: Environment): Promise<PackageIndex> {
  const env = { ...(await variablesOfFiles(given)), ...given };
  const url = first(env, 'UV_DEFAULT_INDEX', 'UV_INDEX_URL', 'PIP_INDEX_URL') ?? PYPI;
  const extra = [env['UV_INDEX'], env['UV_EXTRA_INDEX_URL'], env['PIP_EXTRA_INDEX_URL']]
    .flatMap((text) => (text ?? '').split(/\s+/))
    .filter((text) => text !== '')
    // uv allows NAME=ADDRESS.
    .map((text) => text.replace(/^[A-Za-z0-9._-]+=(?=https?:)/, ''));
  const all = [url, ...extra];
  const proxies = readProxies(env);
  const secrets = [
    ...all.flatMap(secretsOf),
    ...Object.values(proxies).flatMap((one) => (URL.canParse(one) ? credentialsIn(one) : [])),
  ];
  return {
    url,
    extra,
    certificates: readCertificates(first(env, 'PIP_CERT', 'SSL_CERT_FILE', 'REQUESTS_CA_BUNDLE')),
    proxies,
    mask: (text) => secrets.reduce((masked, secret) => masked.replaceAll(secret, '***'), text),
  };
}

function first(env: Environment, ...names: readonly string[]): string | undefined {
  return names.map((name) => env[name]?.trim()).find((value) => value !== undefined && value !== '');
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
function decoded(text: string): string {
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
