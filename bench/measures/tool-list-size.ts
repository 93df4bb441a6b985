/** The tokens of the tool list in every conversation, with and without servers behind the bridge. */
import { encode } from 'gpt-tokenizer/encoding/o200k_base';
import type { BenchContext } from '../context.ts';
import { atMost, type Measure, type Quantity } from '../rows.ts';
import { withBridge } from '../support/bridge.ts';
import { ECHO } from '../support/servers.ts';

const MANY_SERVERS = 20;
/** Tokens of the Python program of the same name, which users migrate from. */
const REFERENCE_TOKENS = 211;

export const toolListSize: Measure = {
  name: 'tool-list-size',
  title: 'size of the tool list',
  isForAllEngines: true,
  async run(context) {
    const none = await countTokens(context, 0);
    const many = await countTokens(context, MANY_SERVERS);
    const measured: Quantity = { value: many, unit: 'tokens' };
    return [
      {
        figure: `\`tools/list\` with ${MANY_SERVERS} servers (o200k_base)`,
        measured,
        detail: `${none} with none`,
        floor: { value: REFERENCE_TOKENS, unit: 'tokens', what: 'Python program of the same name' },
        goals: [atMost(measured, 195), { text: 'the same with none', isMet: none === many }],
      },
    ];
  },
};

function countTokens(context: BenchContext, serverCount: number): Promise<number> {
  const servers = Object.fromEntries(Array.from({ length: serverCount }, (_, index) => [`server-${index}`, ECHO]));
  return withBridge(context, { servers }, async ({ client }) => {
    const { tools } = await client.listTools();
    return encode(JSON.stringify(tools)).length;
  });
}
