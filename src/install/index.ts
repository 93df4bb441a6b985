/** Registers the bridge in MCP clients, moves their servers to it, and undoes both. */
export { examineRegistrations, installCommand, listClientVariables } from './command.ts';
