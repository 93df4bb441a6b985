/** Limits on time are for a machine that does nothing else. `.ci/run` tests as several users at once, and multiplies them. */
export const PATIENCE = Number(process.env['MCP_BRIDGE_TEST_PATIENCE'] ?? 1);
