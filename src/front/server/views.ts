/**
 * Names of MCP Apps (SEP-1865, version 2026-01-26): a client that declares the extension reads a page as a resource, and shows the
 * results of a tool in it. What the page shows beside a result is in `_meta`, which hosts do not pass on to the model.
 */

/** The extension, among the capabilities of a client. */
export const VIEW_EXTENSION = 'io.modelcontextprotocol/ui';
/** The only type of pages so far. */
export const VIEW_TYPE = 'text/html;profile=mcp-app';
/** The page that shows a cell. */
export const CELL_VIEW_URI = 'ui://mcp-server-code-execution-mode/cell.html';
/** Where a result has its `CellView`. */
export const CELL_VIEW_KEY = 'mcp-server-code-execution-mode/cell';
