/** The call with which the sandbox learns how tools look in Python. It works for every configured server, loaded or not. */
import { z } from 'zod';
import type { BridgeError } from '../base/errors.ts';
import { resolveName } from '../catalog/names.ts';
import { signatureHint, specText, type ToolSpec, toolSpec } from '../catalog/tool-spec.ts';
import type { ServerDirectory } from '../directory/server-directory.ts';
import type { CallMethod } from '../protocol/frames.ts';
import { checked, type Method, nameParam, namesParam } from './method.ts';
import type { ObservedResults } from './observed-results.ts';

/** Tools in one request. Chosen: a cell names far fewer. */
const MAX_TOOLS = 200;

/** With `fresh`, the running server is asked even if its tools are known. */
const ToolSpecsParams = z.strictObject({
  server: nameParam,
  tools: namesParam(MAX_TOOLS),
  fresh: z.boolean().default(false),
});

/** A spec with its texts: for `help()`, and for the hint of a refused call. */
interface DescribedSpec extends ToolSpec {
  readonly text: string;
  readonly hint: string;
}

/** A tool that a policy hides, with the error of a call of it. */
interface RefusedSpec {
  readonly refused: Readonly<Record<string, unknown>>;
}

export function specMethod(directory: ServerDirectory, observed: ObservedResults): [CallMethod, Method] {
  /** One answer for each name, in order: null for a tool that the server does not list, the reason for a hidden one. */
  const toolSpecs = checked(ToolSpecsParams, async ({ server: wantedServer, tools, fresh }, { signal }) => {
    const server = await directory.find(wantedServer);
    const mayAsk = directory.whyHidden(server) === undefined;
    if (fresh && mayAsk) {
      await directory.refresh(server, signal);
    }
    const listed = mayAsk ? await directory.tools(server, signal) : [];
    await observed.ready;
    return tools.map((wanted): DescribedSpec | RefusedSpec | null => {
      const tool = resolveName(listed, wanted);
      if (tool === undefined) {
        return refusedSpec(directory.whyHidden(server, wanted));
      }
      const spec = toolSpec(tool, { observed: observed.schema(directory.definitionKey(server), tool) });
      const hint = signatureHint(spec, `help(mcp_${server.alias}.${tool.alias})`);
      return { ...spec, text: specText(spec), hint };
    });
  });

  return ['tool_specs', toolSpecs];
}

function refusedSpec(error: BridgeError | undefined): RefusedSpec | null {
  return error === undefined ? null : { refused: { code: error.code, message: error.message, hint: error.hint } };
}
