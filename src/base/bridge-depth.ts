/** How deep bridges are nested: every bridge tells its servers, and a bridge among them reads it. */

/** Number of bridges above a process; set in the environment of every server. */
export const DEPTH_VARIABLE = 'MCP_BRIDGE_DEPTH';

/** Bridges above this process, as its environment says; 0 for one that a client started. */
export function bridgeDepth(env: Readonly<Record<string, string | undefined>>): number {
  const depth = Number.parseInt(env[DEPTH_VARIABLE] ?? '0', 10);
  return Number.isSafeInteger(depth) && depth > 0 ? depth : 0;
}
