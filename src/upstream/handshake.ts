/** The start of an MCP connection in either protocol era, done by the SDK's client. */
import type { Client, ClientCapabilities } from '@modelcontextprotocol/client';
import type { CancelSignal } from '../base/cancel.ts';
import { messageOf } from '../base/errors.ts';
import type { JsonObject } from '../base/is-object.ts';
import type { Logger } from '../base/log.ts';
import { VERSION } from '../base/package.ts';
import { unlessAborted } from './deadline.ts';
import type { ElicitationOffer } from './elicit.ts';
import type { ServerTransport } from './transport.ts';

const CLIENT_INFO = { name: 'mcp-server-code-execution-mode', version: VERSION };
/**
 * A server that does not know `server/discover` answers with an error at once; one that stays silent is asked to
 * `initialize` after this long. Chosen; of 31 real servers none stayed silent.
 */
export const PROBE_TIMEOUT_MS = 5_000;

/**
 * How to learn the era of a server. `probe`: ask for `server/discover`, and `initialize` after an error or a while.
 * `initialize`: for servers that end when asked for anything else. `patient`: wait for the answer to `server/discover`
 * as long as a start may take, for servers that are slow to start and know nothing else.
 */
export type HandshakeMode = 'probe' | 'initialize' | 'patient';

export interface HandshakeOptions {
  readonly mode: HandshakeMode;
  readonly probeTimeoutMs: number;
  readonly startTimeoutMs: number;
  /** Ends the wait; the transport is left to the caller. */
  readonly signal: CancelSignal;
  readonly logger: Logger;
  /** What the server may ask the person. */
  readonly elicitation: ElicitationOffer;
}

/** Connects a client to a server. Offers questions to the person at most: no sampling, no roots. Rejects as the SDK does. */
export async function shakeHands(transport: ServerTransport, options: HandshakeOptions): Promise<Client> {
  const { mode, probeTimeoutMs, startTimeoutMs, signal, logger, elicitation } = options;
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
  await unlessAborted(client.connect(transport, { timeout: startTimeoutMs, ...prior }), signal);
  return client;
}

/** `_meta` that every message needs on this connection: from 2026-07-28 on it says who speaks which version. */
export async function envelopeOf(client: Client, elicitation: ElicitationOffer): Promise<JsonObject | undefined> {
  if (client.getProtocolEra() !== 'modern') {
    return undefined;
  }
  const sdk = await import('@modelcontextprotocol/client');
  return {
    [sdk.PROTOCOL_VERSION_META_KEY]: client.getNegotiatedProtocolVersion(),
    [sdk.CLIENT_INFO_META_KEY]: CLIENT_INFO,
    [sdk.CLIENT_CAPABILITIES_META_KEY]: capabilitiesWith(elicitation),
  };
}

function capabilitiesWith(elicitation: ElicitationOffer): ClientCapabilities {
  return elicitation === undefined ? {} : { elicitation: { ...elicitation } as ClientCapabilities['elicitation'] };
}

/** Loads the client half of the SDK, 90 ms that the first call need not wait for. Starts nothing. */
export async function preloadClient(): Promise<void> {
  await import('@modelcontextprotocol/client');
}
