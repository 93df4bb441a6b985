/** The text of `--help`. */
import { CLIENT_IDS } from '../clients/table.ts';

const COMMAND_NAME = 'mcp-server-code-execution-mode';

export const HELP = `Usage: ${COMMAND_NAME} [run]
       ${COMMAND_NAME} exec [options] FILE|-|-c CODE
       ${COMMAND_NAME} servers [list|show NAME|tools NAME|search WORDS|refresh [NAME...]] [--json]
       ${COMMAND_NAME} install CLIENT... [--import] [--scope user|project] [--dry-run] [--print]
       ${COMMAND_NAME} uninstall CLIENT... [--scope user|project] [--dry-run]
       ${COMMAND_NAME} doctor [--json]
       ${COMMAND_NAME} help [CODE]

run     Serve MCP over stdin and stdout; an MCP client starts this. The default.
exec    Run one cell of Python in a sandbox and print what it prints.
servers Show the configured servers and their tools. Starts those that were never
        asked, for tools and search; refresh asks all of them, or those named, anew.
install Register this server in the configuration of MCP clients: ${CLIENT_IDS.slice(0, 3).join(', ')},
        ${CLIENT_IDS.slice(3).join(', ')}.
        uninstall takes it out again.
doctor  Try each engine and say which one runs sessions, and why others do not.

Options of exec:
  -c, --code CODE    Python source, instead of a file; a file named - is standard input
      --server NAME  load an MCP server; may be repeated
      --session NAME name of the session
      --timeout S    deadline in seconds

Options of install and uninstall:
      --import       move the client's own servers to this one; uninstall puts them back
      --scope S      user (when left out) or project, the folder you are in
      --dry-run      show what would change, and write nothing
      --print        print the entry instead, to put in by hand

Options of servers:
      --json         machine-readable
      --limit N      hits of a search, 10 when left out

  -h, --help         show this text
  -v, --version      show the version

exec ends with 0 when the cell succeeded, 1 when it failed, its own status after
sys.exit(), and 124 at the deadline. doctor ends with 0 when an engine can be
used, and with 69 when none can. help SESSION_LOST (or any other code of an error)
says what it means and what to do.

Settings are environment variables (MCP_BRIDGE_RUNTIME, MCP_BRIDGE_TIMEOUT, ...);
docs/configuration.md lists them.
`;

/** Shown to a person who starts the server by hand; it would otherwise just wait in silence. */
export const TERMINAL_HINT =
  `This is an MCP server: it waits for a client on stdin. Register the command \`${COMMAND_NAME}\` in your MCP client, ` +
  'or try `exec -c "1 + 1"`; `--help` shows more.\n';
