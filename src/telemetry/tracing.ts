/**
 * Spans and which of them the code that runs belongs to. Asynchronous work finds its span by itself (`AsyncLocalStorage`); calls from a
 * sandbox arrive on a pipe, so they are brought back to their cell by hand (`cells.ts`).
 */
import { AsyncLocalStorage } from 'node:async_hooks';
import type { Attributes, SpanContext } from '@opentelemetry/api';
import { toBridgeError } from '../base/errors.ts';
import type { Later } from './later.ts';
import { ATTRIBUTES } from './names.ts';
import { type RemoteContext, SAMPLED, writeTraceFields } from './trace-fields.ts';

export type SpanKind = 'internal' | 'server' | 'client';

/** Called after the answer, which does not wait for them. None of the samplers that can be chosen looks at them. */
export type CollectAttributes = () => Attributes;

/** Where a span is in its trace. */
interface SpanPlace {
  readonly kind: SpanKind;
  readonly parent: SpanContext | undefined;
  readonly links: readonly SpanContext[];
}

/** How a piece of work ended. */
interface SpanEnd {
  /** In ms of `performance.now()`. */
  readonly at: number;
  /** Undefined if the work succeeded. */
  readonly failure: { readonly message: string | undefined; readonly attributes: Attributes } | undefined;
}

/** Makes spans: the part of OpenTelemetry's SDK that is needed here. */
export interface SpanSource {
  /** Chooses the ids of a span, and by its flags whether it will be recorded. */
  open(name: string, place: SpanPlace): SpanContext;
  record(work: Work, end: SpanEnd): void;
}

/** A piece of work, of which a span is made when it is over. */
export interface Work extends SpanPlace {
  /** Of the span. May be corrected. */
  name: string;
  readonly context: SpanContext;
  /** In ms of `performance.now()`. */
  readonly begun: number;
  /** Later ones win. */
  readonly notes: CollectAttributes[];
  /** Of the client's request; servers get it too. */
  readonly baggage: string | undefined;
  /** What ended late or was started by it links to it instead of being below it. */
  isOver: boolean;
  /** Code of a JSON-RPC error that its request got. */
  rpcCode: string | undefined;
}

interface Begin {
  readonly kind?: SpanKind;
  readonly attributes?: CollectAttributes;
  /** Undefined for the work that the running code belongs to. */
  readonly remote?: RemoteContext;
  readonly link?: SpanContext | undefined;
}

const NO_LINKS: readonly SpanContext[] = [];

/** How a piece of work failed. */
export interface Fault {
  /** A value of `error.type`. */
  readonly type: string;
  /** Code of a `BridgeError`. */
  readonly code?: string | undefined;
  /** A text that may come from a server or from code. */
  readonly text?: string | undefined;
}

export class Tracing {
  /** Whether spans may have code, arguments, results and texts of errors. */
  readonly showsContent: boolean;
  readonly #source: SpanSource;
  readonly #later: Later;
  readonly #current = new AsyncLocalStorage<Work>();

  constructor(source: SpanSource, { later, showsContent }: { readonly later: Later; readonly showsContent: boolean }) {
    this.#source = source;
    this.#later = later;
    this.showsContent = showsContent;
  }

  // Written out, and without lists that stay empty, because cells and calls wait for it.
  begin(name: string, { kind = 'internal', attributes, remote, link }: Begin = {}): Work {
    const above = remote === undefined ? this.#current.getStore() : undefined;
    const parent = remote === undefined ? (above?.isOver === false ? above.context : undefined) : remote.parent;
    const origin = above?.isOver === true ? above.context : link;
    const links = origin === undefined ? NO_LINKS : [origin];
    return {
      kind,
      parent,
      links,
      name,
      context: this.#source.open(name, { kind, parent, links }),
      begun: performance.now(),
      notes: attributes === undefined ? [] : [attributes],
      baggage: remote === undefined ? above?.baggage : remote.baggage,
      isOver: false,
      rpcCode: undefined,
    };
  }

  /** The work that the running code belongs to, even if it is over. */
  get current(): Work | undefined {
    return this.#current.getStore();
  }

  /** Runs `run`, and all asynchronous work that it begins, as part of a piece of work. */
  within<Value>(work: Work, run: () => Value): Value {
    return this.#current.run(work, run);
  }

  end(work: Work, fault?: Fault, attributes?: CollectAttributes): void {
    if (work.isOver) {
      return;
    }
    work.isOver = true;
    if ((work.context.traceFlags & SAMPLED) === 0) {
      return;
    }
    const at = performance.now();
    if (attributes !== undefined) {
      work.notes.push(attributes);
    }
    const text = this.showsContent ? fault?.text : undefined;
    this.#later.do(() => {
      const failure = fault && { message: text && shortened(text), attributes: attributesOf(fault) };
      this.#source.record(work, { at, failure });
    });
  }

  /** The fields of `_meta` for a request that belongs to the running code. */
  fieldsForRequest(): Record<string, string> | undefined {
    const work = this.#current.getStore();
    return work && writeTraceFields(work.context, work.baggage);
  }
}

function attributesOf({ code, type }: Fault): Attributes {
  return { [ATTRIBUTES.errorType]: type, ...(code !== undefined && { [ATTRIBUTES.errorCode]: code }) };
}

/** Of a text in a span. Chosen: collectors refuse large messages. */
const MAX_CONTENT_CHARS = 8192;

export function shortened(text: string): string {
  return text.length > MAX_CONTENT_CHARS ? `${text.slice(0, MAX_CONTENT_CHARS).toWellFormed()}…` : text;
}

export function faultOf(error: unknown): Fault {
  const { code, message } = toBridgeError(error);
  return { type: code, code, text: message };
}
