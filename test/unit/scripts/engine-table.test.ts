/** The table of session suite results by engine. */
import { describe, expect, it } from 'vitest';
import { renderEngineTable } from '../../../scripts/engine-table.mjs';

const results = [
  { ancestorTitles: ['session on podman', 'errors'], title: 'are shown', status: 'passed' },
  { ancestorTitles: ['session on podman', 'errors'], title: 'of forks', status: 'failed' },
  { ancestorTitles: ['session on embedded', 'errors'], title: 'are shown', status: 'passed' },
  {
    ancestorTitles: ['session on embedded', 'errors'],
    title: 'not covered: embedded has no child processes: of forks',
    status: 'skipped',
  },
  { ancestorTitles: [], title: 'not covered: docker: there is no command "docker"', status: 'skipped' },
];

describe('the table of engines', () => {
  it('counts by part and lists exceptions', () => {
    expect(renderEngineTable(results, false)).toBe(`| | podman | embedded |
| --- | --- | --- |
| errors | 1 of 2 | 1 of 2 |

- podman, errors: of forks: FAILED
- embedded, errors: of forks: no child processes`);
  });

  it('can have a row for each case', () => {
    expect(renderEngineTable(results, true)).toContain('| errors: of forks | FAILED | no child processes |');
  });
});
