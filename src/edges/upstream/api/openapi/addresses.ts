/** Where an API is: OpenAPI 3.1, "Server Object", and `schemes`, `host` and `basePath` of Swagger 2.0. */
import type { JsonObject } from '../../../../core/base/is-object.ts';
import { listOf } from '../../../../core/catalog/json-schema.ts';
import { type ApiDocument, OperationFault, objectOf, textOf } from './api-document.ts';

const MAX_ADDRESSES = 20;
const MAX_CHARS = 2_000;
const MAX_DEFAULT_CHARS = 200;

/** Without repetitions, and without a `/` at the end. */
export function addressesOf(document: ApiDocument): string[] {
  return document.isSwagger ? addressesOfSwagger(document.root) : addressesIn(document.root['servers']);
}

function addressesOfSwagger(root: JsonObject): string[] {
  const host = textOf(root['host']);
  const base = trimEnd(textOf(root['basePath']));
  if (host === '') {
    return base === '' ? [] : [base];
  }
  const schemes = listOf(root['schemes']).filter((scheme) => scheme === 'https' || scheme === 'http');
  const sorted = [...new Set(schemes.length === 0 ? ['https'] : schemes)].toSorted().toReversed();
  return sorted.map(
    (scheme) => `${scheme}://${trimEnd(host)}${base === '' || base.startsWith('/') ? base : `/${base}`}`,
  );
}

/** The addresses of a list of servers, with the defaults of their variables filled in. */
export function addressesIn(servers: unknown): string[] {
  const found = listOf(servers)
    .slice(0, MAX_ADDRESSES)
    .map((server) => {
      const { url, variables } = objectOf(server);
      return trimEnd(
        textOf(url)
          .slice(0, MAX_CHARS)
          .replaceAll(/\{([^{}]+)\}/g, (whole, name: string) => defaultOf(variables, name) ?? whole),
      );
    });
  return [...new Set(found)].filter((address) => address !== '' && address.length <= MAX_CHARS);
}

function defaultOf(variables: unknown, name: string): string | undefined {
  const all = objectOf(variables);
  const variable = Object.hasOwn(all, name) ? objectOf(all[name]) : {};
  const value = variable['default'] ?? listOf(variable['enum'])[0];
  return typeof value === 'string' || typeof value === 'number' ? String(value).slice(0, MAX_DEFAULT_CHARS) : undefined;
}

/**
 * What the path of an operation with servers of its own begins with, below the address of the API. Throws an `OperationFault` if it is
 * not below it.
 */
export function pathBelow(address: string | undefined, own: readonly string[]): string {
  if (address === undefined || own.length === 0 || own.includes(address)) {
    return '';
  }
  // Relative ones are relative to the document, which is usually where the API is.
  const origin = URL.canParse(address) ? new URL(address).origin : '';
  const absolute = own.map((other) => (other.startsWith('/') ? `${origin}${other}` : other));
  if (absolute.includes(address)) {
    return '';
  }
  const found = absolute.find((other) => other.startsWith(`${address}/`));
  if (found === undefined) {
    throw new OperationFault('is at another address; give it an entry of its own');
  }
  return found.slice(address.length);
}

function trimEnd(address: string): string {
  return address.replace(/\/+$/, '');
}
