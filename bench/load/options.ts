/** The command line of the load benchmark. */
import { parseArgs } from 'node:util';

export const PARTS = ['costs', 'search', 'goal'] as const;
export type Part = (typeof PARTS)[number];

export interface LoadOptions {
  /** Label of a test engine. */
  readonly engine: string;
  readonly parts: readonly Part[];
  /** Cells per second of each client, on average. */
  readonly rate: number;
  /** Length of each step. */
  readonly seconds: number;
  /** The search ends here. */
  readonly maxClients: number;
  /** Of the goal case. */
  readonly clients: number;
  readonly sandboxes: number;
  /** Seconds between two cells of a client that has no sandbox of its own. */
  readonly visit: number;
  /** Bad requests per second; 0 for none. */
  readonly stranger: number;
  /** How often the goal case is measured without and with the stranger, in turn. */
  readonly rounds: number;
  readonly seed: number;
  readonly saveFile: string | undefined;
  readonly isQuick: boolean;
}

export const LOAD_USAGE = `npm run lab -- load [options]

  --engine NAME     bubblewrap by default; the figures for memory and processor time are of an engine without a daemon
  --only PART       costs, search or goal; may be repeated
  --rate N          cells per second of each client, on average; 0.2 by default, an agent that thinks for 5 s
  --seconds N       length of each step; 30 by default, and longer in the search until 200 cells are due
  --max-clients N   where the search for the highest number of clients ends; 160 by default
  --clients N       clients of the goal case; 100 by default
  --sandboxes N     their live sandboxes (MCP_BRIDGE_MAX_SESSIONS); 40 by default
  --visit N         seconds between two cells of a client that has no sandbox; 120 by default
  --stranger N      bad requests per second of a stranger; 10000 by default, 0 for none
  --rounds N        how often without and with the stranger, in turn; 3 by default
  --seed N          of the arrivals; 1 by default
  --save FILE       write everything to FILE, as JSON
  --quick           a few minutes: few clients, short steps
`;

const QUICK = { rate: 1, seconds: 4, maxClients: 4, clients: 6, sandboxes: 4, visit: 4, stranger: 1_000, rounds: 1 };
const FULL = {
  rate: 0.2,
  seconds: 30,
  maxClients: 160,
  clients: 100,
  sandboxes: 40,
  visit: 120,
  stranger: 10_000,
  rounds: 3,
};

/** Undefined if the user asks for help. Throws a TypeError that names what is wrong. */
export function parseLoadOptions(argv: readonly string[]): LoadOptions | undefined {
  const text = { type: 'string' } as const;
  const { values } = parseArgs({
    args: [...argv],
    options: {
      engine: text,
      rate: text,
      seconds: text,
      'max-clients': text,
      clients: text,
      sandboxes: text,
      visit: text,
      stranger: text,
      rounds: text,
      seed: text,
      save: text,
      only: { type: 'string', multiple: true },
      quick: { type: 'boolean' },
      help: { type: 'boolean', short: 'h' },
    },
  });
  if (values.help === true) {
    return undefined;
  }
  const defaults = values.quick === true ? QUICK : FULL;
  const number = (name: string, given: string | undefined, usual: number, least = Number.MIN_VALUE): number => {
    const value = given === undefined ? usual : Number(given);
    if (given === '' || !Number.isFinite(value) || value < least) {
      throw new TypeError(`--${name} takes a number ${least >= 1 ? 'of at least 1' : 'of 0 or more'}, not "${given}"`);
    }
    return value;
  };
  return {
    engine: values.engine ?? 'bubblewrap',
    parts: (values.only ?? PARTS).map(partOf),
    rate: number('rate', values.rate, defaults.rate),
    seconds: number('seconds', values.seconds, defaults.seconds),
    maxClients: number('max-clients', values['max-clients'], defaults.maxClients, 1),
    clients: number('clients', values.clients, defaults.clients, 1),
    sandboxes: number('sandboxes', values.sandboxes, defaults.sandboxes, 1),
    visit: number('visit', values.visit, defaults.visit),
    stranger: number('stranger', values.stranger, defaults.stranger, 0),
    rounds: number('rounds', values.rounds, defaults.rounds, 1),
    seed: number('seed', values.seed, 1, 0),
    saveFile: values.save,
    isQuick: values.quick === true,
  };
}

function partOf(text: string): Part {
  const part = PARTS.find((one) => one === text);
  if (part === undefined) {
    throw new TypeError(`--only takes ${PARTS.join(', ')}, not "${text}"`);
  }
  return part;
}
