/** Shown to a person who starts the server by hand; it would otherwise just wait in silence. */
import { COMMAND } from '../base/package.ts';

export const TERMINAL_HINT =
  'This is an MCP server: it waits for a client on stdin. To register it in an MCP client, run:\n' +
  `  ${COMMAND} install CLIENT\n` +
  `To see the other commands and the documentation, run: ${COMMAND} help\n`;
