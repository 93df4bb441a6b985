/** Reference solutions that call the tools one by one or several at once. What lies between the calls is done by the model in its head. */
import type { ToolCall } from '../toolset.ts';
import type { SolutionContext } from './code.ts';

/** Makes the calls of one turn and returns their texts. */
export type Turn = (...calls: ToolCall[]) => Promise<string[]>;

type DirectSolution = (turn: Turn, context: SolutionContext) => Promise<string>;

const call = (name: string, args: Readonly<Record<string, unknown>>): ToolCall => ({ name, arguments: args });
const readCall = (path: string): ToolCall => call('filesystem.read_text_file', { path });
const writeCall = (path: string, content: string): ToolCall => call('filesystem.write_file', { path, content });
const sqlCall = (sql: string): ToolCall => call('database.execute_sql', { sql });
const linesOf = (text: string): string[] => text.split('\n').filter((line) => line !== '');

async function one(turn: Turn, wanted: ToolCall): Promise<string> {
  const [text = ''] = await turn(wanted);
  return text;
}

/** Finds files, then reads all of them in one turn. */
async function readAll(turn: Turn, path: string, pattern: string): Promise<(readonly [string, string])[]> {
  const found = await one(turn, call('filesystem.search_files', { path, pattern }));
  const paths = linesOf(found)
    .map((line) => line.replaceAll('\\', '/'))
    .toSorted();
  const texts = await turn(...paths.map(readCall));
  return paths.map((name, index) => [name, texts[index] ?? ''] as const);
}

/** Writes back what `change` changes. */
async function rewrite(
  turn: Turn,
  files: readonly (readonly [string, string])[],
  change: (text: string) => string,
): Promise<void> {
  const changed = files.map(([path, text]) => [path, text, change(text)] as const);
  await turn(
    ...changed.filter(([, before, after]) => before !== after).map(([path, , after]) => writeCall(path, after)),
  );
}

interface Row {
  readonly [column: string]: string | number;
}

function rowsOf(answer: string): Row[] {
  const { data } = JSON.parse(answer) as { data: { statements: { rows: Row[] }[] } };
  return data.statements.flatMap(({ rows }) => rows);
}

function addTo(sums: Map<string, number>, key: string, value: number): void {
  sums.set(key, (sums.get(key) ?? 0) + value);
}

const FILES: Readonly<Record<string, DirectSolution>> = {
  contact: async (turn) => /Ines Okafor: (.*)/.exec(await one(turn, readCall('contacts.md')))?.[1] ?? '',
  async journal(turn) {
    const text = await one(turn, readCall('house/journal.md'));
    await turn(writeCall('house/journal.md', `${text}- 2026-11-23: boiler serviced\n`));
    return 'done';
  },
  async 'payment-errors'(turn) {
    const lines = (await readAll(turn, 'logs', '*.log')).flatMap(([, text]) => linesOf(text));
    return String(lines.filter((line) => /^\S+ ERROR \S+ .*payment/.test(line)).length);
  },
  async 'top-clients'(turn) {
    const sums = new Map<string, number>();
    for (const fields of linesOf(await one(turn, readCall('web/access.log'))).map((line) => line.split(' '))) {
      if (fields.at(-2) === '200') {
        addTo(sums, fields[0] ?? '', Number(fields.at(-1)));
      }
    }
    const top = [...sums].toSorted(([, a], [, b]) => b - a).slice(0, 3);
    return top.map(([address, sum]) => `${address} ${sum}`).join(', ');
  },
  async 'raise-timeouts'(turn) {
    await rewrite(turn, await readAll(turn, 'services', '**/config.json'), (text) =>
      text.includes('"tier": "gold"') ? text.replace(/("timeout_seconds": )\d+/, '$145') : text,
    );
    return 'done';
  },
  async 'rename-page'(turn) {
    await turn(call('filesystem.move_file', { source: 'manual/setup.md', destination: 'manual/install.md' }));
    await rewrite(turn, await readAll(turn, 'manual', '**/*.md'), (text) =>
      text.replaceAll(/(\]\((?:\.\.\/)?)setup\.md/g, '$1install.md'),
    );
    return 'done';
  },
  async 'add-headers'(turn) {
    const header = '# Copyright 2026 The Library Authors\n';
    await rewrite(turn, await readAll(turn, 'library', '**/*.py'), (text) =>
      text.includes(header) ? text : text.replace(/^(#!.*\n)?/, (first) => first + header),
    );
    return 'done';
  },
};

const DATA: Readonly<Record<string, DirectSolution>> = {
  async 'clean-sales'(turn) {
    const [, ...rows] = linesOf(await one(turn, readCall('sales/sales.csv')));
    const seen = new Set<string>();
    const cents = new Map<string, number>();
    for (const row of rows) {
      const [, id = '', month = '', amount = ''] = /^(\w+),(.{7})...,(\d+\.\d\d)$/.exec(row) ?? [];
      if (amount !== '' && !seen.has(id)) {
        seen.add(id);
        addTo(cents, month, Number(amount.replace('.', '')));
      }
    }
    const months = Object.fromEntries([...cents].map(([month, sum]) => [month, sum / 100]));
    await turn(writeCall('sales/report.json', JSON.stringify({ months, skipped: rows.length - seen.size })));
    return 'done';
  },
  async reconcile(turn) {
    const files = await readAll(turn, 'invoices', 'INV-*.txt');
    const totals = new Map(
      files.map(([path, text]) => [/INV-\d+/.exec(path)?.[0] ?? '', /Total: ([\d.]+) EUR/.exec(text)?.[1]]),
    );
    const [, ...lines] = linesOf(await one(turn, readCall('invoices/ledger.csv')));
    const booked = new Map(lines.map((line) => line.split(',') as [string, string]));
    const problemOf = (id: string): string => {
      if (!totals.has(id) || !booked.has(id)) {
        return totals.has(id) ? 'unbooked' : 'missing';
      }
      const amount = totals.get(id);
      return amount === undefined ? 'unreadable' : amount === booked.get(id) ? '' : 'amount';
    };
    const ids = [...new Set([...totals.keys(), ...booked.keys()])].toSorted();
    const problems = ids.filter((id) => problemOf(id) !== '').map((id) => `${id},${problemOf(id)}\n`);
    await turn(writeCall('invoices/result.csv', `invoice,problem\n${problems.join('')}`));
    return 'done';
  },
  async averages(turn) {
    const stations = linesOf(await one(turn, readCall('weather/stations.txt')));
    const texts = await turn(...stations.map((station) => readCall(`weather/readings/${station}.txt`)));
    const lines = stations.map((station, index) => {
      const tenths = [...(texts[index] ?? '').matchAll(/^-?\d+\.\d$/gm)].map(([value]) =>
        Math.round(Number(value) * 10),
      );
      const sum = tenths.reduce((all, value) => all + value, 0);
      return `${station},${tenths.length === 0 ? 'no data' : (Math.floor(sum / tenths.length) / 10).toFixed(1)}\n`;
    });
    await turn(writeCall('weather/averages.csv', `station,average\n${lines.join('')}`));
    return 'done';
  },
};

const DATABASE: Readonly<Record<string, DirectSolution>> = {
  async 'best-customer'(turn) {
    const [best] = rowsOf(
      await one(
        turn,
        sqlCall(
          "SELECT name FROM customers JOIN orders ON customer_id = customers.id WHERE state = 'paid' AND day LIKE '2025%' GROUP BY name ORDER BY sum(amount_cents) DESC LIMIT 1",
        ),
      ),
    );
    return String(best?.['name']);
  },
  async 'export-quarter'(turn) {
    const rows = rowsOf(
      await one(turn, sqlCall("SELECT * FROM orders WHERE day BETWEEN '2026-07-01' AND '2026-09-30' ORDER BY id")),
    );
    const regions = [...new Set(rows.map(({ region }) => String(region)))];
    await turn(call('filesystem.create_directory', { path: 'exports' }));
    await turn(
      ...regions.map((region) => {
        const lines = rows
          .filter((row) => row['region'] === region)
          .map((row) => `${row['id']},${row['day']},${row['amount_cents']}\n`);
        return writeCall(`exports/${region}.csv`, `id,day,amount_cents\n${lines.join('')}`);
      }),
    );
    return 'done';
  },
  async restock(turn) {
    const [delivery = '', parts = ''] = await turn(
      readCall('warehouse/delivery.csv'),
      sqlCall('SELECT sku FROM parts'),
    );
    const known = new Set(rowsOf(parts).map(({ sku }) => String(sku)));
    const [, ...lines] = linesOf(delivery);
    const delivered = lines.map((line) => line.split(';') as [string, string]);
    const updates = delivered
      .filter(([sku]) => known.has(sku))
      .map(([sku, quantity]) => `UPDATE parts SET quantity = quantity + ${quantity} WHERE sku = '${sku}'`);
    const unknown = [...new Set(delivered.map(([sku]) => sku).filter((sku) => !known.has(sku)))].toSorted();
    await turn(
      sqlCall(updates.join('; ')),
      writeCall('warehouse/unknown.txt', unknown.map((sku) => `${sku}\n`).join('')),
    );
    return 'done';
  },
};

const REPOSITORIES: Readonly<Record<string, DirectSolution>> = {
  async 'find-commit'(turn, { folder }) {
    const path = `${folder}/repos/gateway`;
    const { commits } = JSON.parse(await one(turn, call('git.git_log', { path, maxCount: 1000 }))) as {
      commits: { hash: string }[];
    };
    let [newest, oldest] = [0, commits.length - 1];
    while (oldest - newest > 1) {
      const middle = Math.floor((newest + oldest) / 2);
      const object = `${commits[middle]?.hash}:settings.ini`;
      const text = await one(turn, call('git.git_show', { path, object }));
      [newest, oldest] = text.includes('request_limit = 1000') ? [newest, middle] : [middle, oldest];
    }
    return commits[newest]?.hash ?? '';
  },
  async release(turn, { folder }) {
    const path = `${folder}/repos/suite`;
    await turn(call('git.git_checkout', { path, target: 'release/2.4.0', createBranch: true }));
    await rewrite(turn, await readAll(turn, 'repos/suite/packages', '**/package.json'), (text) =>
      text.replaceAll(/("(?:version|core)": )"2\.3\.1"/g, '$1"2.4.0"'),
    );
    await turn(call('git.git_add', { path, all: true }));
    await turn(call('git.git_commit', { path, message: 'Release 2.4.0' }));
    return 'done';
  },
  async 'merged-branches'(turn, { folder }) {
    const path = `${folder}/repos/site`;
    const [log = '', list = ''] = await turn(
      call('git.git_log', { path, maxCount: 1000 }),
      call('git.git_branch', { path }),
    );
    const { branches } = JSON.parse(list) as { branches: { name: string; commitHash: string }[] };
    const merged = branches.filter(
      ({ commitHash, name }) => name !== 'main' && log.includes(`"hash": "${commitHash}"`),
    );
    await turn(...merged.map(({ name }) => call('git.git_branch', { path, mode: 'delete', branchName: name })));
    return 'done';
  },
};

const GRAPH: Readonly<Record<string, DirectSolution>> = {
  async 'store-people'(turn) {
    const facts = (await readAll(turn, 'people', '*.md')).map(([, text]) => ({
      name: /# (.*)/.exec(text)?.[1] ?? '',
      role: /Role: (.*)/.exec(text)?.[1],
      team: /Team: (.*)/.exec(text)?.[1],
      boss: /Reports to: (.*)/.exec(text)?.[1],
    }));
    const entities = facts.map(({ name, role, team }) => ({
      name,
      entityType: 'person',
      observations: [`role: ${role}`, `team: ${team}`],
    }));
    const relations = facts.flatMap(({ boss, name }) =>
      boss === undefined ? [] : [{ from: name, to: boss, relationType: 'reports_to' }],
    );
    await turn(call('memory.create_entities', { entities }));
    await turn(call('memory.create_relations', { relations }));
    return 'done';
  },
  async 'affected-systems'(turn) {
    const { relations } = JSON.parse(await one(turn, call('memory.read_graph', {}))) as {
      relations: { from: string; to: string; relationType: string }[];
    };
    const affected = new Set(['system-03']);
    for (let size = 0; size < affected.size; ) {
      size = affected.size;
      for (const { from } of relations.filter(({ to, relationType }) => relationType === 'uses' && affected.has(to))) {
        affected.add(from);
      }
    }
    affected.delete('system-03');
    return [...affected].join(', ');
  },
};

/** The HTML of a page, in a browser or over HTTP. */
async function pageOf(turn: Turn, { hasBrowser, shop }: SolutionContext, path: string): Promise<string> {
  if (!hasBrowser) {
    return (JSON.parse(await one(turn, call('web.curl', { url: shop + path }))) as { body: string }).body;
  }
  await turn(call('browser.browser_navigate', { url: shop + path }));
  const read = call('browser.browser_evaluate', { function: '() => document.body.innerHTML' });
  return (await one(turn, read)).replaceAll('\\"', '"');
}

async function order(turn: Turn, context: SolutionContext, sku: string, coupon: string): Promise<string> {
  const form = { quantity: '2', customer: 'Mara Lindqvist', coupon };
  if (!context.hasBrowser) {
    return one(
      turn,
      call('web.curl', {
        url: `${context.shop}/order`,
        method: 'POST',
        headers: { 'content-type': 'application/x-www-form-urlencoded' },
        body: new URLSearchParams({ sku, ...form }).toString(),
      }),
    );
  }
  const fields = Object.entries(form).map(([name, value]) => ({ name, type: 'textbox', target: `#${name}`, value }));
  await turn(call('browser.browser_fill_form', { fields }));
  await turn(call('browser.browser_click', { target: '#order' }));
  return one(turn, call('browser.browser_evaluate', { function: '() => document.body.innerText' }));
}

async function productsOf(
  turn: Turn,
  context: SolutionContext,
): Promise<{ sku: string; name: string; price: string }[]> {
  const pages: string[] = [];
  for (let number = 1; number <= 6; number += 1) {
    pages.push(await pageOf(turn, context, `/products?page=${number}`));
  }
  const rows = pages.join('').matchAll(/<td>(P\d+)<\/td><td><a[^>]*>([^<]*)<\/a><\/td><td>([\d.]+) EUR/g);
  return [...rows].map(([, sku = '', name = '', price = '']) => ({ sku, name, price }));
}

const SHOP: Readonly<Record<string, DirectSolution>> = {
  async 'order-lamps'(turn, context) {
    const coupon = /coupon code <b>(.*?)<\/b>/.exec(await pageOf(turn, context, '/offers'))?.[1] ?? '';
    const lamps = (await productsOf(turn, context))
      .filter(({ name }) => name.endsWith('desk lamp'))
      .toSorted((a, b) => Number(a.price) - Number(b.price));
    for (const { sku } of lamps) {
      if ((await pageOf(turn, context, `/product/${sku}`)).includes('In stock')) {
        return /C-[0-9A-F]{8}/.exec(await order(turn, context, sku, coupon))?.[0] ?? '';
      }
    }
    return 'none is in stock';
  },
  async 'compare-prices'(turn, context) {
    const [, ...lines] = linesOf(await one(turn, readCall('shop/prices.csv')));
    const prices = new Map(lines.map((line) => line.split(',') as [string, string]));
    const products = await productsOf(turn, context);
    return products
      .filter(({ price, sku }) => prices.get(sku) !== price)
      .map(({ sku }) => sku)
      .join(', ');
  },
};

export const DIRECT_SOLUTIONS: Readonly<Record<string, DirectSolution>> = {
  ...FILES,
  ...DATA,
  ...DATABASE,
  ...REPOSITORIES,
  ...GRAPH,
  ...SHOP,
};
