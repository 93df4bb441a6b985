/** Calls with which the sandbox learns how tools look in Python. They work for every configured server, loaded or not. */
import { z } from 'zod';
import type { BridgeError } from '../base/errors.ts';
import { resolveName } from '../catalog/names.ts';
import { serverStub } from '../catalog/stubs.ts';
import { specText, type ToolSpec, toolSpec } from '../catalog/tool-spec.ts';
import type { ServerDirectory } from '../directory/server-directory.ts';
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

const StubsParams = z.strictObject({
  server: nameParam,
  tools: namesParam(MAX_TOOLS).optional(),
});

/** A spec with the text that `help()` shows. */
interface DescribedSpec extends ToolSpec {
  readonly text: string;
}

/** A tool that a policy hides, with the error of a call of it. */
interface RefusedSpec {
  readonly refused: Readonly<Record<string, unknown>>;
}

export function specMethods(directory: ServerDirectory, observed: ObservedResults): [string, Method][] {
  /** One answer for each name, in order: null for a tool that the server does not list, the reason for a hidden one. */
  const toolSpecs = checked(ToolSpecsParams, async ({ server: wantedServer, tools, fresh }, { signal }) => {
    const server = await directory.find(wantedServer);
    const mayAsk = directory.whyHidden(server) === undefined;
    if (fresh && mayAsk) {
      await directory.refresh(server, signal);
    }
    const listed = mayAsk ? await directory.tools(server, signal) : [];
    return tools.map((wanted): DescribedSpec | RefusedSpec | null => {
      const tool = resolveName(listed, wanted);
      if (tool === undefined) {
        return refusedSpec(directory.whyHidden(server, wanted));
      }
      const spec = toolSpec(tool, { observed: observed.schema(directory.definitionKey(server), tool) });
      return { ...spec, text: specText(spec) };
    });
  });

  /** Stubs of the named tools, in that order, or of all. Rejects with `TOOL_UNKNOWN`. */
  const stubs = checked(StubsParams, async (params, { signal }) => {
    const server = await directory.find(params.server);
    const listed = await directory.tools(server, signal);
    const wanted = params.tools?.map((name) => directory.findTool(server, name, signal));
    const tools = wanted === undefined ? listed : await Promise.all(wanted);
    return serverStub(
      server,
      tools.map((tool) => ({ tool, observed: observed.schema(directory.definitionKey(server), tool) })),
    );
  });

  return [
    ['tool_specs', toolSpecs],
    ['stubs', stubs],
  ];
}

function refusedSpec(error: BridgeError | undefined): RefusedSpec | null {
  return error === undefined ? null : { refused: { code: error.code, message: error.message, hint: error.hint } };
}
