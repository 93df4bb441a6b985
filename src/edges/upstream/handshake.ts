/** The MCP handshake, done by the SDK's client: `initialize` up to 2025-11-25, `server/discover` since 2026-07-28. */
import type { Client, ClientCapabilities, Transport } from '@modelcontextprotocol/client';
import { type CancelSignal, unlessAborted } from '../../core/base/cancel.ts';
import { messageOf } from '../../core/base/errors.ts';
import type { JsonObject } from '../../core/base/is-object.ts';
import type { Logger } from '../../core/base/log.ts';
import { VERSION } from '../../core/base/package.ts';
import type { HandshakeFacts, ServerObserver } from './observer.ts';
import { TASKS_EXTENSION } from './server-tasks.ts';

const CLIENT_INFO = { name: 'mcp-server-code-execution-mode', version: VERSION };
/**
 * A server that does not know `server/discover` returns an error at once. One that stays silent for this long is sent
 * `initialize`. Chosen; none of 31 real servers stayed silent.
 */
export const PROBE_TIMEOUT_MS = 5_000;

/**
 * How to find out which handshake a server speaks. `probe`: send `server/discover`, and `initialize` after an error or the
 * probe timeout. `initialize`: for servers that exit when they receive anything else. `patient`: wait for the answer to
 * `server/discover` as long as a start may take, for slow servers that speak only 2026-07-28.
 */
export type HandshakeMode = 'probe' | 'initialize' | 'patient';

export interface HandshakeOptions {
  readonly mode: HandshakeMode;
  readonly probeTimeoutMs: number;
  readonly startTimeoutMs: number;
  /** Ends the wait; the caller closes the transport. */
  readonly signal: CancelSignal;
  readonly logger: Logger;
  readonly elicitation: ElicitationOffer;
  readonly observer?: ServerObserver | undefined;
}

/** Which questions the server may ask the person; undefined if no one can be asked. */
export type ElicitationOffer = { readonly form: JsonObject; readonly url?: JsonObject } | undefined;

/** Connects the SDK's client. It offers elicitation at most: no sampling, no roots. Rejects as the SDK does. */
export async function performHandshake(transport: Transport, options: HandshakeOptions): Promise<Client> {
  const { mode, probeTimeoutMs, startTimeoutMs, signal, logger, elicitation, observer } = options;
  const sdk = await import('@modelcontextprotocol/client');
  const client = new sdk.Client(CLIENT_INFO, {
    capabilities: capabilitiesWith(elicitation),
    inputRequired: { autoFulfill: false },
    versionNegotiation: {
      mode: 'auto',
      probe: { timeoutMs: mode === 'patient' ? startTimeoutMs : probeTimeoutMs },
    },
  });
  client.onerror = (error) => logger.debug(`MCP client: ${messageOf(error)}`);
  const prior = mode === 'initialize' ? { prior: { kind: 'legacy' as const } } : {};
  const connect = async (): Promise<Client> => {
    await unlessAborted(client.connect(transport, { timeout: startTimeoutMs, ...prior }), signal);
    return client;
  };
  return observer?.handshake(describeHandshake, connect) ?? connect();
}

function describeHandshake(client: Client): HandshakeFacts {
  return {
    method: client.getProtocolEra() === 'modern' ? 'server/discover' : 'initialize',
    protocolVersion: client.getNegotiatedProtocolVersion(),
  };
}

/** The `_meta` that each message on this connection needs; undefined before 2026-07-28. */
export async function envelopeOf(client: Client, elicitation: ElicitationOffer): Promise<JsonObject | undefined> {
  if (client.getProtocolEra() !== 'modern') {
    return undefined;
  }
  const sdk = await import('@modelcontextprotocol/client');
  return {
    [sdk.PROTOCOL_VERSION_META_KEY]: client.getNegotiatedProtocolVersion(),
    [sdk.CLIENT_INFO_META_KEY]: CLIENT_INFO,
    // With the extension, a call of a tool may be answered with a task.
    [sdk.CLIENT_CAPABILITIES_META_KEY]: { ...capabilitiesWith(elicitation), extensions: { [TASKS_EXTENSION]: {} } },
  };
}

function capabilitiesWith(elicitation: ElicitationOffer): ClientCapabilities {
  return elicitation === undefined ? {} : { elicitation: { ...elicitation } as ClientCapabilities['elicitation'] };
}

/** The JSON Schema validator in the SDK's bundle, so that the package ships it only once. */
export async function loadAjv() {
  const { Ajv } = await import('@modelcontextprotocol/client/validators/ajv');
  return Ajv;
}

/** Loads the SDK's client, which saves the first call 90 ms. Starts nothing. */
export async function preloadClient(): Promise<void> {
  await import('@modelcontextprotocol/client');
}
