/** MCP clients of the comparison and the evaluation. */
import type { Client } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';

export interface ServerEntry {
  readonly command: string;
  readonly args: string[];
  readonly cwd?: string;
  readonly env?: Record<string, string>;
}

/** Starts the server with the environment of this process and `env`, and connects. */
export async function connect(client: Client, { args, command, cwd, env }: ServerEntry): Promise<Client> {
  const inherited = Object.entries(process.env).filter((entry): entry is [string, string] => entry[1] !== undefined);
  const all = { ...Object.fromEntries(inherited), ...env };
  await client.connect(
    new StdioClientTransport({ command, args, env: all, stderr: 'ignore', ...(cwd === undefined ? {} : { cwd }) }),
  );
  return client;
}

/** The texts of an answer, as a model reads them. */
export function textOf(content: readonly { readonly type: string }[] | undefined): string {
  return (content ?? []).map((block) => ('text' in block ? String(block.text) : '')).join('');
}
