/** Calls for the resources and prompts of a loaded server. */
import { z } from 'zod';
import { toBridgeError } from '../base/errors.ts';
import { isObject } from '../base/is-object.ts';
import type { Logger } from '../base/log.ts';
import type { CatalogServer } from '../catalog/known.ts';
import { makeVisible } from '../catalog/visible.ts';
import type { CallMethod } from '../protocol/frames.ts';
import type { SurfaceAnswer, SurfaceCall } from '../protocol/server-requests.ts';
import type { CallContext } from '../session/dispatch.ts';
import type { CalledTool } from './contract.ts';
import { checked, type FindCallable, type Method, nameParam } from './method.ts';
import type { CallPipeline } from './pipeline.ts';
import { elicitFor } from './server-questions.ts';

/** Asks running servers for resources and prompts. */
export interface SurfacePool {
  surface(call: SurfaceCall): Promise<SurfaceAnswer>;
}

/** Most programs refuse longer URIs. Chosen. */
const MAX_URI_CHARS = 8_192;

/** Arguments of one prompt. Chosen: a person fills them in. */
const MAX_PROMPT_ARGUMENTS = 1_000;

/** Checked first, because each wrong member of a large object costs time. */
function hasFewKeys(value: unknown): boolean {
  return isObject(value) && Object.keys(value).length <= MAX_PROMPT_ARGUMENTS;
}

const ListParams = z.strictObject({ server: nameParam });
const ReadResourceParams = z.strictObject({ server: nameParam, uri: z.string().min(1).max(MAX_URI_CHARS) });
const GetPromptParams = z.strictObject({
  server: nameParam,
  name: nameParam,
  arguments: z
    .custom<object>(hasFewKeys, `expected an object with at most ${MAX_PROMPT_ARGUMENTS} members`)
    .pipe(z.record(z.string(), z.string()))
    .default({}),
});

export interface SurfaceOptions {
  readonly findCallable: FindCallable;
  readonly pool: SurfacePool;
  readonly logger: Logger;
  readonly calls: CallPipeline;
}

/** Every method here only reads. A policy treats it as a tool of the same name. */
const METHOD = { annotations: { readOnlyHint: true, idempotentHint: true }, inputSchema: {}, isMethod: true };

/** The methods by their names in Python. */
const METHODS = {
  list_resources: 'resources/list',
  list_resource_templates: 'resources/templates/list',
  list_prompts: 'prompts/list',
  read_resource: 'resources/read',
  get_prompt: 'prompts/get',
} as const satisfies Record<string, SurfaceCall['method']>;

/** Every method, as a policy sees it. */
export function methodTools(): CalledTool[] {
  return Object.values(METHODS).map((method) => ({ ...METHOD, name: method, alias: method }));
}

/** The method with this name in MCP or in Python, as a policy sees it; undefined if there is none. */
export function methodTool(name: string): CalledTool | undefined {
  const method = Object.entries(METHODS).find(([python, exact]) => python === name || exact === name)?.[1];
  return methodTools().find((tool) => tool.name === method);
}

export function surfaceMethods(options: SurfaceOptions): [CallMethod, Method][] {
  const { findCallable, pool, logger, calls } = options;

  async function ask(
    wanted: string,
    method: SurfaceCall['method'],
    params: SurfaceCall['params'],
    context: CallContext,
  ): Promise<SurfaceAnswer> {
    let server: CatalogServer;
    try {
      server = await findCallable(wanted, context);
    } catch (error) {
      calls.noteUnmade({ server: wanted, tool: method, given: params, context }, toBridgeError(error));
      throw error;
    }
    const tool = { ...METHOD, name: method, alias: method };
    const answer = await calls.make({ server, tool, arguments: params, context }, ({ context: { signal, asker } }) => {
      const elicit = elicitFor(server.name, asker, logger);
      return pool.surface({ server: server.name, method, params, signal, elicit });
    });
    return answer as SurfaceAnswer;
  }

  function list(method: SurfaceCall['method']): Method {
    return checked(ListParams, async ({ server }, context) => visibleProse(await ask(server, method, {}, context)));
  }

  const readResource = checked(ReadResourceParams, async ({ server, uri }, context) => {
    return resultOf(await ask(server, METHODS.read_resource, { uri }, context));
  });

  const getPrompt = checked(GetPromptParams, async ({ server, ...params }, context) => {
    return resultOf(await ask(server, METHODS.get_prompt, params, context));
  });

  const lists = (['list_resources', 'list_resource_templates', 'list_prompts'] as const).map(
    (name): [CallMethod, Method] => [name, list(METHODS[name])],
  );
  return [...lists, ['read_resource', readResource], ['get_prompt', getPrompt]];
}

/** Makes hidden characters visible in prose. Names and URIs stay unchanged, because code sends them back. */
function visibleProse(value: unknown): unknown {
  if (Array.isArray(value)) {
    return value.map(visibleProse);
  }
  if (typeof value !== 'object' || value === null) {
    return value;
  }
  return Object.fromEntries(
    Object.entries(value).map(([key, member]) => {
      const isProse = typeof member === 'string' && (key === 'description' || key === 'title');
      return [key, isProse ? makeVisible(member) : visibleProse(member)];
    }),
  );
}

function resultOf(answer: SurfaceAnswer): unknown {
  return 'result' in answer ? answer.result : {};
}
