/** Opens the connection to an API: reads what describes it, and nothing is sent to the API itself. */
import { BridgeError, messageOf } from '../../../core/base/errors.ts';
import type { ApiSource, RemoteDefinition } from '../../../core/base/server-definition.ts';
import { type ConnectOptions, createTraffic, establish, type ServerConnection } from '../connection.ts';
import { Deadline } from '../deadline.ts';
import { Failures } from '../failures.ts';
import { performHandshake } from '../handshake.ts';
import { addressOf, secretsFor } from '../http/open-remote.ts';
import { createChangingMask } from '../result-mask.ts';
import { createMask } from '../secrets.ts';
import { ApiClient } from './api-client.ts';
import { ApiTransport, ONLY_READS } from './api-transport.ts';
import { Description } from './description.ts';

/** Rejects with `SERVER_START_FAILED`. */
export async function openApi(definition: ApiDefinition, options: ConnectOptions): Promise<ServerConnection> {
  const failures = new Failures(definition);
  const address = addressOf(encoded(definition), options);
  const client = new ApiClient(address);
  const { descriptionsDir: folder, logger } = options;
  const description = new Description({ definition, client, folder, logger });
  const traffic = createTraffic(options);
  const deadline = new Deadline(options.startTimeoutMs, options.signal);
  const transport = new ApiTransport({
    url: address.url,
    client,
    description,
    onRefused: `Only the user can correct the credential: "headers" of '${definition.name}' in ${definition.file}.`,
    onDescriptionChanged: options.onToolsChanged,
    name: definition.name,
    logger,
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
      request: (method, params, limits) =>
        connection.request(method, params, limits.isTakenForRead === true ? { ...limits, meta: ONLY_READS } : limits),
      notices: () => description.current.about.notices,
    };
  } catch (error) {
    await transport.close();
    throw error instanceof BridgeError ? error : failures.noDescription(messageOf(error));
  } finally {
    deadline.clear();
  }
}

export type ApiDefinition = RemoteDefinition & { readonly api: ApiSource };

async function openDescription(description: Description, { api }: ApiDefinition, deadline: Deadline): Promise<void> {
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
