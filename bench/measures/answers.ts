/** The tokens of answers in each output mode, and the time to a cell's first progress notification. */
import { encode } from 'gpt-tokenizer/encoding/o200k_base';
import { type CellAnswer, DEFAULT_SESSION, NO_OUTPUT, type OutputText } from '../../src/core/base/cell.ts';
import { OUTPUT_MODES, type OutputMode, renderAnswer } from '../../src/core/render/render.ts';
import type { BenchContext } from '../context.ts';
import { type Measure, type Row, rowsOrReason } from '../rows.ts';
import { withBridge } from '../support/bridge.ts';
import { median } from '../support/statistics.ts';

const text = (head: string): OutputText => ({ ...NO_OUTPUT, head });
const answer = (fields: Partial<CellAnswer>): CellAnswer => ({
  status: 'success',
  stdout: NO_OUTPUT,
  stderr: NO_OUTPUT,
  servers: ['github'],
  session: DEFAULT_SESSION,
  timeoutSeconds: 30,
  notices: [],
  cell: 3,
  ...fields,
});

const TRACEBACK = `Traceback (most recent call last):
  File "<cell 3>", line 2, in <module>
    total = sum(row["count"] for row in rows)
KeyError: 'count'`;

const EXCEPTION = { message: "'count'", exception: 'KeyError', traceback: TRACEBACK };

/** Typical answers of cells. */
const TYPICAL: Readonly<Record<string, CellAnswer>> = {
  'a value': answer({ value: "{'open': 12, 'closed': 30}" }),
  nothing: answer({}),
  '20 printed lines': answer({
    stdout: text(Array.from({ length: 20 }, (_, index) => `#${index + 1} Fix the ${index}th thing (open)\n`).join('')),
  }),
  'an exception': answer({ status: 'error', exitCode: 1, error: EXCEPTION }),
};

const FIRST_PROGRESS = 'first progress notification of a cell that starts a sandbox, p50';

export const answers: Measure = {
  name: 'answers',
  title: 'answers',
  run: async (context) => [
    ...(await Promise.all(OUTPUT_MODES.map(tokensOf))),
    ...(await rowsOrReason(FIRST_PROGRESS, async () => [await firstProgress(context)])),
  ],
};

async function tokensOf(mode: OutputMode): Promise<Row> {
  const counts = await Promise.all(
    Object.entries(TYPICAL).map(async ([name, each]): Promise<[string, number]> => {
      const { content } = await renderAnswer(each, mode);
      return [name, encode(content[0].text).length];
    }),
  );
  const total = counts.reduce((sum, [, count]) => sum + count, 0);
  return {
    figure: `text of typical answers, mode \`${mode}\` (o200k_base)`,
    measured: { value: total, unit: 'tokens' },
    detail: counts.map(([name, count]) => `${name} ${count}`).join(', '),
    goals: [],
  };
}

/** Uses a new session each time, so a sandbox has to start. */
async function firstProgress(context: BenchContext): Promise<Row> {
  return withBridge(context, {}, async ({ client, run, engine }) => {
    await run('1');
    const samples: number[] = [];
    for (let index = 0; index < context.repeats(10); index += 1) {
      const begun = performance.now();
      let first: number | undefined;
      await client.callTool(
        { name: 'run_python', arguments: { code: '1', session: `progress-${index}` } },
        { onprogress: () => (first ??= performance.now() - begun) },
      );
      samples.push(first ?? Number.POSITIVE_INFINITY);
    }
    return {
      figure: FIRST_PROGRESS,
      engine: engine(),
      measured: { value: median(samples), unit: 'ms' },
      goals: [],
    };
  });
}
