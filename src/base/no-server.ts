/** What is said, to people and to models, where no server is configured. */

import { COMMAND } from './package.ts';

const STATE_DIRECTORY = 'the state directory (MCP_BRIDGE_STATE_DIR; ~/MCPs when not set)';

/** How to get servers, in one line; `folder` is the state directory where it is known. */
export function howToAddServers(folder: string = STATE_DIRECTORY): string {
  return (
    `Add one to ${folder}: ${COMMAND} servers add NAME -- COMMAND. Or move the servers of your MCP client there: ` +
    `${COMMAND} install CLIENT --import. For all forms, run: ${COMMAND} help servers server-files`
  );
}

/** That there is none, and how to get one. */
export function noServerConfigured(folder?: string): string {
  return `No server is configured. ${howToAddServers(folder)}`;
}
