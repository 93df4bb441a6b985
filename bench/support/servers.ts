/** The MCP servers that are measured through the bridge, and the same without it. */
import { EventEmitter } from 'node:events';
import { fileURLToPath } from 'node:url';
import { Client } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';

export interface ServerCommand {
  readonly command: string;
  readonly args: string[];
}

const folder = new URL('../../test/fixtures/servers/', import.meta.url);

function fixture(file: string): ServerCommand {
  return { command: process.execPath, args: [fileURLToPath(new URL(file, folder))] };
}

/** Answers at once. */
export const ECHO = fixture('echo.mjs');
/** `sleep(seconds)`. */
export const SLOW = fixture('slow.mjs');
/** `text(mib)`. */
export const HUGE = fixture('huge-output.mjs');

// With 1,000 requests at once the SDK's transport adds a listener for each, and Node would warn of a leak.
EventEmitter.defaultMaxListeners = 0;

/** Lends `use` a client that is connected to the server itself. */
export async function withDirectClient<Result>(
  server: ServerCommand,
  use: (client: Client) => Promise<Result>,
): Promise<Result> {
  const client = new Client({ name: 'bench', version: '1' });
  await client.connect(new StdioClientTransport({ ...server, stderr: 'ignore' }));
  try {
    return await use(client);
  } finally {
    await client.close();
  }
}
