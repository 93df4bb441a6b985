/** Starts of servers and requests to them: spans, the context in `_meta`, and how long connections last. */
import type { Attributes } from '@opentelemetry/api';
import { RequestError } from '../../core/protocol/server-requests.ts';
import type {
  HandshakeFacts,
  ObservedRequest,
  ObservedServer,
  ObserveServer,
  ServerObserver,
  Watched,
} from '../../edges/upstream/observer.ts';
import { secondsSince, type TelemetryParts } from './cells.ts';
import { ATTRIBUTES, METHODS, SPANS } from './names.ts';
import { type CollectAttributes, type Fault, faultOf, type SpanKind, type Work } from './tracing.ts';

type Parts = Omit<TelemetryParts, 'mask'>;

export function createServerObserver(parts: Parts): ObserveServer {
  return (server) => new Observer(parts, server);
}

class Observer implements ServerObserver {
  readonly #parts: Parts;
  readonly #where: Attributes;
  readonly #network: Attributes;

  constructor(parts: Parts, { name, url }: ObservedServer) {
    this.#parts = parts;
    this.#network = url === undefined ? { [ATTRIBUTES.transport]: 'pipe' } : addressOf(url);
    this.#where = { [ATTRIBUTES.server]: name, ...this.#network };
  }

  async start<Opened extends { readonly exited: Promise<unknown> }>(open: () => Promise<Opened>): Promise<Opened> {
    const { measure } = this.#parts;
    const begun = performance.now();
    const opened = await this.#spanned(SPANS.serverStart, { kind: 'internal', attributes: () => this.#where }, open, {
      onEnd: (fault) =>
        measure('mcp_bridge.server.start.duration', secondsSince(begun), { [ATTRIBUTES.errorType]: fault?.type }),
    });
    const since = performance.now();
    void opened.exited.then(() => measure('mcp.client.session.duration', secondsSince(since)));
    return opened;
  }

  /** Which method it is shows only when the server has answered. */
  async handshake<Value>(describe: (value: Value) => HandshakeFacts, shake: () => Promise<Value>): Promise<Value> {
    const begun = performance.now();
    const identity = { [ATTRIBUTES.method]: 'initialize' };
    let work: Work | undefined;
    const attributes = (): Attributes => ({ ...identity, ...this.#where });
    return this.#spanned('initialize', { kind: 'client', attributes }, shake, {
      onBegin: (begins) => {
        work = begins;
      },
      onValue: (value) => {
        const { method, protocolVersion } = describe(value);
        identity[ATTRIBUTES.method] = method;
        if (work !== undefined) {
          work.name = method;
          work.notes.push(() => ({ ...identity, ...versionOf(protocolVersion) }));
        }
      },
      onEnd: (fault) => this.#measureOperation(identity, begun, fault),
    });
  }

  /** The gates see calls from code, so their spans exist already; lists of tools have their own. */
  request<Value>(request: ObservedRequest, send: (watched: Watched) => Promise<Value>): Promise<Value> {
    const { method, protocolVersion } = request;
    const facts = () => ({ [ATTRIBUTES.method]: method, ...this.#where, ...versionOf(protocolVersion) });
    if (method !== METHODS.listTools) {
      return this.#send(this.#parts.tracing?.current, facts, send);
    }
    const begun = performance.now();
    let work: Work | undefined;
    return this.#spanned(method, { kind: 'client', attributes: facts }, () => this.#send(work, () => ({}), send), {
      onBegin: (begins) => {
        work = begins;
      },
      onEnd: (fault) => this.#measureOperation({ [ATTRIBUTES.method]: method }, begun, fault),
    });
  }

  #send<Value>(
    work: Work | undefined,
    facts: CollectAttributes,
    send: (watched: Watched) => Promise<Value>,
  ): Promise<Value> {
    const { measure, tracing } = this.#parts;
    const running = work?.isOver === false ? work : undefined;
    const onSent =
      running && ((id: number) => running.notes.push(() => ({ ...facts(), [ATTRIBUTES.requestId]: String(id) })));
    return send({ meta: tracing?.fieldsForRequest(), onSent }).then(
      (value) => {
        measure('mcp_bridge.size', bytesOf(value), { [ATTRIBUTES.kind]: 'result' });
        return value;
      },
      (error: unknown) => {
        const code = error instanceof RequestError && error.kind === 'rpc' ? error.code : undefined;
        if (code !== undefined && work !== undefined) {
          work.rpcCode = String(code);
          work.notes.push(() => ({ [ATTRIBUTES.rpcCode]: String(code) }));
        }
        throw error;
      },
    );
  }

  async #spanned<Value>(
    name: string,
    options: { readonly kind: SpanKind; readonly attributes: CollectAttributes },
    run: () => Promise<Value>,
    hooks: {
      readonly onBegin?: (work: Work) => void;
      readonly onValue?: (value: Value) => void;
      readonly onEnd: (fault: Fault | undefined) => void;
    },
  ): Promise<Value> {
    const { tracing } = this.#parts;
    const work = tracing?.begin(name, options);
    if (work !== undefined) {
      hooks.onBegin?.(work);
    }
    const end = (fault?: Fault): void => {
      hooks.onEnd(fault);
      if (work !== undefined) {
        tracing?.end(work, fault);
      }
    };
    try {
      const value = await (work === undefined ? run() : (tracing?.within(work, run) ?? run()));
      hooks.onValue?.(value);
      end();
      return value;
    } catch (error) {
      end(faultOfRequest(error, work));
      throw error;
    }
  }

  #measureOperation(identity: Readonly<Record<string, string>>, begun: number, fault: Fault | undefined): void {
    const attributes = { ...identity, [ATTRIBUTES.errorType]: fault?.type };
    this.#parts.measure('mcp.client.operation.duration', secondsSince(begun), attributes);
  }
}

function faultOfRequest(error: unknown, work: Work | undefined): Fault {
  if (error instanceof RequestError) {
    return { type: work?.rpcCode ?? error.kind, text: error.message };
  }
  return faultOf(error);
}

function versionOf(version: string | undefined): Attributes {
  return version === undefined ? {} : { [ATTRIBUTES.protocolVersion]: version };
}

/** Without path and query, which may be secret. Nothing of a URL that still has references. */
function addressOf(url: string): Attributes {
  const known = { [ATTRIBUTES.transport]: 'tcp', [ATTRIBUTES.networkProtocol]: 'http' };
  if (!URL.canParse(url)) {
    return known;
  }
  const { hostname, port, protocol } = new URL(url);
  return {
    ...known,
    [ATTRIBUTES.serverAddress]: hostname,
    [ATTRIBUTES.serverPort]: port === '' ? (protocol === 'https:' ? 443 : 80) : Number(port),
  };
}

/** Of an answer, as `Requests` gives it, or of a line. */
function bytesOf(value: unknown): number {
  if (Buffer.isBuffer(value)) {
    return value.length;
  }
  const bytes: unknown = Object(value)['bytes'];
  return typeof bytes === 'number' ? bytes : 0;
}
