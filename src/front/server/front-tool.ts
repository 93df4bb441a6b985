/**
 * The contract of a tool that the client sees. A call of it either runs a cell, whose answer the tool renders, or is answered by
 * the tool itself; either way it can ask the person, in both protocol eras.
 */
import type { Tool } from '@modelcontextprotocol/server';
import type { CellRequest, ShownAnswer } from '../../core/base/cell.ts';
import { type BridgeError, renderError } from '../../core/base/errors.ts';
import type { MaybePromise } from '../../core/base/maybe-promise.ts';
import type { RenderedAnswer } from '../../core/render/render.ts';
import type { RequestContext } from '../../core/session/lazy-bridge.ts';

export type ToolDefinition = Tool;

/** What a client sees of a tool. */
export interface ShownTool {
  readonly definition: ToolDefinition;
  /** One sentence for the instructions of the server. Tools that belong together have the same. */
  readonly purpose: string;
  /** URI of the page with which clients that show views show its results. */
  readonly view?: string | undefined;
}

export interface FrontTool extends ShownTool {
  /** Reads a call; `given` is what the client sent. Throws what `invalidCall` returns if the arguments are invalid. */
  call(given: unknown): FrontCall | Promise<FrontCall>;
}

/** What a call means. */
export type FrontCall = CellCall | OwnCall;

/** A call of `run_python`. */
export interface RunPythonCall extends RequestContext {
  /** `params.arguments` as the client sent it; not checked yet. */
  readonly given: unknown;
  /** See `CellRequest`. */
  readonly isFresh?: boolean | undefined;
  /** See `CellRequest`. */
  readonly wantsView?: boolean | undefined;
  readonly onOutput?: CellRequest['onOutput'];
  /** How long the client waits for an answer; undefined if it waits for the end of the cell. */
  readonly patienceMs?: number | undefined;
}

/** A cell. Its arguments are those of `run_python`. */
export interface CellCall {
  readonly kind: 'cell';
  readonly cell: Pick<RunPythonCall, 'given' | 'isFresh' | 'wantsView'>;
  render(answer: ShownAnswer): MaybePromise<RenderedAnswer>;
}

/** A call that the tool answers itself. `answer` may reject only with what `invalidCall` returns. */
export interface OwnCall {
  readonly kind: 'own';
  answer(context: RequestContext): Promise<RenderedAnswer>;
}

/** Invalid arguments. The SDK answers with its code; it is no class of the SDK, because tools are shown before that is loaded. */
export class InvalidCall extends Error {
  /** Invalid params, in JSON-RPC. */
  readonly code = -32_602;
}

/** The protocol error for invalid arguments. */
export function invalidCall(error: BridgeError): Error {
  return new InvalidCall(renderError(error));
}
