import { expect, test } from 'vitest';
import { BridgeError } from '../../../src/core/base/errors.ts';
import { silentLogger } from '../../../src/core/base/log.ts';
import { type CallGate, failed, succeeded } from '../../../src/core/calls/contract.ts';
import { checkParams } from '../../../src/core/calls/method.ts';
import { createObservedResults } from '../../../src/core/calls/observed-results.ts';
import { createCallPipeline } from '../../../src/core/calls/pipeline.ts';
import { toolMethods } from '../../../src/core/calls/tool-calls.ts';
import { createServerDirectory } from '../../../src/core/directory/server-directory.ts';
import { createMetadataSource } from '../../../src/core/directory/server-metadata.ts';

const SERVERS = new Map([['files', { name: 'files' }]]);
const LISTING = {
  info: { protocolVersion: '2025-11-25' },
  tools: [
    { name: 'read-file', inputSchema: { properties: { 'from-line': {} } } },
    { name: 'List', inputSchema: { type: 'object' } },
  ],
  notices: [],
};

/** Calls tools of the server `files` through the gates; collects what reached the server. */
function callThrough(gates: readonly CallGate[]) {
  const sent: unknown[] = [];
  const source = createMetadataSource({ describe: async () => LISTING }, undefined);
  const directory = createServerDirectory(source, () => SERVERS, silentLogger);
  const methods = toolMethods({
    directory,
    findCallable: (name) => directory.find(name),
    pool: {
      callTool: async ({ tool, arguments: given }) => {
        sent.push([tool, given]);
        return { content: [] };
      },
    },
    observed: createObservedResults(),
    logger: silentLogger,
    calls: createCallPipeline({ gates }),
  });
  const callTool = new Map(methods).get('call_tool');
  const call = async (tool: string, given: Record<string, unknown> = {}) => {
    const { signal } = new AbortController();
    const context = { session: 'default', generation: 1, cell: 3, call: 7, loaded: new Set(['files']), signal };
    return callTool?.run(checkParams(callTool, { server: 'files', tool, arguments: given }), context);
  };
  return { call, sent };
}

test('gates get a call in their order, as the server will get it, and may refuse or change it', async () => {
  const passed: unknown[] = [];
  const outer: CallGate = async (made, proceed) => {
    const { server, tool, arguments: given, context } = made;
    passed.push(['outer', server.name, tool.name, given, context.cell, context.call]);
    const outcome = await proceed(made);
    return succeeded({ answer: outcome.ok ? outcome.result : (outcome.error as BridgeError).code });
  };
  const inner: CallGate = (made, proceed) => {
    passed.push(['inner']);
    return made.tool.name === 'List'
      ? Promise.resolve(failed(new BridgeError('CALL_REFUSED', 'no')))
      : proceed({ ...made, arguments: { ...made.arguments, added: true } });
  };
  const { call, sent } = callThrough([outer, inner]);
  expect(await call('read_file', { from_line: 1 })).toEqual({ answer: { content: [] } });
  expect(await call('list')).toEqual({ answer: 'CALL_REFUSED' });
  expect(passed).toEqual([
    ['outer', 'files', 'read-file', { 'from-line': 1 }, 3, 7],
    ['inner'],
    ['outer', 'files', 'List', {}, 3, 7],
    ['inner'],
  ]);
  expect(sent).toEqual([['read-file', { 'from-line': 1, added: true }]]);
});

test('without gates a call goes directly to the server', async () => {
  const { call, sent } = callThrough([]);
  expect(await call('list')).toEqual({ content: [] });
  expect(sent).toEqual([['List', {}]]);
});

test('a gate that fails refuses the call, and outer gates get the failure', async () => {
  const seen: unknown[] = [];
  const outer: CallGate = async (made, proceed) => {
    const outcome = await proceed(made);
    seen.push(outcome.ok);
    return outcome;
  };
  const broken: CallGate = () => Promise.reject(new TypeError('broken'));
  const { call, sent } = callThrough([outer, broken]);
  await expect(call('list')).rejects.toThrow('broken');
  expect([seen, sent]).toEqual([[false], []]);
});
