/** Tasks on a database, alone and together with files. */
import { createRandom } from '../../../test/soak/random.ts';
import { compareTrees, type EvalTask, expectAnswer, sameTrimmed } from './task.ts';

const CUSTOMERS = 40;
const ORDERS = 600;
const REGIONS = ['coast', 'hills', 'lakes', 'north', 'plains', 'south', 'valley', 'woods'];

interface CustomerOrder {
  readonly id: number;
  readonly customer: number;
  readonly region: string;
  readonly day: string;
  readonly cents: number;
  readonly state: string;
}

function customerOrders(): CustomerOrder[] {
  const random = createRandom(53);
  return Array.from({ length: ORDERS }, (_, index) => ({
    id: 7001 + index,
    customer: 1 + random.below(CUSTOMERS),
    region: random.pick(REGIONS),
    day: `202${5 + random.below(2)}-${String(1 + random.below(12)).padStart(2, '0')}-${String(1 + random.below(28)).padStart(2, '0')}`,
    cents: 500 + random.below(80_000),
    state: random.pick(['paid', 'paid', 'paid', 'cancelled']),
  }));
}

const customerName = (id: number): string => `Customer ${String.fromCodePoint(64 + Math.ceil(id / 8))}${id}`;

function bestCustomer(): string {
  const sums = new Map<number, number>();
  for (const { customer, day, state, cents } of customerOrders()) {
    if (state === 'paid' && day.startsWith('2025')) {
      sums.set(customer, (sums.get(customer) ?? 0) + cents);
    }
  }
  const [best] = [...sums].toSorted(([, a], [, b]) => b - a);
  return customerName(best?.[0] ?? 0);
}

const BEST_CUSTOMER: EvalTask = {
  id: 'best-customer',
  title: 'one question to a database',
  build(workspace) {
    const customers = Array.from({ length: CUSTOMERS }, (_, index) => `(${index + 1}, '${customerName(index + 1)}')`);
    const orders = customerOrders().map(
      ({ id, customer, region, day, cents, state }) =>
        `(${id}, ${customer}, '${region}', '${day}', ${cents}, '${state}')`,
    );
    workspace.runSql(`
      CREATE TABLE customers (id INTEGER PRIMARY KEY, name TEXT NOT NULL);
      CREATE TABLE orders (id INTEGER PRIMARY KEY, customer_id INTEGER NOT NULL, region TEXT NOT NULL, day TEXT NOT NULL,
        amount_cents INTEGER NOT NULL, state TEXT NOT NULL);
      INSERT INTO customers VALUES ${customers.join(',')};
      INSERT INTO orders VALUES ${orders.join(',')};`);
  },
  prompt: () =>
    'Which customer in the database spent the most in orders of the year 2025, without cancelled ones? State the name.',
  check: (_workspace, answer) => expectAnswer(answer, bestCustomer()),
};

/** Orders of the third quarter of 2026, by region, as CSV. */
function quarterFiles(): Record<string, string> {
  const rows = customerOrders().filter(({ day }) => day >= '2026-07-01' && day <= '2026-09-30');
  return Object.fromEntries(
    REGIONS.map((region) => {
      const lines = rows.filter((row) => row.region === region).map(({ id, day, cents }) => `${id},${day},${cents}\n`);
      return [`${region}.csv`, `id,day,amount_cents\n${lines.join('')}`];
    }),
  );
}

const EXPORT_QUARTER: EvalTask = {
  id: 'export-quarter',
  title: `copy rows of a database into ${REGIONS.length} files`,
  build: () => undefined,
  prompt: () =>
    'For each region in the table orders, write exports/REGION.csv with its orders of July to September 2026, cancelled ones included: the header "id,day,amount_cents", then one line for each order, sorted by id.',
  check({ tree }) {
    try {
      return compareTrees(tree('exports'), quarterFiles(), sameTrimmed);
    } catch {
      return ['there is no folder exports'];
    }
  },
};

const PARTS = 60;

interface Delivery {
  readonly stock: Readonly<Record<string, number>>;
  readonly lines: readonly string[];
  readonly after: Readonly<Record<string, number>>;
  readonly unknown: readonly string[];
}

function delivery(): Delivery {
  const random = createRandom(61);
  const stock = Object.fromEntries(
    Array.from({ length: PARTS }, (_, index) => [`K-${200 + 3 * index}`, random.below(50)]),
  );
  const after: Record<string, number> = { ...stock };
  const unknown: string[] = [];
  const lines = Array.from({ length: 35 }, () => {
    const sku = `K-${200 + random.below(3 * PARTS)}`;
    const isKnown = sku in stock || random.below(4) === 0;
    const used = isKnown ? sku : `K-${200 + 3 * random.below(PARTS)}`;
    const quantity = 1 + random.below(20);
    if (used in after) {
      after[used] = (after[used] ?? 0) + quantity;
    } else if (!unknown.includes(used)) {
      unknown.push(used);
    }
    return `${used};${quantity}`;
  });
  return { stock, lines, after, unknown: unknown.toSorted() };
}

const RESTOCK: EvalTask = {
  id: 'restock',
  title: 'update a database from a file',
  build(workspace) {
    const { lines, stock } = delivery();
    const rows = Object.entries(stock).map(([sku, quantity]) => `('${sku}', ${quantity})`);
    workspace.runSql(
      `CREATE TABLE parts (sku TEXT PRIMARY KEY, quantity INTEGER NOT NULL); INSERT INTO parts VALUES ${rows.join(',')};`,
    );
    workspace.write('warehouse/delivery.csv', `sku;quantity\n${lines.join('\n')}\n`);
  },
  prompt: () =>
    'warehouse/delivery.csv lists delivered parts; a part may occur more than once. Add the quantities to those in the table parts. Do not add new rows: write the SKUs that the table does not have to warehouse/unknown.txt, each once, one a line, sorted.',
  check({ query, read }) {
    const { after, unknown } = delivery();
    const rows = Object.fromEntries(
      query('SELECT sku, quantity FROM parts').map(({ sku, quantity }) => [sku, quantity]),
    );
    const skus = [...new Set([...Object.keys(after), ...Object.keys(rows)])];
    const wrong = skus.filter((sku) => rows[sku] !== after[sku]);
    return [
      ...wrong.map((sku) => `the quantity of ${sku} is ${rows[sku]}, not ${after[sku]}`),
      ...(sameTrimmed(read('warehouse/unknown.txt') ?? '', unknown.join('\n'))
        ? []
        : ['warehouse/unknown.txt is missing or wrong']),
    ];
  },
};

export const DATABASE_TASKS: readonly EvalTask[] = [BEST_CUSTOMER, EXPORT_QUARTER, RESTOCK];
