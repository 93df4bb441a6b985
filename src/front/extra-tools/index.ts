/** The optional tools beside `run_python`, as `MCP_BRIDGE_TOOLS` names them. */
export { createFrontTools } from './front-tools.ts';
