/** A server that shows other tools in each list. */
import { expect, it } from 'vitest';
import type { CancelSignal } from '../../../src/core/base/cancel.ts';
import { silentLogger } from '../../../src/core/base/log.ts';
import type { ServerMetadata } from '../../../src/core/catalog/known.ts';
import { createToolPins, MAX_ACCEPTED } from '../../../src/features/pins/pinned-tools.ts';
import type { ToolPinStore } from '../../../src/features/pins/tool-pins.ts';

const SERVER = { name: 'cat' };
const signal = new AbortController().signal as unknown as CancelSignal;

/** Pins over a store in memory. */
function setUp() {
  let [tools, texts, saves] = [new Map(), new Map(), 0] as [
    Awaited<ReturnType<ToolPinStore['load']>>,
    Awaited<ReturnType<ToolPinStore['loadTexts']>>,
    number,
  ];
  let list: ServerMetadata = { tools: [], notices: [] };
  const pins = createToolPins({
    source: {
      kept: async () => undefined,
      current: async () => list,
      review: async (_, given) => given,
      flush: async () => undefined,
    },
    store: {
      load: async () => tools,
      loadTexts: async () => texts,
      async save(_, nextTools, nextTexts) {
        [tools, texts, saves] = [nextTools, nextTexts, saves + 1];
      },
      stampOf: () => String(saves),
      pathOf: () => 'pins',
    },
    mode: () => 'warn',
    ownerOf: () => undefined,
    logger: silentLogger,
  });
  return {
    pins,
    show(names: readonly string[], description = '') {
      const shown = names.map((name) => ({ name, description, inputSchema: {}, fingerprint: name + description }));
      list = { tools: shown, notices: [] };
      return pins.current(SERVER, signal);
    },
    stored: () => tools,
    saves: () => saves,
    characters: () => JSON.stringify([...texts]).length,
  };
}

const namesOf = (list: number): string[] => Array.from({ length: 9_000 }, (_, index) => `tool_${list}_${index}`);

it('the accepted tools of a server have a limit, beyond which those that are accepted stay protected', async () => {
  const { pins, saves, show, stored } = setUp();
  await show(['first', ...namesOf(0)]);
  for (let list = 1; list < 5; list += 1) {
    await show(['first', ...namesOf(list)]);
  }
  expect(stored().size).toBe(MAX_ACCEPTED);
  const before = saves();
  const { notices, tools } = await show(['first', ...namesOf(5)], 'changed');
  expect(saves()).toBe(before);
  expect(tools.filter(({ change }) => change !== undefined).map(({ name }) => name)).toEqual(['first']);
  expect(notices.join('\n')).toContain(`more than ${MAX_ACCEPTED.toLocaleString('en-US')} tools`);
  // What a person accepts takes the place of tools that are gone.
  await pins.accept(SERVER, await pins.current(SERVER, signal), ['first', 'tool_5_1']);
  expect([stored().size, stored().get('tool_5_1')?.fingerprint]).toEqual([expect.any(Number), 'tool_5_1changed']);
  expect(stored().size).toBeLessThanOrEqual(MAX_ACCEPTED);
});

it('the texts of accepted tools have a limit', async () => {
  const { characters, show, stored } = setUp();
  await show(
    Array.from({ length: 2_000 }, (_, index) => `tool_${index}`),
    'd'.repeat(20_000),
  );
  expect(stored().size).toBe(2_000);
  expect(characters()).toBeLessThan(17_000_000);
});
