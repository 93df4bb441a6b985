/**
 * What this project asks of its workflows, its forms for issues and its updates of dependencies. That GitHub understands the workflows is
 * the stage `workflows` of `npm run check`.
 */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import packageJson from '../../package.json' with { type: 'json' };
import { ROOT } from '../support/bridge-client.ts';

interface Step {
  readonly uses?: string;
  readonly run?: string;
  readonly with?: Readonly<Record<string, unknown>>;
}

interface Job {
  readonly uses?: string;
  readonly steps?: readonly Step[];
  readonly 'timeout-minutes'?: number;
}

interface Workflow {
  readonly permissions?: Readonly<Record<string, string>>;
  readonly concurrency?: object;
  readonly jobs: Readonly<Record<string, Job>>;
}

const read = (file: string): string => readFileSync(join(ROOT, '.github', file), 'utf8');
const WORKFLOWS = readdirSync(join(ROOT, '.github/workflows'));

describe.each(WORKFLOWS)('the workflow %s', (name) => {
  const text = read(`workflows/${name}`);
  const workflow = parse(text) as Workflow;
  const jobs = Object.values(workflow.jobs);
  const steps = jobs.flatMap((job) => job.steps ?? []);

  it('may read the repository and no more, unless a job says otherwise', () => {
    expect(workflow.permissions).toEqual({ contents: 'read' });
    expect(workflow.concurrency).toBeDefined();
  });

  it('bounds the time of every job of its own', () => {
    expect(jobs.filter((job) => job.uses === undefined && !(Number(job['timeout-minutes']) > 0))).toEqual([]);
  });

  it('names actions by commit, and their version beside it', () => {
    const named = text.match(/uses: (?!\.\/).*/g) ?? [];
    expect(named.length).toBeGreaterThan(0);
    expect(named.filter((line) => !/^uses: [\w-]+\/[\w-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+$/.test(line))).toEqual([]);
  });

  it('leaves no credentials in a checkout', () => {
    const checkouts = steps.filter(({ uses }) => uses?.startsWith('actions/checkout@'));
    expect(checkouts.filter((step) => step.with?.['persist-credentials'] !== false)).toEqual([]);
  });

  it('puts no text of others into a script', () => {
    expect(steps.filter(({ run }) => run?.includes('${{'))).toEqual([]);
  });

  it('runs scripts that exist', () => {
    const lines = steps.map(({ run = '' }) => run).join('\n');
    const files = [...lines.matchAll(/(?:^|node )((?:\.ci|scripts)\/[\w./-]+)/gm)].map(([, file = '']) => file);
    const scripts = [...lines.matchAll(/npm run ([\w:-]+)/g)].map(([, script = '']) => script);
    expect([...files, ...scripts].length).toBeGreaterThan(0);
    expect(files.filter((file) => !existsSync(join(ROOT, file)))).toEqual([]);
    expect(scripts.filter((script) => !Object.hasOwn(packageJson.scripts, script))).toEqual([]);
  });
});

describe('the forms for issues', () => {
  interface Field {
    readonly type: string;
    readonly id?: string;
    readonly attributes: { readonly label?: string; readonly value?: string; readonly options?: readonly unknown[] };
  }
  const forms = readdirSync(join(ROOT, '.github/ISSUE_TEMPLATE')).filter((file) => file !== 'config.yml');

  it.each(forms)('%s has what GitHub asks for', (file) => {
    const form = parse(read(`ISSUE_TEMPLATE/${file}`)) as { name: string; description: string; body: readonly Field[] };
    expect(form).toMatchObject({ name: expect.any(String), description: expect.any(String) });
    const [notes, fields] = [true, false].map((isNote) =>
      form.body.filter(({ type }) => (type === 'markdown') === isNote),
    );
    expect(notes?.filter(({ attributes }) => attributes.value === undefined)).toEqual([]);
    const isComplete = ({ type, id = '', attributes: { label = '', options = [] } }: Field) =>
      ['input', 'textarea', 'dropdown', 'checkboxes'].includes(type) &&
      /^[\w-]+$/.test(id) &&
      label !== '' &&
      (options.length > 0 || !['dropdown', 'checkboxes'].includes(type));
    expect(fields?.filter((field) => !isComplete(field))).toEqual([]);
    expect(new Set(fields?.map(({ id }) => id)).size).toBe(fields?.length);
  });
});

it('packages and actions are updated', () => {
  const { updates } = parse(read('dependabot.yml')) as {
    updates: { 'package-ecosystem': string; directory: string; schedule: object }[];
  };
  expect(updates.map((update) => update['package-ecosystem'])).toEqual(['npm', 'github-actions']);
  expect(updates.filter(({ directory }) => !existsSync(join(ROOT, directory)))).toEqual([]);
});
