/**
 * MCP over a pair of byte streams: one JSON-RPC message per line (MCP specification 2025-11-25, "stdio").
 * The SDK's own transport (2.4.0) is not used, because it copies the whole buffer for every chunk (40 MB took 9 s),
 * closes the connection at 10 MB, and adds one listener per message that waits to be written.
 */
import type { Readable, Writable } from 'node:stream';
import type { JSONRPCMessage, Transport } from '@modelcontextprotocol/server';
import { messageOf } from '../errors.ts';
import { MAX_CLIENT_LINE_BYTES, MAX_JSON_DEPTH } from '../limits.ts';
import { createLineSplitter, isDeeperThan } from '../protocol/codec.ts';

const INVALID_REQUEST = -32600;

/**
 * A transport over `input` and `output`. Lines that are not JSON are ignored, because some clients print to the pipe;
 * a request that cannot be served is answered with -32600 if it has an id. `onclose`, and then `onClosed`, fires once:
 * when `input` ends, when `output` fails (a client that is gone), or after `close()`.
 */
export function createStdioTransport(
  input: Readable,
  output: Writable,
  onClosed: () => void = () => undefined,
): Transport {
  let isClosed = false;
  let drained: Promise<void> | undefined;

  const report = (message: string): void => transport.onerror?.(new Error(message));
  const splitter = createLineSplitter(MAX_CLIENT_LINE_BYTES, onLine, (bytes) => {
    report(`Ignored a message of ${bytes} bytes; the limit is ${MAX_CLIENT_LINE_BYTES} bytes.`);
  });

  function onLine(line: Buffer): void {
    if (isClosed || line.length === 0) {
      return;
    }
    const message = parseLine(line);
    if (message === undefined) {
      report(`Ignored a line on stdin that is no JSON-RPC message: ${line.toString('utf8', 0, 200)}`);
    } else if (isDeeperThan(message, MAX_JSON_DEPTH)) {
      refuse(message, `Nested deeper than ${MAX_JSON_DEPTH} levels`);
    } else if (message.jsonrpc !== '2.0') {
      refuse(message, 'Invalid Request: "jsonrpc" must be "2.0"');
    } else {
      transport.onmessage?.(message as unknown as JSONRPCMessage);
    }
  }

  function refuse(message: Record<string, unknown>, reason: string): void {
    report(reason);
    const { id, method } = message;
    if ((typeof id === 'string' || typeof id === 'number') && typeof method === 'string') {
      const answer: JSONRPCMessage = { jsonrpc: '2.0', id, error: { code: INVALID_REQUEST, message: reason } };
      transport.send(answer).catch((error: unknown) => report(messageOf(error)));
    }
  }

  const onData = (chunk: Buffer): void => splitter.push(chunk);
  const onInputError = (error: Error): void => transport.onerror?.(error);
  const onOutputError = (error: Error): void => {
    if (!isClosed) {
      transport.onerror?.(error);
      shut();
    }
  };

  function shut(): void {
    if (isClosed) {
      return;
    }
    isClosed = true;
    input.off('data', onData);
    input.off('end', shut);
    input.off('close', shut);
    input.pause();
    // The error listeners stay: a write that fails late must not become an uncaught exception.
    transport.onclose?.();
    onClosed();
  }

  function untilDrained(): Promise<void> {
    drained ??= new Promise((resolve) => {
      const done = (): void => {
        drained = undefined;
        output.off('drain', done);
        output.off('close', done);
        output.off('error', done);
        resolve();
      };
      output.on('drain', done);
      output.on('close', done);
      output.on('error', done);
    });
    return drained;
  }

  const transport: Transport = {
    async start() {
      output.on('error', onOutputError);
      input.on('error', onInputError);
      input.on('end', shut);
      input.on('close', shut);
      input.on('data', onData);
    },
    async send(message) {
      if (isClosed) {
        throw new Error('The connection to the client is closed.');
      }
      if (!output.write(`${JSON.stringify(message)}\n`)) {
        await untilDrained();
      }
    },
    async close() {
      shut();
    },
  };
  return transport;
}

/** The JSON object on one line; undefined when it holds something else. */
function parseLine(line: Buffer): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(line.toString('utf8'));
    const isObject = typeof value === 'object' && value !== null && !Array.isArray(value);
    return isObject ? (value as Record<string, unknown>) : undefined;
  } catch {
    // Not JSON: the caller reports it.
    return undefined;
  }
}
