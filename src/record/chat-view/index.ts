/** What clients that support MCP Apps show of a cell in the chat: the data of the view, and its page. */
export { CellViews } from './cell-views.ts';
export { cellViewResources } from './page-resource.ts';
