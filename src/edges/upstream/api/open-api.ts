/** Opens the connection to an API: reads what describes it, and nothing is sent to the API itself. */
import { BridgeError, messageOf } from '../../../core/base/errors.ts';
import type { ApiSource, RemoteDefinition } from '../../../core/base/server-definition.ts';
import { type ConnectOptions, createTraffic, establish, type ServerConnection } from '../connection.ts';
import { Deadline } from '../deadline.ts';
import { Failures } from '../failures.ts';
import { performHandshake } from '../handshake.ts';
import { addressOf, secretsFor } from '../http/open-remote.ts';
import type { RemoteAddress } from '../http/remote-client.ts';
import { createChangingMask } from '../result-mask.ts';
import { createMask } from '../secrets.ts';
import { ApiClient } from './api-client.ts';
import { ApiTransport, ONLY_READS } from './api-transport.ts';
import { type ApiDescription, type DescribedSource, Description } from './description.ts';
import { createEntrySender, type EgressDefinition, EntryClient } from './entry-sender.ts';
import { HttpTools } from './http-tools.ts';

/** Rejects with `SERVER_START_FAILED`. */
export async function openApi(definition: ApiDefinition, options: ConnectOptions): Promise<ServerConnection> {
  const failures = new Failures(definition);
  const address = addressOf(encoded(definition), options);
  const { description, client, sender } = await partsOf(definition, address, options);
  const traffic = createTraffic(options);
  const deadline = new Deadline(options.startTimeoutMs, options.signal);
  const transport = new ApiTransport({
    url: address.url,
    client,
    description,
    egress: definition.egress,
    onRefused: `Only the user can correct the credential: ${definition.keys === undefined ? '"headers"' : '"headers" or "egress"'} of '${definition.name}' in ${definition.file}.`,
    onDescriptionChanged: options.onToolsChanged,
    name: definition.name,
    logger: options.logger,
    lines: traffic.requests,
    mask: createChangingMask(options.masksSecrets ? secretsFor(encoded(definition), address) : () => []),
    maskText: createMask(encoded(definition)),
    intercept: traffic.intercept,
  });
  traffic.attach(transport);
  try {
    await openDescription(description, definition, deadline);
    const { elicitation } = traffic;
    const sdk = await performHandshake(transport, {
      ...options,
      mode: 'initialize',
      elicitation,
      signal: deadline.signal,
    });
    const connection = await establish(definition, { ...traffic, client: sdk, transport, failures });
    return {
      ...connection,
      ...(sender && { sendEgress: (request) => sender.send(request) }),
      request: (method, params, limits) =>
        connection.request(method, params, limits.isTakenForRead === true ? { ...limits, meta: ONLY_READS } : limits),
      notices: () => description.current.about.notices,
      async close() {
        sender?.close();
        await connection.close();
      },
    };
  } catch (error) {
    await transport.close();
    throw error instanceof BridgeError ? error : failures.noDescription(messageOf(error));
  } finally {
    deadline.clear();
  }
}

/** What the tools come from, and the ways to the API: for its tools, and for requests of code's own. */
async function partsOf(definition: ApiDefinition, address: RemoteAddress, options: ConnectOptions) {
  const { descriptionsDir: folder, egressSeed, logger } = options;
  const sender = hasEgress(definition)
    ? createEntrySender(definition, { ...options, address, seed: await egressSeed?.() })
    : undefined;
  if (isDescribed(definition)) {
    const client = new ApiClient(address);
    return { description: new Description({ definition, client, folder, logger }), client, sender };
  }
  const client = sender === undefined ? new ApiClient(address) : new EntryClient(sender);
  return {
    description: new HttpTools({ host: address.url.host, credential: credentialOf(definition) }, definition.egress),
    client,
    sender,
  };
}

export type ApiDefinition = RemoteDefinition & { readonly api: ApiSource };

function credentialOf({ headers, keys = {}, signing }: ApiDefinition): string {
  const [key] = Object.keys(keys);
  const isAdded = signing !== undefined || Object.keys(headers).length > 0;
  return isAdded || key === undefined
    ? 'The bridge adds the headers of the entry.'
    : `Where the API takes its key, such as in a header, write os.environ[${JSON.stringify(key)}]: the bridge puts the key there.`;
}

function hasEgress(definition: ApiDefinition): definition is ApiDefinition & EgressDefinition {
  return definition.egress !== undefined;
}

function isDescribed(definition: ApiDefinition): definition is ApiDefinition & { readonly api: DescribedSource } {
  return definition.api.kind !== 'http';
}

async function openDescription(description: ApiDescription, { api }: ApiDefinition, deadline: Deadline): Promise<void> {
  const abort = new AbortController();
  deadline.signal.addEventListener('abort', () => abort.abort(), { once: true });
  try {
    await description.open(abort.signal);
  } catch (error) {
    const { timeoutMs } = deadline;
    const late = `${api.description ?? 'the API'} was not read within ${timeoutMs / 1000} s`;
    throw abort.signal.aborted ? new Error(late, { cause: error }) : error;
  }
}

/** `Basic USER:PASSWORD` as it is sent (RFC 7617), which is then a secret as well. Base64 has no colon. */
function encoded(definition: ApiDefinition): ApiDefinition {
  const headers = Object.entries(definition.headers).map(([name, value]): [string, string] => {
    const [, pair] = name.toLowerCase() === 'authorization' ? (/^basic (.*:.*)$/i.exec(value) ?? []) : [];
    return [name, pair === undefined ? value : `Basic ${Buffer.from(pair).toString('base64')}`];
  });
  return { ...definition, headers: Object.fromEntries(headers) };
}
