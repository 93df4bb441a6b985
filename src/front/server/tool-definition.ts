/**
 * The one tool as `tools/list` shows it. Every user pays for each word in every conversation, so the list has at most
 * `MAX_DEFINITION_TOKENS`, however many servers are configured.
 */
import type { ShownTool, ToolDefinition } from './front-tool.ts';
import { CELL_VIEW_URI } from './views.ts';

/** Limit of the tool list, in tokens of o200k_base. A test counts them. */
export const MAX_DEFINITION_TOKENS = 200;

export const TOOL_NAME = 'run_python';

/** The definition of `run_python`; only the bounds of `timeout` depend on the settings. */
export function describeRunPython(defaultTimeoutSeconds: number, maxTimeoutSeconds: number): ToolDefinition {
  return {
    name: TOOL_NAME,
    description:
      'Live Python sandbox without network: state persists, top-level await works, the last value is shown. Find MCP ' +
      "tools with `await runtime.search_tool_docs('query')`, load their `servers`, call " +
      '`await mcp_<server>.<tool>(arg=...)`. Filter in code, print little. See runtime.help().',
    inputSchema: {
      type: 'object',
      properties: {
        code: { type: 'string' },
        servers: { type: 'array', items: { type: 'string' }, description: 'MCP servers to load' },
        timeout: {
          type: 'integer',
          minimum: 1,
          maximum: maxTimeoutSeconds,
          default: defaultTimeoutSeconds,
          description: 'seconds',
        },
        session: { type: 'string', default: 'default', description: 'one state per name' },
      },
      required: ['code'],
      additionalProperties: false,
    },
    // The model's code and the tools it calls can do anything, so no milder hint is true.
    annotations: { readOnlyHint: false, destructiveHint: true, idempotentHint: false, openWorldHint: true },
  };
}

/** What a client sees of `run_python`. */
export function showRunPython(settings: {
  readonly defaultTimeoutSeconds: number;
  readonly maxTimeoutSeconds: number;
  readonly apps?: boolean | undefined;
}): ShownTool {
  return {
    definition: describeRunPython(settings.defaultTimeoutSeconds, settings.maxTimeoutSeconds),
    purpose: 'run_python is a live Python session that calls the other MCP servers of this user as code.',
    view: settings.apps ? CELL_VIEW_URI : undefined,
  };
}
