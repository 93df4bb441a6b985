/** Another session of the same bridge, which keeps working and must not notice the case. */
import { pause } from '../pause.ts';
import type { Arena } from './arena.ts';

const SESSION = 'neighbour';
const TIMEOUT_SECONDS = 30;
const PAUSE_MS = 50;
/** Enough for a median, even if the case ends at once. */
const LEAST_ROUNDS = 3;

export interface NeighbourReport {
  /** What went wrong, in words; empty if nothing did. */
  readonly wrong: readonly string[];
  readonly medianMs: number;
}

export interface Neighbour {
  /** Makes calls one after the other until `stop`. */
  start(): { stop(): Promise<NeighbourReport> };
}

/** Sets up the state of the session, including the secret. */
export async function moveIn(arena: Arena): Promise<Neighbour> {
  const { bridge, canaries } = arena;
  const first = { session: SESSION, servers: [SESSION], timeout: TIMEOUT_SECONDS };
  await bridge.runPython(`rounds = 0\nsecret = "${canaries.neighbour}"`, first);
  let rounds = 0;

  /** How long the call took, or what went wrong. */
  async function once(): Promise<number | string> {
    rounds += 1;
    const startedAt = performance.now();
    const code = 'rounds += 1\nprint(rounds, await mcp_neighbour.echo(text=str(rounds)), secret[:6])';
    const { text, structured } = await bridge.runPython(code, { session: SESSION, timeout: TIMEOUT_SECONDS });
    const printed = Array.isArray(structured['stdout']) ? structured['stdout'].join('\n') : '';
    const isRight = printed === `${rounds} ${rounds} canary`;
    return isRight ? performance.now() - startedAt : `round ${rounds} answered ${text.slice(0, 300)}`;
  }

  return {
    start() {
      let isStopped = false;
      const results: (number | string)[] = [];
      const done = (async () => {
        while (!isStopped || results.length < LEAST_ROUNDS) {
          results.push(await once().catch((error: unknown) => String(error)));
          await pause(PAUSE_MS, 'between two calls');
        }
      })();
      return {
        async stop() {
          isStopped = true;
          await done;
          const times = results.filter((result) => typeof result === 'number').toSorted((a, b) => a - b);
          return {
            wrong: results.filter((result) => typeof result === 'string'),
            medianMs: times[Math.floor(times.length / 2)] ?? 0,
          };
        },
      };
    },
  };
}
