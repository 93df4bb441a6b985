/** The message shown to people and models when no server is configured. */
import { COMMAND } from './package.ts';

const STATE_DIRECTORY = 'the state directory (MCP_BRIDGE_STATE_DIR, by default ~/MCPs)';

/** How to add servers, in one line. `folder` is the state directory, if known. */
export function howToAddServers(folder: string = STATE_DIRECTORY): string {
  return (
    `Add one to ${folder}: ${COMMAND} servers add NAME -- COMMAND. Or move the servers of your MCP client there: ` +
    `${COMMAND} install CLIENT --import. For every format, run: ${COMMAND} help servers server-files`
  );
}

/** States that no server is configured, and how to add one. */
export function noServerConfigured(folder?: string): string {
  return `No server is configured. ${howToAddServers(folder)}`;
}

/** The same in short lines, for a person at a terminal. */
export function noServerConfiguredLines(folder: string): string {
  const steps = [
    ['Add one:', `${COMMAND} servers add NAME -- COMMAND`],
    ['Or an example:', `${COMMAND} servers add --example`],
    ['Or those of your MCP client:', `${COMMAND} install CLIENT --import`],
    ['To read about every format:', `${COMMAND} help servers server-files`],
  ] as const;
  const lines = steps.map(([what, command]) => `  ${what.padEnd(29)} ${command}`);
  return [`No server is configured in ${folder}.`, ...lines].join('\n');
}
