/** The MCP servers that are measured, through the bridge and without it. */
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
/** Takes and gives something large for each kind of request. */
export const FLOODED = fixture('flooded.mjs');

// For 1,000 concurrent requests the SDK's transport adds a listener each, and Node would warn about a leak.
EventEmitter.defaultMaxListeners = 0;

/** Passes `use` a client that is connected directly to the server. */
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
