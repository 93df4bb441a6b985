import { expect, it } from 'vitest';
import type { ToolCall } from '../../../src/calls/contract.ts';
import { createCallPipeline } from '../../../src/calls/tool-calls.ts';
import type { CatalogTool, ToolChange } from '../../../src/catalog/known.ts';
import { createPinGate } from '../../../src/pins/gate.ts';

/** The gate, a call of a tool with that change, and what the directory says of it when it is asked again. */
function setUp(change: ToolChange | undefined, later: ToolChange | undefined) {
  const tool = (now: ToolChange | undefined): CatalogTool => ({
    name: 'look',
    alias: 'look',
    description: '',
    inputSchema: {},
    ...(now === undefined ? {} : { change: now }),
  });
  const asked: string[] = [];
  const gate = createPinGate({
    async review(server) {
      asked.push(server.name);
    },
    findTool: async () => tool(later),
  });
  const call = { server: { name: 'my cat' }, tool: tool(change), context: {} } as unknown as ToolCall;
  const pipeline = createCallPipeline({ gates: [gate] });
  return { asked, run: () => pipeline.make(call, async () => 'answer') };
}

const CHANGED = { parts: ['description'], since: '2026-11-21', isRefused: true };

it('lets a tool through that is as it was accepted, and one that may differ, without looking further', async () => {
  for (const change of [undefined, { ...CHANGED, isRefused: false }]) {
    const { asked, run } = setUp(change, change);
    expect(await run()).toBe('answer');
    expect(asked).toEqual([]);
  }
});

it('refuses one that changed, and says what a person can type', async () => {
  await expect(setUp(CHANGED, CHANGED).run()).rejects.toMatchObject({
    code: 'TOOL_CHANGED',
    message: "'look' of server 'my cat' was not called: its definition is changed since 2026-11-21: description",
    hint: "A person can look at it and accept it: mcp-server-code-execution-mode servers approve 'my cat' look",
    data: { server: 'my cat', tool: 'look', changed: ['description'] },
  });
});

it('looks again before it refuses: it may have been accepted meanwhile', async () => {
  const { asked, run } = setUp(CHANGED, undefined);
  expect(await run()).toBe('answer');
  expect(asked).toEqual(['my cat']);
});
