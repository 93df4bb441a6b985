/** Shown to a person who starts the server by hand; it would otherwise just wait in silence. */
export const TERMINAL_HINT =
  'This is an MCP server: it waits for a client on stdin. `--help` shows what else there is; try `exec -c "1 + 1"`, ' +
  'or `install CLIENT` to register it in an MCP client.\n';
