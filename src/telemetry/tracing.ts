/**
 * Spans and which of them the code that runs belongs to. Asynchronous work finds its span by itself (`AsyncLocalStorage`); calls from a
 * sandbox arrive on a pipe, so they are brought back to their cell by hand (`cells.ts`).
 */
import { AsyncLocalStorage } from 'node:async_hooks';
import type { Attributes, Span, SpanContext } from '@opentelemetry/api';
import { toBridgeError } from '../base/errors.ts';
import { ATTRIBUTES } from './names.ts';
import { type RemoteContext, writeTraceFields } from './trace-fields.ts';

export type SpanKind = 'internal' | 'server' | 'client';

interface SpanStart {
  readonly kind: SpanKind;
  readonly attributes: Attributes;
  readonly parent: SpanContext | undefined;
  readonly links: readonly SpanContext[];
}

/** Makes spans: the part of OpenTelemetry's SDK that is needed here. */
export interface SpanSource {
  start(name: string, options: SpanStart): Span;
  /** Marks a span as failed. */
  fail(span: Span, message: string | undefined): void;
}

/** A piece of work with its span. */
export interface Work {
  readonly span: Span;
  /** Of the client's request; servers get it too. */
  readonly baggage: string | undefined;
  /** What ended late or was started by it links to it instead of being below it. */
  isOver: boolean;
  /** Code of a JSON-RPC error that its request got. */
  rpcCode?: string | undefined;
}

interface Begin {
  readonly kind?: SpanKind;
  readonly attributes?: Attributes;
  /** Undefined for the work that the running code belongs to. */
  readonly remote?: RemoteContext;
  readonly links?: readonly (SpanContext | undefined)[];
}

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
  readonly #current = new AsyncLocalStorage<Work>();

  constructor(source: SpanSource, { showsContent }: { readonly showsContent: boolean }) {
    this.#source = source;
    this.showsContent = showsContent;
  }

  begin(name: string, { kind = 'internal', attributes = {}, remote, links = [] }: Begin = {}): Work {
    const above = remote === undefined ? this.#current.getStore() : undefined;
    const context = above?.span.spanContext();
    const parent = remote === undefined ? (above?.isOver === false ? context : undefined) : remote.parent;
    const origin = above?.isOver === true ? context : undefined;
    const linked = [origin, ...links].filter((link) => link !== undefined);
    const span = this.#source.start(name, { kind, attributes, parent, links: linked });
    return { span, baggage: remote === undefined ? above?.baggage : remote.baggage, isOver: false };
  }

  /** The work that the running code belongs to, even if it is over. */
  get current(): Work | undefined {
    return this.#current.getStore();
  }

  /** Runs `run`, and all asynchronous work that it begins, as part of a piece of work. */
  within<Value>(work: Work, run: () => Value): Value {
    return this.#current.run(work, run);
  }

  end(work: Work, fault?: Fault, attributes: Attributes = {}): void {
    if (work.isOver) {
      return;
    }
    work.isOver = true;
    const { span } = work;
    span.setAttributes(attributes);
    if (fault !== undefined) {
      span.setAttributes({
        [ATTRIBUTES.errorType]: fault.type,
        ...(fault.code !== undefined && { [ATTRIBUTES.errorCode]: fault.code }),
      });
      const message = this.showsContent ? fault.text : undefined;
      this.#source.fail(span, message && shortened(message));
    }
    span.end();
  }

  /** The fields of `_meta` for a request that belongs to the running code. */
  fieldsForRequest(): Record<string, string> | undefined {
    const work = this.#current.getStore();
    return work && writeTraceFields(work.span.spanContext(), work.baggage);
  }
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
