/** Reads the description of an API: from a file, from an address, or from the API itself. */
import { open } from 'node:fs/promises';
import { messageOf } from '../../../core/base/errors.ts';
import type { RemoteDefinition } from '../../../core/base/server-definition.ts';
import { readBody } from '../http/http-client.ts';
import { explainRedirect } from '../http/redirects.ts';
import type { ApiClient } from './api-client.ts';
import { MAX_DESCRIPTION_BYTES } from './compile.ts';

const ACCEPTED = 'application/json, application/yaml, text/yaml, */*;q=0.5';

export interface DescriptionText {
  readonly text: string;
  /** What the address said about this version of it. */
  readonly etag?: string | undefined;
}

/**
 * The text of the description; `same` if the address says that it is still the one with `etag`. Rejects with an error whose message
 * is a sentence about the description.
 */
export async function readDescription(
  definition: RemoteDefinition,
  client: Pick<ApiClient, 'send'>,
  { signal, etag }: { readonly signal: AbortSignal; readonly etag?: string | undefined },
): Promise<DescriptionText | 'same'> {
  const { api } = definition;
  if (api?.description === undefined) {
    return { text: await introspect(client, new URL(definition.url), signal) };
  }
  return /^https?:/i.test(api.description)
    ? fetchDescription(client, new URL(api.description), { signal, etag })
    : { text: await readDescriptionFile(api.description) };
}

async function readDescriptionFile(path: string): Promise<string> {
  try {
    const file = await open(path);
    try {
      const stats = await file.stat();
      if (!stats.isFile() || stats.size > MAX_DESCRIPTION_BYTES) {
        throw new Error(stats.isFile() ? `it has more than ${MAX_DESCRIPTION_BYTES} bytes` : 'it is not a file');
      }
      return await file.readFile('utf8');
    } finally {
      await file.close();
    }
  } catch (error) {
    const isMissing = (error as NodeJS.ErrnoException).code === 'ENOENT';
    throw new Error(isMissing ? `${path} does not exist` : `${path} cannot be read: ${messageOf(error)}`, {
      cause: error,
    });
  }
}

async function fetchDescription(
  client: Pick<ApiClient, 'send'>,
  url: URL,
  { signal, etag }: { readonly signal: AbortSignal; readonly etag: string | undefined },
): Promise<DescriptionText | 'same'> {
  const headers = { accept: ACCEPTED, ...(etag === undefined ? {} : { 'if-none-match': etag }) };
  const response = await client.send({ url, method: 'GET', headers, signal });
  if (response.status === 304 && etag !== undefined) {
    response.body.resume();
    return 'same';
  }
  if (response.status !== 200) {
    response.body.destroy();
    const what = explainRedirect(response.url, response) ?? `answered HTTP ${response.status}`;
    throw new Error(`${shown(url)} ${what}`);
  }
  const body = await readBody(response, MAX_DESCRIPTION_BYTES);
  return { text: body.toString('utf8'), etag: response.headers.etag };
}

/** What a GraphQL API says about its schema (GraphQL specification, "Introspection"). */
async function introspect(client: Pick<ApiClient, 'send'>, url: URL, signal: AbortSignal): Promise<string> {
  const { getIntrospectionQuery } = await import('graphql');
  const response = await client.send({
    url,
    method: 'POST',
    headers: { accept: 'application/json', 'content-type': 'application/json' },
    body: JSON.stringify({ query: getIntrospectionQuery() }),
    signal,
  });
  if (response.status !== 200) {
    response.body.destroy();
    const what = explainRedirect(response.url, response) ?? `answered HTTP ${response.status}`;
    throw new Error(`the API does not say what its schema is: ${shown(url)} ${what}`);
  }
  return (await readBody(response, MAX_DESCRIPTION_BYTES)).toString('utf8');
}

/** Without the query, which may hold a key. */
function shown({ origin, pathname }: URL): string {
  return `${origin}${pathname}`;
}
