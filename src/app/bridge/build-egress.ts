/** The way of the requests that code sends itself: from the streams of a sandbox, through the gates, to the API. */
import type { Duplex } from 'node:stream';
import type { HandleEgress } from '../../core/base/egress-exchange.ts';
import { messageOf } from '../../core/base/errors.ts';
import { placeholderFor } from '../../core/base/placeholder.ts';
import { createFindCallable } from '../../core/calls/method.ts';
import type { CallPipeline } from '../../core/calls/pipeline.ts';
import type { HelloFrame } from '../../core/protocol/frames.ts';
import type { RunForEgress } from '../../core/session/dispatch.ts';
import type { EgressAuthority } from '../../edges/egress-proxy/authority.ts';
import type { EgressFront } from '../../edges/egress-proxy/front.ts';
import type { EgressSender } from '../../edges/upstream/egress/sender.ts';
import { publicAddress } from '../../edges/upstream/http/addresses.ts';
import { proxiesOf } from '../../edges/upstream/http/proxies.ts';
import type { EgressByServer } from '../../edges/upstream/pool.ts';
import { EgressBroker } from '../../features/egress/index.ts';
import type { Basis } from './basis.ts';
import { openEgressAuthority } from './egress-authority.ts';
import type { ServersToCall } from './replayed-servers.ts';

export interface Egress {
  readonly broker: EgressBroker;
  readonly ofSessions: {
    /** The part of the greeting of a sandbox; undefined if code cannot send requests. Never rejects. */
    readonly egress: () => Promise<HelloFrame['egress']>;
    readonly onEgress: (stream: Duplex, run: RunForEgress) => void;
  };
}

/** Loads what it needs at the first use. */
export function buildEgress(basis: Basis, servers: ServersToCall, calls: CallPipeline): Egress {
  const { logger, settings } = basis;
  const { known, pool } = servers;
  const whyNot = whyNothing(basis);
  /** Not those that this principal or profile does not have. */
  const entries = () => {
    const names = new Set(servers.refresh().map(({ name }) => name));
    return new Map([...(pool.egress?.() ?? [])].filter(([name]) => names.has(name)));
  };
  const broker = new EgressBroker({
    calls,
    directory: known,
    // The user has allowed code to reach the host: whoever only uses a library does not know that it is a server.
    findCallable: createFindCallable(known, true),
    servers: { egress: entries, sendEgress: async (...sent) => pool.sendEgress?.(...sent) ?? never() },
    sendPlain: createPlainSender(),
    whyNoOther: whyNoOther(basis),
    whyNot,
  });
  const fronts = new WeakMap<RunForEgress, Promise<EgressFront>>();
  const openFront = async (run: RunForEgress): Promise<EgressFront> => {
    const { EgressFront: Front } = await import('../../edges/egress-proxy/front.ts');
    const handle: HandleEgress = (request) => run((context) => broker.handle(request, context));
    return new Front({ authority: await openEgressAuthority(settings.stateDir), handle, logger });
  };
  const ofSessions: Egress['ofSessions'] = {
    async egress() {
      try {
        const open = () => openEgressAuthority(settings.stateDir);
        return whyNot === undefined ? greetingOf(await open(), entries()) : undefined;
      } catch (error) {
        logger.warning(`Code cannot send requests: ${messageOf(error)}`);
        return undefined;
      }
    },
    onEgress(stream, run) {
      const front = fronts.get(run) ?? openFront(run);
      fronts.set(run, front);
      front.then(
        (ready) => ready.accept(stream),
        () => stream.destroy(),
      );
    },
  };
  return { broker, ofSessions };
}

function whyNothing({ options, settings }: Basis): string | undefined {
  return settings.egress === 'off'
    ? 'MCP_BRIDGE_EGRESS is off'
    : options.replay === undefined
      ? undefined
      : 'a recording is replayed';
}

/** Whoever is not at this machine must not reach the internet from it because they say so themselves. */
function whyNoOther({ options, settings }: Basis): string | undefined {
  if (settings.egress === 'entries') {
    return 'MCP_BRIDGE_EGRESS is entries';
  }
  if (settings.profile !== undefined) {
    return `the profile '${settings.profile}' does not have it`;
  }
  return options.principal?.name === undefined ? undefined : 'over HTTP, only those of entries can be reached';
}

function greetingOf({ certificate, seed }: EgressAuthority, entries: EgressByServer): HelloFrame['egress'] {
  const keys = new Map<string, string>();
  for (const [server, { keys: names, rules }] of entries) {
    // Of two entries for one variable, the first, as of two for one host.
    for (const name of names.filter((one) => !keys.has(one))) {
      keys.set(name, placeholderFor(seed, { server, name, prefix: rules.source.prefixes[name] }));
    }
  }
  return { certificate, keys: Object.fromEntries(keys) };
}

/** Sends without a credential, and only to the internet. */
function createPlainSender(): HandleEgress {
  let sender: Promise<EgressSender> | undefined;
  return async (request) => {
    sender ??= import('../../edges/upstream/egress/sender.ts').then(
      ({ EgressSender: Sender }) =>
        new Sender({
          headers: {},
          keys: [],
          proxies: proxiesOf(process.env),
          rule: publicAddress,
          masksSecrets: false,
        }),
    );
    return (await sender).send(request);
  };
}

function never(): never {
  throw new Error('there are no servers');
}
