/** How deeply bridges are nested. Each bridge passes its depth to its servers, one of which may be another bridge. */

/** The number of bridges above a process. Set in the environment of every server. */
export const DEPTH_VARIABLE = 'MCP_BRIDGE_DEPTH';

/** Allows servers that are bridges. Passed on to every server, so that setting it once is enough. */
export const ALLOW_NESTED_VARIABLE = 'MCP_BRIDGE_ALLOW_SELF_SERVER';

/** The number of bridges above this process, read from its environment; 0 if a client started it. */
export function bridgeDepth(env: Readonly<Record<string, string | undefined>>): number {
  const depth = Number.parseInt(env[DEPTH_VARIABLE] ?? '0', 10);
  return Number.isSafeInteger(depth) && depth > 0 ? depth : 0;
}
