/** The tools of one mode, called for an agent that has no MCP client of its own. */
import { Client } from '@modelcontextprotocol/client';
import { messageOf } from '../../src/core/base/errors.ts';
import { connect, type ServerEntry, textOf } from '../comparison/connect.ts';
import { countTokens, tokensOf } from '../comparison/tokens.ts';

export interface ToolCall {
  /** As in the definitions. */
  readonly name: string;
  readonly arguments: Readonly<Record<string, unknown>>;
}

export interface ToolAnswer {
  readonly text: string;
  readonly isError: boolean;
}

/** The part of a tool that clients pass to a model. */
export interface ToolDefinition {
  readonly name: string;
  readonly description: string | undefined;
  readonly inputSchema: unknown;
}

export interface Definitions {
  readonly tools: readonly ToolDefinition[];
  /** What the servers tell the model about themselves. */
  readonly instructions: readonly string[];
  readonly tokens: number;
}

export interface Toolset {
  definitions(): Promise<Definitions>;
  /** A failed call is an answer too, as it is for a model. */
  call(call: ToolCall): Promise<ToolAnswer>;
  /** Ends the servers that were used. The next call starts them again, as in a new conversation. */
  renew(): Promise<void>;
  close(): Promise<void>;
}

/** Starts the servers when they are first needed. Names of tools get the name of their server if there are several servers. */
export function createToolset(servers: Readonly<Record<string, ServerEntry>>): Toolset {
  const names = Object.keys(servers);
  const clients = new Map<string, Promise<Client>>();
  const used = new Set<string>();
  const prefixOf = (server: string): string => (names.length === 1 ? '' : `${server}.`);
  const clientOf = async (server: string, entry: ServerEntry): Promise<Client> => {
    const client = clients.get(server) ?? connect(new Client({ name: 'eval', version: '1' }), entry);
    clients.set(server, client);
    return client;
  };
  const end = async (chosen: readonly string[]): Promise<void> => {
    const ended = chosen.map((server) => clients.get(server));
    for (const server of chosen) {
      clients.delete(server);
      used.delete(server);
    }
    await Promise.all(ended.map(async (client) => (await client)?.close()));
  };
  return {
    async definitions() {
      const connected = await Promise.all(
        Object.entries(servers).map(async ([server, entry]) => ({ server, client: await clientOf(server, entry) })),
      );
      const lists = await Promise.all(
        connected.map(async ({ client, server }) =>
          (await client.listTools()).tools.map((tool) => modelView(tool, prefixOf(server))),
        ),
      );
      const tools = lists.flat();
      const instructions = connected.flatMap(({ client }) => client.getInstructions() ?? []);
      return { tools, instructions, tokens: definitionTokens(tools, instructions) };
    },
    async call({ arguments: given, name }) {
      const server = names.find((candidate) => name.startsWith(prefixOf(candidate)));
      const entry = server === undefined ? undefined : servers[server];
      if (server === undefined || entry === undefined) {
        return { text: `There is no tool ${name}.`, isError: true };
      }
      used.add(server);
      try {
        const client = await clientOf(server, entry);
        const result = await client.callTool({ name: name.slice(prefixOf(server).length), arguments: { ...given } });
        return { text: textOf(result.content), isError: result.isError === true };
      } catch (error) {
        return { text: messageOf(error), isError: true };
      }
    },
    renew: () => end([...used]),
    close: () => end([...clients.keys()]),
  };
}

/** A tool as a model gets it: clients keep output schemas and annotations to themselves. */
export function modelView(
  { description, inputSchema, name }: Omit<ToolDefinition, 'description'> & { description?: string | undefined },
  prefix: string,
): ToolDefinition {
  return { name: prefix + name, description, inputSchema };
}

export function definitionTokens(tools: readonly ToolDefinition[], instructions: readonly string[]): number {
  return tokensOf(tools) + instructions.reduce((sum, text) => sum + countTokens(text), 0);
}
