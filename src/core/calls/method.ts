/** What the methods that sandboxed code can call have in common: checked parameters, and a way to find their server. */
import { z } from 'zod';
import { BridgeError } from '../base/errors.ts';
import { type MaybePromise, useWhenThere } from '../base/maybe-promise.ts';
import type { CatalogServer } from '../catalog/known.ts';
import type { ServerDirectory } from '../directory/server-directory.ts';
import type { CallContext } from '../session/dispatch.ts';

/** A method and the schema of its parameters. `checked` makes it. */
export interface Method {
  readonly schema: z.ZodType;
  /** Takes what `schema` has parsed. */
  readonly run: (params: unknown, context: CallContext) => Promise<unknown>;
}

/** Longer names exist nowhere; MCP recommends at most 128 characters for tools. */
const MAX_NAME_CHARS = 1_000;

/** The name of a server or a tool. */
export const nameParam = z.string().min(1).max(MAX_NAME_CHARS);

/** A list of at most `max` names. Its length is checked first, because each wrong member of a long list costs time. */
export function namesParam(max: number) {
  return z
    .custom<unknown[]>(
      (value) => Array.isArray(value) && value.length > 0 && value.length <= max,
      `expected a list of 1 to ${max} names`,
    )
    .pipe(z.array(nameParam));
}

/** A method whose parameters are checked by `schema` before `run` gets them. */
export function checked<Schema extends z.ZodType>(
  schema: Schema,
  run: (params: z.output<Schema>, context: CallContext) => Promise<unknown>,
): Method {
  return { schema, run: run as Method['run'] };
}

/** The parameters of a call as the method takes them. Throws `CALL_REFUSED`, which names the parameter and the reason. */
export function checkParams({ schema }: Method, params: Readonly<Record<string, unknown>>): unknown {
  const parsed = schema.safeParse(params);
  if (!parsed.success) {
    const issue = parsed.error.issues[0];
    const place = issue?.path.join('.') ?? '';
    const reason = place === '' ? issue?.message : `${place}: ${issue?.message}`;
    throw new BridgeError('CALL_REFUSED', `invalid parameters: ${reason}`);
  }
  return parsed.data;
}

/** Finds the server that a call names. Throws or rejects as `ServerDirectory.findLoaded` does. */
export type FindCallable = (wanted: string, context: CallContext) => MaybePromise<CatalogServer>;

/** Finds loaded servers; with `autoload` every configured one, which its first call loads. */
export function createFindCallable(directory: ServerDirectory, autoload: boolean): FindCallable {
  return (wanted, { loaded, load }) => {
    if (!autoload) {
      return directory.findLoaded(wanted, loaded);
    }
    return useWhenThere(directory.find(wanted), (server) => {
      load?.(server.name);
      return server;
    });
  };
}
