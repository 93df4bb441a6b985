/** The command line of the soak. */
import { parseArgs } from 'node:util';

export interface SoakOptions {
  readonly minutes: number;
  readonly seed: number;
  /** Label of a test engine. */
  readonly engine: string;
  /** Number of concurrent cells. */
  readonly agents: number;
  /** Number of clients whose code attacks the bridge. */
  readonly attackers: number;
  /** File to write the report to, as JSON. */
  readonly jsonFile: string | undefined;
}

export const USAGE = `npm run lab -- soak --minutes N [options]

  --minutes N     how long to start cells; the end takes a little longer
  --seed S        seed of the random actions; printed; random by default
  --engine NAME   podman (default), podman-rootless, docker, bubblewrap or embedded
  --agents N      concurrent cells; 4 by default
  --attackers N   clients whose code attacks the bridge, its sandbox and the machine; 0 by default
  --json FILE     also write the report to FILE
`;

/** Throws an error that says what is wrong. */
export function parseSoakOptions(argv: readonly string[]): SoakOptions | 'help' {
  const { values } = parseArgs({
    args: [...argv],
    options: {
      minutes: { type: 'string', default: '1' },
      seed: { type: 'string' },
      engine: { type: 'string', default: 'podman' },
      agents: { type: 'string', default: '4' },
      attackers: { type: 'string', default: '0' },
      json: { type: 'string' },
      help: { type: 'boolean', short: 'h' },
    },
  });
  if (values.help === true) {
    return 'help';
  }
  return {
    minutes: positive('--minutes', values.minutes),
    seed: values.seed === undefined ? Date.now() % 2 ** 31 : positive('--seed', values.seed),
    engine: values.engine,
    agents: positive('--agents', values.agents),
    attackers: values.attackers === '0' ? 0 : positive('--attackers', values.attackers),
    jsonFile: values.json,
  };
}

function positive(option: string, text: string): number {
  const number = Number(text);
  if (!(number > 0)) {
    throw new Error(`${option} is '${text}'; it must be a number above 0`);
  }
  return number;
}
