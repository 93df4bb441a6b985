/** Saved functions as documents that search finds. */
import type { ExtraTools } from '../../core/calls/extra-tools.ts';
import type { SavedTool } from './function-source.ts';
import { readFunctionHead } from './python-signature.ts';

/** The module from which code imports saved functions. */
const MODULE = 'user_tools';

export function toExtraTools(tools: readonly SavedTool[]): ExtraTools {
  return {
    source: { name: MODULE, alias: MODULE, description: '' },
    tools: tools.flatMap(({ name, source }) => {
      const head = readFunctionHead(name, source);
      return head === undefined
        ? []
        : [
            {
              name,
              alias: name,
              description: head.summary,
              inputSchema: head.inputSchema,
              signature: head.signature,
              isAsync: head.isAsync,
            },
          ];
    }),
  };
}
