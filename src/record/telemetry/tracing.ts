/**
 * Spans and which of them the code that runs belongs to. Asynchronous work finds its span by itself (`async-context.ts`); calls from a
 * sandbox arrive on a pipe, so they are brought back to their cell by hand (`cells.ts`).
 */
import type { Attributes, SpanContext } from '@opentelemetry/api';
import { toBridgeError } from '../../core/base/errors.ts';
import { createAsyncContext } from './async-context.ts';
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

/** Where the ids of a piece of work come from. */
interface WorkOrigin {
  readonly source: SpanSource;
  readonly kind: SpanKind;
  /** The work that began it. */
  readonly above: Work | undefined;
  readonly remote: RemoteContext | undefined;
  readonly link: SpanContext | undefined;
}

const NO_LINKS: readonly SpanContext[] = [];

/** A piece of work, of which a span is made when it is over. */
export class Work implements SpanPlace {
  /** Of the span. May be corrected. */
  name: string;
  /** In ms of `performance.now()`. */
  readonly begun = performance.now();
  /** Later ones win. */
  readonly notes: CollectAttributes[] = [];
  /** What ended late or was started by it links to it instead of being below it. */
  isOver: boolean;
  /** Code of a JSON-RPC error that its request got. */
  rpcCode: string | undefined;
  readonly #origin: WorkOrigin;
  readonly #isLate: boolean;
  #context: SpanContext | undefined;

  constructor(name: string, origin: WorkOrigin, isOver = false) {
    this.name = name;
    this.isOver = isOver;
    this.#origin = origin;
    this.#isLate = origin.above?.isOver === true;
  }

  get kind(): SpanKind {
    return this.#origin.kind;
  }

  /** Chosen on first use, which is often after the answer: no one needs the ids of a trivial cell before. */
  get context(): SpanContext {
    this.#context ??= this.#origin.source.open(this.name, this);
    return this.#context;
  }

  get parent(): SpanContext | undefined {
    const { above, remote } = this.#origin;
    return above === undefined ? remote?.parent : this.#isLate ? undefined : above.context;
  }

  get links(): readonly SpanContext[] {
    const { above, link } = this.#origin;
    const origin = this.#isLate ? above?.context : link;
    return origin === undefined ? NO_LINKS : [origin];
  }

  /** Of the client's request; servers get it too. */
  get baggage(): string | undefined {
    const { above, remote } = this.#origin;
    return above === undefined ? remote?.baggage : above.baggage;
  }

  /** The same work, for what comes after it. */
  asOver(): Work {
    const over = new Work(this.name, this.#origin, true);
    over.#context = this.context;
    return over;
  }
}

interface Begin {
  readonly kind?: SpanKind;
  readonly attributes?: CollectAttributes;
  /** Undefined for the work that the running code belongs to. */
  readonly remote?: RemoteContext;
  readonly link?: SpanContext | undefined;
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
  readonly #later: Later;
  readonly #current = createAsyncContext<Work>();

  constructor(source: SpanSource, { later, showsContent }: { readonly later: Later; readonly showsContent: boolean }) {
    this.#source = source;
    this.#later = later;
    this.showsContent = showsContent;
  }

  begin(name: string, { kind = 'internal', attributes, remote, link }: Begin = {}): Work {
    const above = remote === undefined ? this.#current.get() : undefined;
    const work = new Work(name, { source: this.#source, kind, above, remote, link });
    if (attributes !== undefined) {
      work.notes.push(attributes);
    }
    return work;
  }

  /** The work that the running code belongs to, even if it is over. */
  get current(): Work | undefined {
    return this.#current.get();
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
    const at = performance.now();
    if (attributes !== undefined) {
      work.notes.push(attributes);
    }
    const text = this.showsContent ? fault?.text : undefined;
    this.#later.do(() => {
      if ((work.context.traceFlags & SAMPLED) !== 0) {
        const failure = fault && { message: text && shortened(text), attributes: attributesOf(fault) };
        this.#source.record(work, { at, failure });
      }
      // What the work has started, such as a sandbox, may keep it for long.
      work.notes.length = 0;
    });
  }

  /** The fields of `_meta` for a request that belongs to the running code. */
  fieldsForRequest(): Record<string, string> | undefined {
    const work = this.#current.get();
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
