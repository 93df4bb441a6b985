/** Tasks on data that is wrong or missing in parts. */
import { createRandom } from '../../../test/soak/random.ts';
import type { Tree } from '../workspace.ts';
import { compareTrees, type EvalTask, sameTrimmed } from './task.ts';

const ROWS = 160;

interface Sales {
  readonly csv: string;
  readonly report: { readonly months: Record<string, number>; readonly skipped: number };
}

/** Amounts are whole cents written with two digits, so that sums are exact. */
function sales(): Sales {
  const random = createRandom(23);
  const lines = ['id,date,amount'];
  const seen = new Set<string>();
  const cents = new Map<string, number>();
  let skipped = 0;
  for (let row = 0; row < ROWS; row += 1) {
    const id = `S${100 + random.below(130)}`;
    const month = `2026-0${1 + random.below(6)}`;
    const amount =
      random.below(8) === 0 ? random.pick(['', 'n/a', '12,50', '-']) : (random.below(50_000) / 100).toFixed(2);
    lines.push(`${id},${month}-${String(1 + random.below(28)).padStart(2, '0')},${amount}`);
    if (!/^\d+\.\d\d$/.test(amount) || seen.has(id)) {
      skipped += 1;
    } else {
      seen.add(id);
      cents.set(month, (cents.get(month) ?? 0) + Math.round(Number(amount) * 100));
    }
  }
  const months = Object.fromEntries([...cents].map(([month, sum]) => [month, sum / 100]));
  return { csv: `${lines.join('\n')}\n`, report: { months, skipped } };
}

const CLEAN_SALES: EvalTask = {
  id: 'clean-sales',
  title: `monthly sums from ${ROWS} rows, some of them invalid`,
  build: (workspace) => workspace.write('sales/sales.csv', sales().csv),
  prompt:
    () => `Read sales/sales.csv from top to bottom. Skip a row if its amount is not digits, a point and two digits; skip it too if a row with the same id was counted before.
Write sales/report.json: an object with "months", which maps each month as "YYYY-MM" to the sum of its counted amounts as a number, and "skipped", the number of skipped rows.`,
  check({ read }) {
    const { months, skipped } = sales().report;
    const text = read('sales/report.json');
    if (text === undefined) {
      return ['sales/report.json is missing'];
    }
    const report = parse(text) as { months?: Record<string, unknown>; skipped?: unknown } | undefined;
    const names = new Set([...Object.keys(months), ...Object.keys(report?.months ?? {})]);
    const wrong = [...names].filter(
      (month) => Math.round(Number(report?.months?.[month]) * 100) !== Math.round((months[month] ?? Number.NaN) * 100),
    );
    return [
      ...wrong.map((month) => `the sum of ${month} is wrong`),
      ...(report?.skipped === skipped ? [] : [`skipped is not ${skipped}`]),
    ];
  },
};

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    // The checker reports every value as wrong.
    return undefined;
  }
}

interface Invoices {
  readonly tree: Tree;
  readonly result: string;
}

/** A ledger and the invoices it should agree with; some are missing, unreadable, not booked, or have another amount. */
function invoices(): Invoices {
  const random = createRandom(29);
  const tree: Record<string, string> = {};
  const ledger = ['invoice,amount'];
  const problems: string[] = [];
  for (let number = 501; number <= 526; number += 1) {
    const id = `INV-${number}`;
    const amount = (random.below(90_000) / 100 + 10).toFixed(2);
    const fault = random.pick(['', '', '', 'missing', 'unreadable', 'unbooked', 'amount']);
    const shown = fault === 'amount' ? (Number(amount) + 3).toFixed(2) : amount;
    if (fault !== 'missing') {
      tree[`${id}.txt`] =
        `Invoice ${id}\nCustomer ${random.below(40)}\n${fault === 'unreadable' ? 'Total: ???' : `Total: ${shown} EUR`}\n`;
    }
    if (fault !== 'unbooked') {
      ledger.push(`${id},${amount}`);
    }
    if (fault !== '') {
      problems.push(`${id},${fault}`);
    }
  }
  return {
    tree: { ...tree, 'ledger.csv': `${ledger.join('\n')}\n` },
    result: `invoice,problem\n${problems.join('\n')}\n`,
  };
}

const RECONCILE: EvalTask = {
  id: 'reconcile',
  title: 'compare 26 invoices with a ledger',
  build: (workspace) => workspace.writeTree('invoices', invoices().tree),
  prompt: () =>
    `Compare the files invoices/INV-*.txt with invoices/ledger.csv. Write invoices/result.csv: the header "invoice,problem", then one line for each invoice with a problem, sorted by invoice. Problems are: missing (in the ledger, but there is no file), unbooked (there is a file, but it is not in the ledger), unreadable (the total in the file is no number), amount (the total differs from the ledger). Leave the other files as they are.`,
  check: ({ tree }) =>
    compareTrees(tree('invoices'), { ...invoices().tree, 'result.csv': invoices().result }, sameTrimmed),
};

const STATIONS = [
  'aspen',
  'brook',
  'cliff',
  'delta',
  'elm',
  'ford',
  'glade',
  'heath',
  'islet',
  'juniper',
  'knoll',
  'lagoon',
];
const WITHOUT_FILE = ['cliff', 'heath', 'knoll'];
const EMPTY = 'ford';

function readings(): { readonly tree: Tree; readonly averages: string } {
  const random = createRandom(31);
  const tree: Record<string, string> = { 'stations.txt': `${STATIONS.join('\n')}\n` };
  const lines = STATIONS.map((station) => {
    const temperatures = station === EMPTY ? [] : Array.from({ length: 8 }, () => random.below(300) / 10 - 5);
    if (WITHOUT_FILE.includes(station)) {
      return `${station},no data`;
    }
    tree[`readings/${station}.txt`] = temperatures.map((value) => `${value.toFixed(1)}\n`).join('');
    const sum = temperatures.reduce((total, value) => total + Math.round(value * 10), 0);
    // Rounded down to one digit, in tenths, which avoids floating-point rounding.
    return `${station},${temperatures.length === 0 ? 'no data' : (Math.floor(sum / temperatures.length) / 10).toFixed(1)}`;
  });
  return { tree, averages: `station,average\n${lines.join('\n')}\n` };
}

const AVERAGES: EvalTask = {
  id: 'averages',
  title: 'averages from files, some of which do not exist',
  build: (workspace) => workspace.writeTree('weather', readings().tree),
  prompt: () =>
    `weather/stations.txt lists stations; the temperatures of a station are in weather/readings/STATION.txt, one a line. Write weather/averages.csv: the header "station,average", then one line for each station in the order of stations.txt, with the average of its temperatures, rounded down (towards minus infinity) to one decimal, as in "oak,7.0". If a station has no file or its file is empty, write "no data" instead of the average.`,
  check: ({ read }) =>
    sameTrimmed(read('weather/averages.csv') ?? '', readings().averages)
      ? []
      : ['weather/averages.csv is missing or wrong'],
};

export const DATA_TASKS: readonly EvalTask[] = [CLEAN_SALES, RECONCILE, AVERAGES];
