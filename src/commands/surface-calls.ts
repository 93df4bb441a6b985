/** Calls for what a loaded server offers besides tools: resources and prompts. */
import { z } from 'zod';
import { makeVisible } from '../catalog/visible.ts';
import type { SurfaceAnswer, SurfaceCall } from '../upstream/pool.ts';
import type { FindCallable } from './callable-servers.ts';
import { checked, type Method, nameParam } from './checked-call.ts';

/** Where resources and prompts come from. */
export interface SurfacePool {
  surface(call: SurfaceCall): Promise<SurfaceAnswer>;
}

/** Longer URIs are refused by most programs that read them. Chosen. */
const MAX_URI_CHARS = 8_192;

const ListParams = z.strictObject({ server: nameParam });
const ReadResourceParams = z.strictObject({ server: nameParam, uri: z.string().min(1).max(MAX_URI_CHARS) });
const GetPromptParams = z.strictObject({
  server: nameParam,
  name: nameParam,
  arguments: z.record(z.string(), z.string()).default({}),
});

export function surfaceMethods(findCallable: FindCallable, pool: SurfacePool): [string, Method][] {
  function list(method: SurfaceCall['method']): Method {
    return checked(ListParams, async ({ server: wanted }, context) => {
      const { name } = await findCallable(wanted, context);
      const { signal } = context;
      return visibleProse(await pool.surface({ server: name, method, params: {}, signal }));
    });
  }

  const readResource = checked(ReadResourceParams, async ({ server: wanted, uri }, context) => {
    const { name } = await findCallable(wanted, context);
    const { signal } = context;
    return resultOf(await pool.surface({ server: name, method: 'resources/read', params: { uri }, signal }));
  });

  const getPrompt = checked(GetPromptParams, async ({ server: wanted, ...params }, context) => {
    const { name } = await findCallable(wanted, context);
    const { signal } = context;
    return resultOf(await pool.surface({ server: name, method: 'prompts/get', params, signal }));
  });

  return [
    ['list_resources', list('resources/list')],
    ['list_resource_templates', list('resources/templates/list')],
    ['list_prompts', list('prompts/list')],
    ['read_resource', readResource],
    ['get_prompt', getPrompt],
  ];
}

/** Entries with hidden characters made visible where they are prose. Names and URIs are sent back as they are. */
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
