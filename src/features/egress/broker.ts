/**
 * Judges the requests that code sends itself. A request to a host of an entry is a call of the tool for its method (`stripe.post`), so
 * policies, approvals, limits and records are those of every call. To any other host, a person must allow it first.
 */
import { isEgressMethod, NO_ENTRY } from '../../core/base/egress.ts';
import type { EgressAnswer, EgressRequest, HandleEgress } from '../../core/base/egress-exchange.ts';
import { BridgeError } from '../../core/base/errors.ts';
import { COMMAND } from '../../core/base/package.ts';
import type { CalledTool } from '../../core/calls/contract.ts';
import type { FindCallable } from '../../core/calls/method.ts';
import type { CallPipeline } from '../../core/calls/pipeline.ts';
import type { CatalogServer } from '../../core/catalog/known.ts';
import { toIdentifier } from '../../core/catalog/names.ts';
import type { ServerDirectory } from '../../core/directory/server-directory.ts';
import type { CallContext } from '../../core/session/dispatch.ts';
import type { EgressByServer } from '../../edges/upstream/pool.ts';
import { argumentsOf, peek } from './request-as-call.ts';

export interface EgressOptions {
  readonly directory: Pick<ServerDirectory, 'findToolToCall'>;
  readonly findCallable: FindCallable;
  readonly calls: CallPipeline;
  /** What the entries allow, and the way to their APIs. */
  readonly servers: {
    readonly egress: () => EgressByServer;
    readonly sendEgress: (server: string, request: EgressRequest) => Promise<EgressAnswer>;
  };
  /** Sends a request without any credential, and not to a private network. */
  readonly sendPlain: HandleEgress;
  /** Why no other host than those of entries can be reached, in one clause; undefined if a person decides. */
  readonly whyNoOther: string | undefined;
  /** Why nothing may be sent, in one clause; undefined if it may. */
  readonly whyNot: string | undefined;
}

/** Where a request goes. */
interface Target {
  readonly server: CatalogServer;
  readonly tool: CalledTool;
  /** The origin whose addresses are shown as paths; undefined for a host without an entry. */
  readonly origin: string | undefined;
  readonly send: HandleEgress;
}

export class EgressBroker {
  readonly #options: EgressOptions;
  readonly #unlisted = new WeakMap<object, Map<string, CalledTool>>();
  /** Requests without an answer, by sandbox. */
  readonly #running = new WeakMap<object, number>();

  constructor(options: EgressOptions) {
    this.#options = options;
  }

  /** Sends a request if it is allowed. Rejects with a `BridgeError` that says why it was not, or why it failed. */
  async handle(request: EgressRequest, context: CallContext): Promise<EgressAnswer> {
    const { whyNot } = this.#options;
    if (whyNot !== undefined) {
      throw new BridgeError('CALL_REFUSED', `${request.method} ${request.url.host} was not sent: ${whyNot}`);
    }
    const override = request.headers.find(([name]) => OVERRIDE.test(name));
    if (override !== undefined) {
      throw new BridgeError(
        'HTTP_REFUSED',
        `${request.method} ${request.url.host} was not sent: it has the header ${override[0]}`,
        {
          hint: 'Send the request with the method itself.',
        },
      );
    }
    return this.#counted(context.sandbox ?? this, () => this.#judge(request, context));
  }

  async #counted(key: object, handle: () => Promise<EgressAnswer>): Promise<EgressAnswer> {
    const running = this.#running.get(key) ?? 0;
    if (running >= MAX_AT_ONCE) {
      throw new BridgeError(
        'LIMIT_CALLS',
        `${MAX_AT_ONCE} requests of this session have no answer yet, which is the limit`,
        {
          hint: 'Send fewer at once.',
        },
      );
    }
    this.#running.set(key, running + 1);
    try {
      return await handle();
    } finally {
      this.#running.set(key, (this.#running.get(key) ?? 1) - 1);
    }
  }

  async #judge(request: EgressRequest, context: CallContext): Promise<EgressAnswer> {
    const target = await this.#targetOf(request, context);
    const peeked = await peek(request);
    const { origin, server, tool } = target;
    const signals = new BothSignals(request.signal, context.signal);
    let answer: EgressAnswer | undefined;
    const send = async () => {
      answer = await target.send({ ...request, body: peeked.body, signal: signals.signal });
      return summaryOf(answer);
    };
    try {
      // A question about it ends with the connection, too.
      const own = { ...context, signal: signals.signal };
      const call = { server, tool, arguments: argumentsOf(request, origin, peeked), context: own };
      await this.#options.calls.make(call, send);
    } catch (error) {
      signals.end();
      discard(answer);
      throw error;
    }
    if (answer === undefined) {
      signals.end();
      throw new BridgeError('CALL_REFUSED', `${request.method} ${request.url.host} was not sent: this is a dry run`);
    }
    signals.endWith(answer.body);
    return answer;
  }

  async #targetOf(request: EgressRequest, context: CallContext): Promise<Target> {
    const { method, url } = request;
    const { directory, findCallable, servers } = this.#options;
    const found = [...servers.egress()]
      .map(([name, entry]) => ({ name, ...entry, fit: entry.rules.fit(url) }))
      .filter(({ fit }) => fit > 0)
      .map((entry) => ({ ...entry, refusal: entry.rules.refusal(method, url) }))
      // Of entries for one host, that which allows the request; of those, the first.
      .toSorted((a, b) => Number(a.refusal !== undefined) - Number(b.refusal !== undefined) || b.fit - a.fit)
      .at(0);
    if (found === undefined) {
      return this.#withoutEntry(request, context);
    }
    const { hasTools, name, refusal, rules } = found;
    if (refusal !== undefined) {
      const what = `${method} ${url.host}${url.pathname} was not sent: the entry '${name}' allows code to reach this host, but ${refusal}`;
      throw new BridgeError('POLICY_DENIED', what, {
        hint: `Only the user can change "egress" of '${name}'. Continue without this request, or tell the user what you need it for.`,
      });
    }
    const server = await findCallable(name, context);
    const toolName = toolFor(request);
    // Tools of a description may have any name.
    const tool = hasTools
      ? await directory.findToolToCall(server, toolName, context.signal)
      : this.#ownTool(context, name, toolName);
    return { server, tool, origin: rules.origin, send: (sent) => servers.sendEgress(name, sent) };
  }

  /** A host without an entry: what it is called for people and policies is its address, and a person is asked. */
  #withoutEntry(request: EgressRequest, context: CallContext): Target {
    const { method, url } = request;
    const why = this.#options.whyNoOther ?? (isEgressMethod(method) ? undefined : 'this method is not passed on');
    if (why !== undefined) {
      throw new BridgeError(
        'POLICY_DENIED',
        `${method} ${url.host} was not sent: no entry allows this host, and ${why}`,
        {
          hint: `Only the user can allow it: ${COMMAND} servers add NAME --egress ${url.origin}`,
        },
      );
    }
    // The scheme is part of it: who allows a host with TLS has not allowed it without.
    const name = url.origin;
    const tool = this.#ownTool(context, name, toolFor(request));
    const server = { name, alias: toIdentifier(name), description: '', least: askFor(url.host) };
    return { server, tool, origin: undefined, send: this.#options.sendPlain };
  }

  /** Policies remember what they have decided by the tool, so it is the same for a host as long as the sandbox lives. */
  #ownTool({ sandbox }: CallContext, server: string, name: string): CalledTool {
    const key = sandbox ?? this;
    const tools = this.#unlisted.get(key) ?? new Map<string, CalledTool>();
    this.#unlisted.set(key, tools);
    const id = `${name} ${server}`;
    const isReading = READING.test(name);
    const annotations = { readOnlyHint: isReading, destructiveHint: !isReading };
    const tool = tools.get(id) ?? { name, alias: toIdentifier(name), inputSchema: {}, annotations };
    if (tools.size < MAX_UNLISTED) {
      tools.set(id, tool);
    }
    return tool;
  }
}

const READING = /^(?:get|head|options)$/;
/** Headers with which a server takes a request for one of another method. */
const OVERRIDE = /^x-(?:http-)?method(?:-override)?$/i;
/** Operations of the query APIs of AWS that only read. */
const READING_ACTION = /^(?:Get|List|Describe|Head|Lookup|Search|Query|Scan|BatchGet)/;
/** Requests of one sandbox at once, as many as it has streams. */
const MAX_AT_ONCE = 64;

/** The tool for a request: that for its method, unless it is known to do more. */
function toolFor({ method, url }: EgressRequest): string {
  const action = url.searchParams.get('Action');
  const isAws = /(?:^|\.)amazonaws\.com(?:\.cn)?$/.test(url.hostname);
  return isAws && action !== null && !READING_ACTION.test(action) ? 'post' : method.toLowerCase();
}

/** Hosts without an entry that are remembered for each sandbox. Chosen. */
const MAX_UNLISTED = 1_000;

function askFor(host: string) {
  return { effect: 'ask', reason: `${NO_ENTRY} ${host} ("egress")` } as const;
}

/** What records keep of an answer, as the result of a call. */
function summaryOf({ headers, reason, status }: EgressAnswer) {
  const type = headers.find(([name]) => name.toLowerCase() === 'content-type')?.[1] ?? '';
  const text = `HTTP ${status} ${reason ?? ''} ${type}`.replaceAll(/ +/g, ' ').trim();
  return { content: [{ type: 'text', text }], ...(status >= 400 && { isError: true }) };
}

function discard(answer: EgressAnswer | undefined): void {
  if (answer !== undefined && !Buffer.isBuffer(answer.body)) {
    answer.body.on('error', () => undefined).destroy();
  }
}

/** A signal that aborts when the connection of the sandbox or the cell does, until the answer has been read. */
class BothSignals {
  readonly #controller = new AbortController();
  readonly #sources: readonly (EgressRequest['signal'] | CallContext['signal'])[];
  readonly #abort = (): void => this.#controller.abort();

  constructor(...sources: readonly (EgressRequest['signal'] | CallContext['signal'])[]) {
    this.#sources = sources;
    for (const source of sources) {
      source.addEventListener('abort', this.#abort, { once: true });
      if (source.aborted) {
        this.#abort();
      }
    }
  }

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  endWith(body: EgressAnswer['body']): void {
    if (Buffer.isBuffer(body)) {
      this.end();
      return;
    }
    body.once('close', () => this.end());
    // What aborts has nobody to tell.
    this.signal.addEventListener('abort', () => body.destroy(), { once: true });
  }

  end(): void {
    for (const source of this.#sources) {
      source.removeEventListener('abort', this.#abort);
    }
  }
}
