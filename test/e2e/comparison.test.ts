// Tags: anywhere, full
/** The tasks of the comparison give the same result both ways, and docs/comparison.md and the picture in README.md show it. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { type ComparisonRun, type Effort, runComparison } from '../../scripts/comparison/run.ts';
import { drawRun } from '../../scripts/picture/run-picture.ts';
import { THEMES } from '../../scripts/picture/themes.ts';
import { ROOT } from '../support/bridge-client.ts';
import { coverEngines } from '../support/covered-engines.ts';

const [engine] = await coverEngines();

describe.runIf(engine !== undefined)('the comparison', () => {
  let run: ComparisonRun;
  beforeAll(async () => {
    run = await runComparison(engine?.env ?? {});
  });

  it('matches the tokens and turns in the table', () => {
    const { definitions, tasks } = run;
    const document = readFileSync(join(ROOT, 'docs/comparison.md'), 'utf8');
    const format = (value: number) => value.toLocaleString('en-US');
    const pair = (direct: Effort, code: Effort, key: 'turns' | 'written' | 'read') =>
      `${format(direct[key])}, ${format(code[key])}`;
    expect(document).toContain(`${format(definitions.direct)} tokens for the ${definitions.tools} tools`);
    for (const { comparison, task } of tasks) {
      const { code, direct } = comparison;
      const columns = [task.title, ...(['turns', 'written', 'read'] as const).map((key) => pair(direct, code, key))];
      expect(document).toContain(`| ${columns.join(' | ')} |`);
    }
    const [simplest, , , logs] = tasks.map(({ comparison }) => comparison);
    expect(simplest?.code.written).toBeGreaterThan(simplest?.direct.written ?? 0);
    expect(logs?.code.read).toBeLessThan((logs?.direct.read ?? 0) / 1_000);
  });

  it.each(['light', 'dark'] as const)('matches the %s picture', (name) => {
    expect(readFileSync(join(ROOT, `docs/images/run-${name}.svg`), 'utf8')).toBe(drawRun(run, THEMES[name]));
  });
});
