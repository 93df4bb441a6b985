/**
 * The report as one HTML file: no script, no other file, no network. Its policy allows only its own style sheet, by its hash, so that
 * even markup that slipped through could load and run nothing. Light and dark follow the reader's system.
 */
import { createHash } from 'node:crypto';
import { VERSION } from '../../core/base/version.ts';
import { type Chart, renderChart } from './charts.ts';
import type { ActivityReport } from './collect.ts';
import { html, Markup } from './escape.ts';
import { approvalRows, failureRows, savingRow, serverRow, slowRows, summaryOf, useRow } from './text.ts';
import { shownCount, shownTime } from './words.ts';

const MAX_ROWS = 100;

const STYLE = `
:root{color-scheme:light dark;--ink:#1c2430;--dim:#5a6577;--page:#fff;--line:#d9dee6;--c1:#2f6fb7;--c2:#b3372f;--c3:#9a6700;--c4:#1f7a4d}
@media (prefers-color-scheme:dark){:root{--ink:#e6e9ee;--dim:#9aa5b5;--page:#14181f;--line:#333b47;--c1:#6ea8e6;--c2:#f0837b;--c3:#d9a93f;--c4:#5cc08d}}
body{font:15px/1.5 system-ui,sans-serif;color:var(--ink);background:var(--page);max-width:60rem;margin:2rem auto;padding:0 1rem}
h1{font-size:1.5rem}h2{font-size:1.15rem;margin-top:2rem}
figure{margin:1rem 0}figcaption{font-weight:600}svg{width:100%;height:auto}
.legend{list-style:none;display:flex;gap:1rem;padding:0;margin:.25rem 0;color:var(--dim)}
.legend li::before{content:"";display:inline-block;width:.8em;height:.8em;margin-right:.4em;background:currentColor}
.legend .c1::before{background:var(--c1)}.legend .c2::before{background:var(--c2)}.legend .c3::before{background:var(--c3)}.legend .c4::before{background:var(--c4)}
rect.c1{fill:var(--c1)}rect.c2{fill:var(--c2)}rect.c3{fill:var(--c3)}rect.c4{fill:var(--c4)}
.grid{stroke:var(--line)}svg text{fill:var(--dim);font-size:11px}.y{text-anchor:end}.x{text-anchor:middle}
.table{overflow-x:auto}table{border-collapse:collapse;width:100%}caption{text-align:left;color:var(--dim)}
th,td{text-align:left;padding:.25rem .75rem .25rem 0;border-bottom:1px solid var(--line);overflow-wrap:anywhere;vertical-align:top}
th{white-space:nowrap}.n{text-align:right;white-space:nowrap;font-variant-numeric:tabular-nums}
summary{cursor:pointer;color:var(--dim)}footer{color:var(--dim);margin-top:2rem}
`;

export function renderPage(report: ActivityReport): string {
  const { first, last, savings } = report;
  const hash = createHash('sha256').update(STYLE).digest('base64');
  const policy = `default-src 'none'; style-src 'sha256-${hash}'; base-uri 'none'; form-action 'none'`;
  const title = `What agents did, ${(first ?? '').slice(0, 10)} to ${(last ?? '').slice(0, 10)}`;
  return html`<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta http-equiv="Content-Security-Policy" content="${new Markup(policy)}">
<meta name="viewport" content="width=device-width, initial-scale=1"><meta name="referrer" content="no-referrer"><title>${title}</title>
<style>${new Markup(STYLE)}</style></head><body><main><h1>${title}</h1>
<ul>${summaryOf(report).map((line) => html`<li>${line}</li>`)}</ul>
<h2>Cells and calls</h2>${dayCharts(report)}
<h2>Servers and tools</h2>${uses(report)}
<h2>Failures and refusals</h2>${problems(report)}
<h2>Slowest cells</h2>${slowest(report)}
<h2>Approvals</h2>${approvals(report)}
<h2>Tokens</h2>${tokens(report)}
<details open><summary>How tokens are counted</summary><ul>${savings.method.map((line) => html`<li>${line}</li>`)}</ul></details>
</main><footer>Days and times are in UTC. Written ${shownTime(report.until)} by version ${VERSION}.</footer></body></html>
`.text;
}

function dayCharts({ days }: ActivityReport): Markup[] {
  const labels = days.map(({ day }) => day);
  const cells: Chart = {
    title: 'Cells per day',
    labels,
    isStacked: true,
    series: [
      { name: 'succeeded', color: 1, values: days.map((day) => day.cells - day.cells_failed - day.cells_refused) },
      { name: 'failed', color: 2, values: days.map((day) => day.cells_failed) },
      { name: 'refused', color: 3, values: days.map((day) => day.cells_refused) },
    ],
  };
  const calls: Chart = {
    title: 'Calls per day',
    labels,
    isStacked: true,
    series: [
      { name: 'succeeded', color: 1, values: days.map((day) => day.calls - day.failed - day.refused) },
      { name: 'failed', color: 2, values: days.map((day) => day.failed) },
      { name: 'refused', color: 3, values: days.map((day) => day.refused) },
    ],
  };
  const rows = days.map((day) => {
    const counts = [day.cells, day.cells_failed, day.cells_refused, day.calls, day.failed, day.refused];
    return [day.day, ...counts.map(shownCount)];
  });
  const header = ['Day', 'Cells', 'Failed', 'Refused', 'Calls', 'Failed', 'Refused'];
  return [renderChart(cells), renderChart(calls), table('Cells and calls per day', header, rows)];
}

const USES = ['Name', 'Calls', 'Failed', 'Refused', 'Median', 'p95', 'Result bytes'];

function uses({ servers, tools }: ActivityReport): Markup[] {
  return [table('Servers', USES, servers.map(useRow)), table('Tools', USES, tools.map(useRow))];
}

function problems(report: ActivityReport): Markup {
  return table('Errors, most frequent first', ['Error', 'Of a', 'Times'], failureRows(report));
}

function slowest(report: ActivityReport): Markup {
  const header = ['Cell', 'Began', 'Status', 'Duration', 'Calls', 'First line'];
  return table('Cells by duration', header, slowRows(report));
}

function approvals(report: ActivityReport): Markup {
  const header = ['What', 'Answer', 'By or for', 'Principal', 'Times', 'Last'];
  return table('What a person, a rule or a setting was asked', header, approvalRows(report));
}

function tokens({ savings: { days, servers } }: ActivityReport): Markup[] {
  const chart: Chart = {
    title: 'Tokens per day',
    labels: days.map(({ day }) => day),
    isStacked: false,
    series: [
      { name: 'directly', color: 3, values: days.map((day) => day.direct_tokens) },
      { name: 'with the bridge', color: 4, values: days.map((day) => day.bridge_tokens) },
    ],
  };
  const header = (name: string) => [name, 'Calls', 'With the bridge', 'Directly', 'Saved'];
  return [
    ...(days.length === 0 ? [] : [renderChart(chart)]),
    table(
      'Tokens by day',
      header('Day'),
      days.map((day) => savingRow(day.day, day)),
    ),
    table('Tokens by server', header('Server'), servers.map(serverRow)),
  ];
}

const NUMBER = /^-?[\d,.]+( ms| s)?$/;

function table(caption: string, header: readonly string[], rows: readonly (readonly string[])[]): Markup {
  if (rows.length === 0) {
    return html`<p>${caption}: none.</p>`;
  }
  // Days are in order, so the last ones are the newest.
  const shown = header[0] === 'Day' ? rows.slice(-MAX_ROWS) : rows.slice(0, MAX_ROWS);
  const more = rows.length > MAX_ROWS ? ` (${shownCount(rows.length - MAX_ROWS)} more in --json)` : '';
  const isNumber = (column: number): boolean => column > 0 && shown.every((row) => NUMBER.test(row[column] ?? ''));
  const cell = (text: string, column: number) =>
    column === 0
      ? html`<th scope="row">${text}</th>`
      : isNumber(column)
        ? html`<td class="n">${text}</td>`
        : html`<td>${text}</td>`;
  return html`<div class="table"><table><caption>${caption}${more}</caption><thead><tr>${header.map((text, column) =>
    isNumber(column) ? html`<th scope="col" class="n">${text}</th>` : html`<th scope="col">${text}</th>`,
  )}</tr></thead><tbody>
${shown.map(
  (row) => html`<tr>${row.map(cell)}</tr>
`,
)}</tbody></table></div>
`;
}
