/** One call that code in a sandbox may make: its parameters are checked before anything is done. */
import { z } from 'zod';
import { BridgeError } from '../base/errors.ts';
import type { CallContext } from '../session/dispatch.ts';

export type Method = (params: Readonly<Record<string, unknown>>, context: CallContext) => Promise<unknown>;

/** Longer names exist nowhere; MCP recommends at most 128 characters for tools. */
const MAX_NAME_CHARS = 1_000;

/** The name of a server or a tool. */
export const nameParam = z.string().min(1).max(MAX_NAME_CHARS);

/** A method whose parameters are checked first; wrong ones are refused with the place and the reason. */
export function checked<Schema extends z.ZodType>(
  schema: Schema,
  run: (params: z.output<Schema>, context: CallContext) => Promise<unknown>,
): Method {
  return (params, context) => {
    const parsed = schema.safeParse(params);
    if (!parsed.success) {
      const issue = parsed.error.issues[0];
      const place = issue?.path.join('.') ?? '';
      const reason = `a parameter was refused: ${place}: ${issue?.message ?? 'invalid'}`;
      return Promise.reject(new BridgeError('CALL_REFUSED', reason));
    }
    return run(parsed.data, context);
  };
}
