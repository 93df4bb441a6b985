import { expect, it } from 'vitest';
import type { ToolCall } from '../../../src/core/calls/contract.ts';
import { createCallPipeline } from '../../../src/core/calls/pipeline.ts';
import type { CatalogTool, ToolChange } from '../../../src/core/catalog/known.ts';
import { createPinGate } from '../../../src/features/pins/gate.ts';

/** The gate, a call to a tool with `change`, and a directory that reports `later` when asked again. */
function setUp(change: ToolChange | undefined, later: ToolChange | undefined) {
  const tool = (now: ToolChange | undefined): CatalogTool => ({
    name: 'look',
    alias: 'look',
    description: '',
    inputSchema: {},
    ...(now === undefined ? {} : { change: now }),
  });
  const asked: string[] = [];
  const directory = {
    async review(server: { readonly name: string }) {
      asked.push(server.name);
    },
    findTool: async () => tool(later),
    metadata: () => ({ tools: [tool(later)], notices: [] }),
  };
  const gate = createPinGate(directory, () => undefined);
  const call = { server: { name: 'my cat' }, tool: tool(change), context: {} } as unknown as ToolCall;
  const pipeline = createCallPipeline({ gates: [gate] });
  return { asked, run: () => pipeline.make(call, async () => 'answer') };
}

const CHANGED = { parts: ['description'], since: '2026-11-21', isRefused: true };

it('allows a tool with its accepted definition, or one that may differ, without asking again', async () => {
  for (const change of [undefined, { ...CHANGED, isRefused: false }]) {
    const { asked, run } = setUp(change, change);
    expect(await run()).toBe('answer');
    expect(asked).toEqual([]);
  }
});

it('refuses a changed tool, and names the command that accepts it', async () => {
  await expect(setUp(CHANGED, CHANGED).run()).rejects.toMatchObject({
    code: 'TOOL_CHANGED',
    message: "'look' of server 'my cat' was not called: definition changed since 2026-11-21: description",
    hint: "To review and accept it, the user can run: mcp-server-code-execution-mode servers approve 'my cat' look",
    data: { server: 'my cat', tool: 'look', changed: ['description'] },
  });
});

it('asks again before it refuses, because the tool may have been accepted in the meantime', async () => {
  const { asked, run } = setUp(CHANGED, undefined);
  expect(await run()).toBe('answer');
  expect(asked).toEqual(['my cat']);
});

it('refuses a tool whose change became known after the call began', async () => {
  await expect(setUp(undefined, CHANGED).run()).rejects.toMatchObject({ code: 'TOOL_CHANGED' });
});
