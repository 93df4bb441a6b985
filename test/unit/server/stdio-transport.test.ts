import { once } from 'node:events';
import { PassThrough, Writable } from 'node:stream';
import type { JSONRPCMessage } from '@modelcontextprotocol/server';
import { describe, expect, test } from 'vitest';
import { LargeText } from '../../../src/core/base/large-text.ts';
import { StdioServerTransport } from '../../../src/front/server/stdio-transport.ts';

async function started(output: Writable = new PassThrough()) {
  const input = new PassThrough();
  const messages: JSONRPCMessage[] = [];
  const errors: string[] = [];
  let closedCount = 0;
  const transport = new StdioServerTransport(input, output, () => {
    closedCount += 1;
  });
  transport.onmessage = (message) => messages.push(message);
  transport.onerror = (error) => errors.push(error.message);
  await transport.start();
  return { input, output, messages, errors, transport, closedCount: () => closedCount };
}

const nextTurn = () =>
  new Promise<void>((resolve) => {
    setImmediate(resolve);
  });

describe('reading', () => {
  test('takes a message byte by byte, with characters of every length', async () => {
    const { input, messages } = await started();
    const message = { jsonrpc: '2.0', id: 1, method: 'm', params: { text: 'aä€😀\u2028' } };
    for (const byte of Buffer.from(`${JSON.stringify(message)}\n`)) {
      input.write(Buffer.from([byte]));
    }
    await nextTurn();
    expect(messages).toEqual([message]);
  });

  test('takes nothing after the close, not even from the same read', async () => {
    const { input, messages, transport } = await started();
    transport.onmessage = (message) => {
      messages.push(message);
      void transport.close();
    };
    input.write('{"jsonrpc":"2.0","method":"a"}\n{"jsonrpc":"2.0","method":"b"}\n');
    await nextTurn();
    input.write('{"jsonrpc":"2.0","method":"c"}\n');
    await nextTurn();
    expect(messages).toEqual([{ jsonrpc: '2.0', method: 'a' }]);
  });

  test('reports a line that is not a message, cut to a readable length', async () => {
    const { input, messages, errors } = await started();
    input.write(`${'junk '.repeat(1000)}\n`);
    await nextTurn();
    expect(messages).toEqual([]);
    expect(errors).toHaveLength(1);
    expect(errors[0]?.length).toBeLessThan(300);
  });
});

describe('a message that is too long', () => {
  const code = 'x'.repeat(17 * 1024 * 1024);
  test.each([
    ['first', `{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"code":"${code}"}}`],
    ['last', `{"method":"tools/call","params":{"code":"${code}"},"jsonrpc":"2.0","id":7}`],
  ])('is refused with its id, which is %s, and not kept', async (_where, line) => {
    const { input, output, messages } = await started();
    const answered = once(output, 'data') as Promise<[Buffer]>;
    for (let start = 0; start < line.length; start += 65_536) {
      input.write(line.slice(start, start + 65_536));
      await nextTurn();
    }
    input.write('\n{"jsonrpc":"2.0","method":"next"}\n');
    const [answer] = await answered;
    expect(JSON.parse(answer.toString())).toEqual({
      jsonrpc: '2.0',
      id: 7,
      error: {
        code: -32600,
        message: expect.stringMatching(/^Invalid Request: a message of 17,825,\d+ bytes; the limit/),
      },
    });
    expect(messages).toEqual([{ jsonrpc: '2.0', method: 'next' }]);
  });
});

describe('writing', () => {
  test('reports room again after 16 MiB were unread', async () => {
    const output = new PassThrough();
    const { transport } = await started(output);
    const text = 'x'.repeat(1024 * 1024);
    for (let id = 0; id < 17; id += 1) {
      void transport.send({ jsonrpc: '2.0', id, result: { text } });
    }
    let hasRoom = false;
    const room = transport.untilRoom()?.then(() => {
      hasRoom = true;
    });
    await nextTurn();
    expect(hasRoom).toBe(false);
    output.resume();
    await room;
    expect(hasRoom).toBe(true);
    expect(transport.untilRoom()).toBeUndefined();
  });

  test('has one listener for all waiting messages', async () => {
    let release: () => void = () => undefined;
    const output = new Writable({
      highWaterMark: 1,
      write: (_chunk, _encoding, done) => {
        release = done;
      },
    });
    const { transport } = await started(output);
    const sent = Array.from({ length: 50 }, (_, id) => transport.send({ jsonrpc: '2.0', id, result: {} }));
    expect(output.listenerCount('drain')).toBe(1);
    for (let written = 0; written < 50; written += 1) {
      release();
      await nextTurn();
    }
    await Promise.all(sent);
    expect(output.listenerCount('drain')).toBe(0);
  });

  test('is refused after the close', async () => {
    const { transport } = await started();
    await transport.close();
    await expect(transport.send({ jsonrpc: '2.0', method: 'm' })).rejects.toThrow('closed');
  });
});

describe('the end', () => {
  test.each([
    ['the input ends', ({ input }: Awaited<ReturnType<typeof started>>) => input.end()],
    ['the output fails', ({ output }: Awaited<ReturnType<typeof started>>) => output.destroy(new Error('EPIPE'))],
    [
      'close() is called twice',
      async ({ transport }: Awaited<ReturnType<typeof started>>) => {
        await transport.close();
        await transport.close();
      },
    ],
  ])('is reported once when %s', async (_name, act) => {
    const parts = await started();
    await act(parts);
    await nextTurn();
    await nextTurn();
    await parts.transport.close();
    expect(parts.closedCount()).toBe(1);
  });

  test('an error of the output after the end is harmless', async () => {
    const { output, transport } = await started();
    await transport.close();
    output.destroy(new Error('late EPIPE'));
    // Without a listener this would be an uncaught exception, which fails the run.
    await nextTurn();
    expect(output.errored?.message).toBe('late EPIPE');
  });
});

describe('a long text that is read while it is written', () => {
  const messageWith = (id: number, text: unknown) =>
    ({ jsonrpc: '2.0', id, result: { contents: [{ uri: 'x', text }] } }) as unknown as JSONRPCMessage;
  const opened = (...pieces: string[]) =>
    new LargeText(async () => ({
      pieces: (async function* read() {
        for (const piece of pieces) {
          await nextTurn();
          yield piece;
        }
      })(),
      close: async () => undefined,
    }));

  test('is in its message, which others wait for', async () => {
    const { output, transport } = await started();
    await Promise.all([
      transport.send(messageWith(1, opened('a"', 'b'))),
      transport.send(messageWith(2, 'short')),
      transport.send(messageWith(3, opened('c'))),
      transport.send(messageWith(4, 'short')),
    ]);
    const lines = String((output as PassThrough).read())
      .trimEnd()
      .split('\n');
    expect(lines.map((line) => JSON.parse(line))).toEqual([
      messageWith(1, 'a"b'),
      messageWith(2, 'short'),
      messageWith(3, 'c'),
      messageWith(4, 'short'),
    ]);
  });

  test('becomes an error if it is no longer there', async () => {
    const { output, transport } = await started();
    await transport.send(messageWith(1, new LargeText(() => Promise.reject(new Error('it is gone')))));
    expect(String((output as PassThrough).read())).toBe(
      '{"jsonrpc":"2.0","id":1,"error":{"code":-32603,"message":"it is gone"}}\n',
    );
  });
});
