/** The contract for questions of servers to the person (MCP: client/elicitation). */
import type { CancelSignal } from '../base/cancel.ts';
import type { JsonObject } from '../base/is-object.ts';

/**
 * Puts the question of a server: gets the `params` of `elicitation/create`, gives its result. One that comes to nothing is
 * a result, too, with the action `cancel`. Rejects with a `RequestError` when what the server asks is no proper question.
 */
export type Elicit = (params: JsonObject, signal: CancelSignal) => Promise<JsonObject>;

/** What servers are told that they may ask; undefined when nobody can be asked. */
export type ElicitationOffer = { readonly form: JsonObject; readonly url?: JsonObject } | undefined;
