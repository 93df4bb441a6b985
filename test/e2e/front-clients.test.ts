// Tags: anywhere, full
/** The front as seen by real MCP clients: the current SDK in both protocol eras, and the SDK most hosts still use. */
import { Client } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { Client as OldClient } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport as OldStdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { COMMAND_NAME, VERSION } from '../../src/core/base/package.ts';
import { capabilityResource } from '../../src/front/server/capabilities.ts';
import { CAPABILITY_RESOURCE_URI } from '../../src/front/server/introduction.ts';
import { describeRunPython } from '../../src/front/server/tool-definition.ts';
import { type BuiltCommand, buildFakeCommand } from './front-process.ts';

interface Progress {
  progress: number;
  total?: number | undefined;
  message?: string | undefined;
}

/** What the tests need from a client of either SDK. */
interface AnyClient {
  protocolVersion(): string | undefined;
  close(): Promise<void>;
  serverVersion(): unknown;
  instructions(): string | undefined;
  listTools(): Promise<{ tools: unknown[] }>;
  listResources(): Promise<{ resources: unknown[] }>;
  listResourceTemplates(): Promise<{ resourceTemplates: unknown[] }>;
  readResource(uri: string): Promise<{ contents: unknown[] }>;
  call(
    name: string,
    args: Record<string, unknown>,
    options?: { signal?: AbortSignal; onprogress?: (progress: Progress) => void },
  ): Promise<unknown>;
}

const identity = { name: 'front-test', version: '1' };
let server: BuiltCommand;
const open: AnyClient[] = [];

beforeAll(async () => {
  server = await buildFakeCommand();
});
afterEach(async () => {
  await Promise.all(open.splice(0).map((client) => client.close()));
});
afterAll(() => server.remove());

async function connectNew(versionNegotiation: object | undefined): Promise<AnyClient> {
  const client = new Client(identity, versionNegotiation === undefined ? {} : { versionNegotiation });
  const transport = new StdioClientTransport({ command: process.execPath, args: [server.script], stderr: 'ignore' });
  await client.connect(transport);
  return {
    protocolVersion: () => client.getNegotiatedProtocolVersion(),
    close: () => client.close(),
    serverVersion: () => client.getServerVersion(),
    instructions: () => client.getInstructions(),
    listTools: () => client.listTools(),
    listResources: () => client.listResources(),
    listResourceTemplates: () => client.listResourceTemplates(),
    readResource: (uri) => client.readResource({ uri }),
    call: (name, args, options) => client.callTool({ name, arguments: args }, options),
  };
}

async function connectOld(): Promise<AnyClient> {
  const client = new OldClient(identity);
  const transport = new OldStdioClientTransport({ command: process.execPath, args: [server.script], stderr: 'ignore' });
  await client.connect(transport);
  return {
    protocolVersion: () => '2025-11-25',
    close: () => client.close(),
    serverVersion: () => client.getServerVersion(),
    instructions: () => client.getInstructions(),
    listTools: () => client.listTools(),
    listResources: () => client.listResources(),
    listResourceTemplates: () => client.listResourceTemplates(),
    readResource: (uri) => client.readResource({ uri }),
    call: (name, args, options) => client.callTool({ name, arguments: args }, undefined, options),
  };
}

const clients: [name: string, version: string, connect: () => Promise<AnyClient>][] = [
  ['SDK 2, 2026-07-28', '2026-07-28', () => connectNew({ mode: { pin: '2026-07-28' } })],
  ['SDK 2, probing first', '2026-07-28', () => connectNew({ mode: 'auto' })],
  ['SDK 2, 2025-11-25', '2025-11-25', () => connectNew(undefined)],
  ['SDK 1', '2025-11-25', connectOld],
];

describe.each(clients)('%s', (_name, version, connect) => {
  async function connected(): Promise<AnyClient> {
    const client = await connect();
    open.push(client);
    return client;
  }

  test('negotiates the protocol version and gets the server info', async () => {
    const client = await connected();
    expect(client.protocolVersion()).toBe(version);
    expect(client.serverVersion()).toMatchObject({ name: 'mcp-server-code-execution-mode', version: '0.0.0-test' });
    expect(client.instructions()).toContain(CAPABILITY_RESOURCE_URI);
    expect(VERSION).toMatch(/^\d+\.\d+\.\d+/);
  });

  test('sees one tool and one resource', async () => {
    const client = await connected();
    expect((await client.listTools()).tools).toEqual([describeRunPython(30, 120)]);
    expect((await client.listResources()).resources).toEqual([
      expect.objectContaining({
        uri: 'resource://mcp-server-code-execution-mode/capabilities',
        name: 'code-execution-capabilities',
        mimeType: 'text/markdown',
      }),
    ]);
    expect((await client.listResourceTemplates()).resourceTemplates).toEqual([]);
    const { contents } = await client.readResource(CAPABILITY_RESOURCE_URI);
    expect(contents).toEqual([
      { uri: CAPABILITY_RESOURCE_URI, mimeType: 'text/markdown', text: expect.any(String) as unknown },
    ]);
    const [shown] = contents.map((content) => String((content as { text?: unknown }).text));
    // The bridge is made while the connection is idle; until then the page names the command that started this process instead.
    const pages = [capabilityResource(undefined), capabilityResource('The engine of the tests.')];
    expect(pages).toContain(shown?.replace(/node \S+\/dist\/cli\.js/, COMMAND_NAME));
  });

  test('runs a cell', async () => {
    const client = await connected();
    const args = { code: 'print a\nb', servers: ['github'], timeout: 7, session: 'work' };
    expect(await client.call('run_python', args)).toMatchObject({
      content: [{ type: 'text', text: 'a\nb' }],
      structuredContent: {
        summary: 'Success',
        stdout: ['a', 'b'],
        servers: ['github'],
        timeoutSeconds: 7,
        session: 'work',
      },
      isError: false,
    });
  });

  test('gets an error in the code as a result', async () => {
    const client = await connected();
    expect(await client.call('run_python', { code: 'raise' })).toMatchObject({
      content: [{ type: 'text', text: 'status: error\nTraceback (most recent call last):\nValueError: no' }],
      structuredContent: { status: 'error', summary: 'ValueError: no' },
      isError: true,
    });
  });

  test('gets a refused argument as a result with our message', async () => {
    const client = await connected();
    expect(await client.call('run_python', { code: 'x', timeout: '5s' })).toMatchObject({
      structuredContent: {
        status: 'validation_error',
        error:
          "ARGUMENT_INVALID: `timeout` is '5s'; it must be a whole number of seconds from 1 to 120.\n" +
          'Hint: Write only the number of seconds, without a unit or fraction.',
      },
      isError: true,
    });
  });

  test('may send arguments as strings if their meaning is unambiguous', async () => {
    const client = await connected();
    const given = { code: '1', timeout: '5', servers: '["github"]', session: 5 };
    expect(await client.call('run_python', given)).toMatchObject({
      structuredContent: { timeoutSeconds: 5, servers: ['github'], session: '5' },
    });
  });

  test('gets a protocol error for an unknown tool and an unknown resource', async () => {
    const client = await connected();
    await expect(client.call('run_ruby', { code: 'x' })).rejects.toMatchObject({ code: -32602 });
    await expect(client.readResource('resource://other')).rejects.toMatchObject({ code: -32602 });
  });

  test('gets progress, which only increases', async () => {
    const client = await connected();
    const seen: Progress[] = [];
    let answered: Promise<unknown> | undefined;
    await new Promise<void>((resolve) => {
      const onprogress = (progress: Progress): void => {
        if (seen.push(progress) === 3) {
          resolve();
        }
      };
      answered = client.call('run_python', { code: 'progress' }, { onprogress });
    });
    await client.call('run_python', { code: 'release' });
    await answered;
    expect(seen.map(({ message }) => message)).toEqual([
      'Pulling the image',
      'Pulling the image',
      'Starting the sandbox',
    ]);
    expect(seen.slice(0, 2)).toMatchObject([
      { progress: 10, total: 100 },
      { progress: 60, total: 100 },
    ]);
    expect(seen[2]?.progress).toBeGreaterThan(60);
  });

  test('cancels a cell and continues', async () => {
    const client = await connected();
    const cancel = new AbortController();
    const waiting = client.call('run_python', { code: 'wait' }, { signal: cancel.signal });
    await client.call('run_python', { code: '1' });
    cancel.abort();
    await expect(waiting).rejects.toThrow();
    expect(await client.call('run_python', { code: '2' })).toMatchObject({ structuredContent: { result: '2' } });
  });
});
