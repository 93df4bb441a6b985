/** A neighbour that is an MCP server over stdio. */
import { Client } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';

export interface Program {
  readonly command: string;
  readonly args?: readonly string[];
  readonly cwd: string;
  readonly env: Readonly<Record<string, string>>;
}

export interface McpProgram {
  readonly definitions: string;
  /** The text of the answer. Rejects if the tool reports an error. */
  call(name: string, given: Record<string, unknown>): Promise<string>;
  close(): Promise<void>;
}

const TIMEOUT_MS = 300_000;

/** The environment of every neighbour: nothing of this process but where programs are. */
export function plainEnvironment(home: string): Record<string, string> {
  return { PATH: process.env['PATH'] ?? '', HOME: home, NO_COLOR: '1' };
}

export async function openProgram({ command, args = [], cwd, env }: Program): Promise<McpProgram> {
  const client = new Client({ name: 'bench', version: '1' });
  const transport = new StdioClientTransport({ command, args: [...args], cwd, env, stderr: 'ignore' });
  await client.connect(transport);
  const { tools } = await client.listTools();
  const instructions = client.getInstructions() ?? '';
  return {
    definitions: `${instructions}${JSON.stringify(tools)}`,
    async call(name, given) {
      const { content, isError } = await client.callTool({ name, arguments: given }, { timeout: TIMEOUT_MS });
      const text = content.map((block) => (block.type === 'text' ? block.text : `[${block.type}]`)).join('\n');
      if (isError === true) {
        throw new Error(text);
      }
      return text;
    },
    close: () => client.close(),
  };
}
