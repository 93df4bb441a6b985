/**
 * How the bridge introduces itself to a client. Both `opening.ts`, which answers while a client connects, and `server.ts`, which
 * answers everything else, take their answers from here.
 */
import type { ClientFacts } from './client-facts.ts';
import type { ShownTool, ToolDefinition } from './front-tool.ts';

/** The resource with the manual of the sandbox. */
export const CAPABILITY_RESOURCE_URI = 'resource://mcp-server-code-execution-mode/capabilities';

/** The last sentence of the instructions. It holds for each tool that runs Python. */
const WHERE_THE_MANUAL_IS = `The manual is ${CAPABILITY_RESOURCE_URI}, or runtime.capability_summary() inside.`;

/** How long a client may cache the lists, which do not change while the process lives. Chosen: an hour. */
const LIST_TTL_MS = 3_600_000;

/** The extension for calls whose end the client asks for. */
export const TASKS_EXTENSION = 'io.modelcontextprotocol/tasks';

/** What the server can do, in the words of MCP. */
const SERVER_CAPABILITIES = { tools: {}, resources: {} };
/** The same for clients of 2025-11-25. */
export const LEGACY_CAPABILITIES = {
  ...SERVER_CAPABILITIES,
  tasks: { list: {}, cancel: {}, requests: { tools: { call: {} } } },
};
/** The same for clients of 2026-07-28. */
export const MODERN_CAPABILITIES = { ...SERVER_CAPABILITIES, extensions: { [TASKS_EXTENSION]: {} } };

/** What a result of 2026-07-28 adds if it stays the same while the process lives. */
export const LASTING = { ttlMs: LIST_TTL_MS, cacheScope: 'private' } as const;

/** What a client learns before it calls anything, and who hears of it. */
export interface Introduction {
  readonly version: string;
  /** What the client sees, in this order. */
  readonly tools: readonly ShownTool[];
  /** Called with the name that the client gives itself, before each request that reads or calls anything. */
  readonly onClient?: ((name: string) => void) | undefined;
  /** Called once, when the first `tools/list` has been answered. Must start nothing: many clients list the tools and disconnect. */
  readonly onToolsListed?: ((client: ClientFacts) => void) | undefined;
}

/** `serverInfo` of MCP. */
export function serverInfo({ version }: Pick<Introduction, 'version'>): { name: string; version: string } {
  return { name: 'mcp-server-code-execution-mode', version };
}

/** What the tools are for, and where the manual is. */
export function instructionsOf(tools: readonly ShownTool[]): string {
  return [...new Set(tools.map(({ purpose }) => purpose)), WHERE_THE_MANUAL_IS].join(' ');
}

/** The result of `tools/list`, without what 2026-07-28 adds. */
export function toolList(
  tools: readonly ShownTool[],
  { hasTasks, showsViews }: Pick<ClientFacts, 'hasTasks' | 'showsViews'>,
): { tools: ToolDefinition[] } {
  return {
    tools: tools.map(({ definition, view }) => ({
      ...definition,
      ...(showsViews && view !== undefined && { _meta: { ui: { resourceUri: view } } }),
      // Only for clients that need it: every client pays for each word.
      ...(hasTasks && { execution: { taskSupport: 'optional' } }),
    })),
  };
}
