/** `npm run lab -- plan --costs FILE`: what many sessions need, from what `npm run lab -- load --save FILE` has measured. */
import { readFile, writeFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { replaceGenerated } from '../../scripts/generate/markers.ts';
import { messageOf } from '../../src/core/base/errors.ts';
import { BEHAVIOURS, planFor, renderAgreement, renderPlan, workOf } from './plan.ts';
import { renderLoad } from './report.ts';
import { loadResults } from './results.ts';

const PAGE = fileURLToPath(new URL('README.md', import.meta.url));
const PLAN_USAGE = `npm run lab -- plan --costs FILE [options]

  --costs FILE      what \`npm run lab -- load --save FILE\` has written
  --clients N       1000 by default
  --idle S          seconds after which an idle session loses its sandbox; 300 by default
  --max-live N      live sandboxes of all bridges together; no limit by default
  --seed N          1 by default
  --write           also write the figures to bench/load/README.md
`;

async function main(argv: readonly string[]): Promise<void> {
  const text = { type: 'string' } as const;
  const { values } = parseArgs({
    args: [...argv],
    options: {
      costs: text,
      clients: text,
      idle: text,
      'max-live': text,
      seed: text,
      write: { type: 'boolean' },
      help: { type: 'boolean', short: 'h' },
    },
  });
  if (values.help === true || values.costs === undefined) {
    console.log(PLAN_USAGE);
    return;
  }
  const results = await loadResults(values.costs);
  const { costs, memory, search } = results;
  if (costs === undefined) {
    throw new Error(`${values.costs} has no costs: run \`npm run lab -- load\` without --only, or with --only costs`);
  }
  const options = {
    clients: Number(values.clients ?? 1_000),
    idleMs: Number(values.idle ?? 300) * 1_000,
    maxLive: Number(values['max-live'] ?? Infinity),
    leastSeconds: 300,
    seed: Number(values.seed ?? 1),
  };
  const agreement = renderAgreement(search?.steps ?? [], costs, options.seed);
  const plans = Object.entries(BEHAVIOURS).map(([name, behaviour]) => planFor(name, behaviour, workOf(costs), options));
  const plan = renderPlan(plans, memory, options);
  console.log(`${agreement}\n\n${plan}`);
  if (values.write === true) {
    const page = await readFile(PAGE, 'utf8');
    const parts = { load: () => renderLoad(results), agreement: () => agreement, plan: () => plan };
    await writeFile(PAGE, replaceGenerated(page, parts));
  }
}

try {
  await main(process.argv.slice(2));
} catch (error) {
  console.error(messageOf(error));
  process.exitCode = 1;
}
