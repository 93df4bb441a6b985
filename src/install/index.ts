/** Registers the bridge with MCP clients, takes over their servers, and undoes both. */
export { examineRegistrations, installCommand } from './command.ts';
