/**
 * What a server says that a tool does (MCP, `ToolAnnotations`), with the defaults of the specification where it says
 * nothing. The server writes it and nobody checks it, so of what contradicts itself the worse is taken.
 */
import type { Annotations } from './schema.ts';

export type Hints = Required<{ [Key in keyof Annotations]: boolean }>;

export function hintsOf(annotations: Readonly<Record<string, unknown>> = {}): Hints {
  const saysDestructive = annotations['destructiveHint'] === true;
  const readOnlyHint = annotations['readOnlyHint'] === true && !saysDestructive;
  return {
    readOnlyHint,
    destructiveHint: saysDestructive || (!readOnlyHint && annotations['destructiveHint'] !== false),
    idempotentHint: annotations['idempotentHint'] === true,
    openWorldHint: annotations['openWorldHint'] !== false,
  };
}
