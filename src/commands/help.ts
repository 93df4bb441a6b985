/** The text of `--help`. */

const COMMAND_NAME = 'mcp-server-code-execution-mode';

export const HELP = `Usage: ${COMMAND_NAME} [run]
       ${COMMAND_NAME} exec [options] FILE|-|-c CODE
       ${COMMAND_NAME} servers [list|show NAME|tools NAME|search WORDS|refresh [NAME...]] [--json]
       ${COMMAND_NAME} doctor [--json]

run     Serve MCP over stdin and stdout; an MCP client starts this. The default.
exec    Run one cell of Python in a sandbox and print what it prints.
servers Show the configured servers and their tools. Starts those that were never
        asked, for tools and search; refresh asks all of them, or those named, anew.
doctor  Try each engine and say which one runs sessions, and why others do not.

Options of exec:
  -c, --code CODE    Python source, instead of a file; a file named - is standard input
      --server NAME  load an MCP server; may be repeated
      --session NAME name of the session
      --timeout S    deadline in seconds

Options of servers:
      --json         machine-readable
      --limit N      hits of a search, 10 when left out

  -h, --help         show this text
  -v, --version      show the version

exec ends with 0 when the cell succeeded, 1 when it failed, its own status after
sys.exit(), and 124 at the deadline. doctor ends with 0 when an engine can be
used, and with 69 when none can.

Settings are environment variables (MCP_BRIDGE_RUNTIME, MCP_BRIDGE_TIMEOUT, ...);
docs/configuration.md lists them.
`;

/** Shown to a person who starts the server by hand; it would otherwise just wait in silence. */
export const TERMINAL_HINT =
  `This is an MCP server: it waits for a client on stdin. Register the command \`${COMMAND_NAME}\` in your MCP client, ` +
  'or try `exec -c "1 + 1"`; `--help` shows more.\n';
