/** The size of tools as clients send them to a model. */
import { stringifyExact } from '../protocol/exact-json.ts';

/** What a model reads of a tool. */
export interface SizedTool {
  readonly name: string;
  readonly description?: string | undefined;
  readonly inputSchema: object;
}

/** Bytes of names, descriptions and input schemas. */
export function definitionBytes(tools: readonly SizedTool[]): number {
  return tools.reduce((sum, { name, description, inputSchema }) => {
    return sum + Buffer.byteLength(stringifyExact({ name, description, inputSchema }));
  }, 0);
}
