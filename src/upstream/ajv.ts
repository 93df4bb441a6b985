/** The JSON Schema validator that the MCP client carries in its own bundle, so that it does not ship twice. Load it on demand. */
export { Ajv } from '@modelcontextprotocol/client/validators/ajv';
