/** Cells and sandboxes: their spans, and which cell a call from a sandbox belongs to. */
import type { CellAnswer, CellRequest, OutputText } from '../../core/base/cell.ts';
import { toBridgeError } from '../../core/base/errors.ts';
import type { Watcher } from '../../core/calls/events.ts';
import type { HandleCall } from '../../core/session/dispatch.ts';
import type { BegunCell, SessionRun, StartedSandbox } from '../../core/session/events.ts';
import type { CellOutcome } from '../../core/session/run-cell.ts';
import type { TypedMeasure } from './measures.ts';
import { ATTRIBUTES, SPANS } from './names.ts';
import { type CollectAttributes, type Fault, faultOf, shortened, type Tracing, type Work } from './tracing.ts';

/** A cell from its request to its answer. */
interface CellInWork {
  readonly work: Work | undefined;
  /** In ms of `performance.now()`. */
  readonly begun: number;
  isWaiting: boolean;
}

/** The last cell of a sandbox. */
interface LastCell {
  readonly cell: number;
  readonly work: Work;
}

export interface TelemetryParts {
  /** Undefined if only values are measured. */
  readonly tracing: Tracing | undefined;
  readonly measure: TypedMeasure;
  /** Does what no answer has to wait for: at once, or after it. */
  readonly defer: (work: () => void) => void;
  /** Masks secrets in the texts of spans. */
  readonly mask: (text: string) => string;
}

export class CellTelemetry {
  readonly #parts: TelemetryParts;
  readonly #byRequest = new WeakMap<CellRequest, CellInWork>();
  /** By session and generation; calls name their cell by these. */
  readonly #last = new Map<string, LastCell>();

  constructor(parts: TelemetryParts) {
    this.#parts = parts;
  }

  /** Runs a cell with what it waits for. `run` gets the same request to the events. */
  async runCell(request: CellRequest, run: () => Promise<CellAnswer>): Promise<CellAnswer> {
    const { defer, measure, tracing } = this.#parts;
    const { code, session } = request;
    const work = tracing?.begin(SPANS.cell, {
      attributes: () => ({ [ATTRIBUTES.session]: session, [ATTRIBUTES.codeBytes]: Buffer.byteLength(code) }),
    });
    const cell: CellInWork = { work, begun: performance.now(), isWaiting: true };
    this.#byRequest.set(request, cell);
    this.#showContent(work, () => ({ [ATTRIBUTES.code]: code }));
    defer(() => {
      measure('mcp_bridge.size', Buffer.byteLength(code), { [ATTRIBUTES.kind]: 'code' });
      measure('mcp_bridge.cell.waiting', 1);
    });
    try {
      const answer = await (work === undefined ? run() : (tracing?.within(work, run) ?? run()));
      this.#end(work, faultOfAnswer(answer, tracing?.showsContent === true));
      return answer;
    } catch (error) {
      const { code: type } = toBridgeError(error);
      measure('mcp_bridge.refused', 1, { [ATTRIBUTES.kind]: 'cell', [ATTRIBUTES.errorType]: type });
      this.#end(work, faultOf(error));
      throw error;
    } finally {
      this.#endWait(cell);
    }
  }

  /** Makes calls from sandboxes part of their cell. A job has outlived its cell, so its calls only link to the last one. */
  within(handle: HandleCall): HandleCall {
    const { tracing } = this.#parts;
    return tracing === undefined
      ? handle
      : (call, context) => {
          const last = this.#last.get(keyOf(context));
          if (last === undefined) {
            return handle(call, context);
          }
          const isOfCell = context.job === undefined && context.cell === last.cell;
          const work = isOfCell ? last.work : last.work.asOver();
          return tracing.within(work, () => handle(call, context));
        };
  }

  readonly watch: Watcher = (event) => {
    const { measure } = this.#parts;
    if (event.type === 'session_started') {
      measure('mcp_bridge.sandbox.live', 1);
    } else if (event.type === 'session_ended') {
      this.#last.delete(keyOf(event.run));
      measure('mcp_bridge.sandbox.live', -1);
    } else if (event.type === 'cell_started') {
      this.#noteStart(event.cell);
    } else if (event.type === 'cell_ended') {
      measure('mcp_bridge.cell.duration', event.durationMs / 1000, { [ATTRIBUTES.status]: event.outcome.status });
      this.#noteOutcome(event.cell, event.outcome);
    }
  };

  #noteStart({ cell: number, generation, request, session }: BegunCell): void {
    const cell = this.#byRequest.get(request);
    if (cell === undefined) {
      return;
    }
    this.#endWait(cell);
    if (cell.work !== undefined) {
      this.#last.set(keyOf({ session, generation }), { cell: number, work: cell.work });
      const waited = secondsSince(cell.begun);
      cell.work.notes.push(() => ({
        [ATTRIBUTES.cell]: number,
        [ATTRIBUTES.generation]: generation,
        [ATTRIBUTES.waitSeconds]: waited,
      }));
    }
  }

  #noteOutcome({ request }: BegunCell, { status, stdout, stderr, value = '' }: CellOutcome): void {
    const work = this.#byRequest.get(request)?.work;
    work?.notes.push(() => ({
      [ATTRIBUTES.status]: status,
      [ATTRIBUTES.outputBytes]: bytesOf(stdout) + bytesOf(stderr) + Buffer.byteLength(value),
    }));
    this.#showContent(work, () => ({ [ATTRIBUTES.output]: `${stdout.head}${stdout.tail}${value}` }));
  }

  async traceStart<Started extends StartedSandbox>(
    run: SessionRun | undefined,
    start: () => Promise<Started>,
  ): Promise<Started> {
    const { measure, tracing } = this.#parts;
    const begun = performance.now();
    const work = tracing?.begin(SPANS.sandboxStart, {
      attributes: () =>
        run === undefined ? {} : { [ATTRIBUTES.session]: run.session, [ATTRIBUTES.generation]: run.generation },
    });
    try {
      const started = await (work === undefined ? start() : (tracing?.within(work, start) ?? start()));
      // One that is started now, ahead of any session, is no use of one that was.
      const facts = { [ATTRIBUTES.engine]: started.engine.name, [ATTRIBUTES.isAhead]: started.isAhead === true };
      measure('mcp_bridge.sandbox.start.duration', secondsSince(begun), facts);
      if (run !== undefined) {
        const found = started.isAhead === true ? 'hit' : 'miss';
        measure('mcp_bridge.cache.lookups', 1, { [ATTRIBUTES.cache]: 'sandbox', [ATTRIBUTES.found]: found });
      }
      this.#end(work, undefined, () => facts);
      return started;
    } catch (error) {
      const fault = faultOf(error);
      measure('mcp_bridge.sandbox.start.duration', secondsSince(begun), { [ATTRIBUTES.errorType]: fault.type });
      this.#end(work, fault);
      throw error;
    }
  }

  #endWait(cell: CellInWork): void {
    if (cell.isWaiting) {
      cell.isWaiting = false;
      const { defer, measure } = this.#parts;
      const seconds = secondsSince(cell.begun);
      defer(() => {
        measure('mcp_bridge.cell.waiting', -1);
        measure('mcp_bridge.cell.wait.duration', seconds);
      });
    }
  }

  #end(work: Work | undefined, fault: Fault | undefined, facts?: CollectAttributes): void {
    if (work !== undefined) {
      this.#parts.tracing?.end(work, fault, facts);
    }
  }

  #showContent(work: Work | undefined, texts: () => Readonly<Record<string, string>>): void {
    const { mask, tracing } = this.#parts;
    if (work !== undefined && tracing?.showsContent === true) {
      work.notes.push(() =>
        Object.fromEntries(Object.entries(texts()).map(([name, text]) => [name, shortened(mask(text))])),
      );
    }
  }
}

function keyOf({ session, generation }: SessionRun): string {
  return `${session}/${generation}`;
}

/** The class of an exception is a name that code has chosen. */
function faultOfAnswer({ error, status }: CellAnswer, showsContent: boolean): Fault | undefined {
  if (status === 'success') {
    return undefined;
  }
  const exception = showsContent ? error?.exception : undefined;
  return { type: error?.code ?? exception ?? status, code: error?.code, text: error?.message };
}

function bytesOf({ head, tail, droppedBytes }: OutputText): number {
  return Buffer.byteLength(head) + Buffer.byteLength(tail) + droppedBytes;
}

export function secondsSince(begun: number): number {
  return (performance.now() - begun) / 1000;
}
