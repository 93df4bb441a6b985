/** Starts servers, or connects to them, and reports each step, for `servers test` and `doctor`. */
import { CancelSource } from '../../core/base/cancel.ts';
import { type ErrorReport, reportError, toBridgeError } from '../../core/base/errors.ts';
import { limitConcurrency } from '../../core/base/limit-concurrency.ts';
import type { CatalogServer } from '../../core/catalog/known.ts';
import type { ServerDirectory } from '../../core/directory/server-directory.ts';
import { MAX_STARTS_AT_ONCE } from '../../core/directory/tool-search.ts';
import type { StartStep } from '../upstream/pool.ts';
import type { ConfiguredServers } from './configured-servers.ts';

/** The steps until the tools of a server are known. Connecting to a remote server initializes it, too. */
const STEPS = {
  process: ['resolve', 'start', 'initialize', 'list tools'],
  remote: ['resolve', 'connect', 'list tools'],
} as const;
const ENDED_BY: Readonly<Record<StartStep, readonly StepName[]>> = {
  resolved: ['resolve'],
  started: ['start'],
  ready: ['initialize', 'connect'],
};

type StepName = (typeof STEPS)['process' | 'remote'][number];

export interface StepReport {
  readonly step: StepName;
  readonly isDone: boolean;
  /** Time until the step was done or failed. */
  readonly ms: number;
}

/** The result for one server. */
export interface ServerTest {
  readonly name: string;
  /** The file that defines it. */
  readonly file: string;
  /** The steps that began. Only the last one can have failed. */
  readonly steps: readonly StepReport[];
  /** Time of all steps. */
  readonly ms: number;
  readonly tools: number | null;
  readonly protocolVersion: string | null;
  readonly serverVersion: string | null;
  /** Problems in its tool list. */
  readonly notices: readonly string[];
  /** Null if it answered. Secrets are masked. */
  readonly error: ErrorReport | null;
}

/** Notes when servers reach each step. The pool that starts them calls `note`. */
export class StartTimes {
  readonly #times = new Map<string, Map<StepName, number>>();

  readonly note = (server: string, step: StartStep): void => {
    const times = this.#times.get(server) ?? new Map<StepName, number>();
    this.#times.set(server, times);
    ENDED_BY[step].forEach((name) => times.set(name, performance.now()));
  };

  /** The steps of a server between `startedAt` and now. */
  stepsOf(server: string, isRemote: boolean, startedAt: number, hasAnswered: boolean): StepReport[] {
    const times = this.#times.get(server);
    const now = performance.now();
    const reports: StepReport[] = [];
    let last = startedAt;
    for (const step of STEPS[isRemote ? 'remote' : 'process']) {
      const time = step === 'list tools' && hasAnswered ? now : times?.get(step);
      reports.push({ step, isDone: time !== undefined, ms: Math.round((time ?? now) - last) });
      if (time === undefined) {
        break;
      }
      last = time;
    }
    return reports;
  }
}

/** Asks one server for its tools, even if they are known. Never rejects. */
export async function testServer(
  { name }: CatalogServer,
  configured: Pick<ConfiguredServers, 'known' | 'definitions'>,
  times: StartTimes,
): Promise<ServerTest> {
  const { known, definitions } = configured;
  const definition = definitions().get(name);
  const isRemote = definition?.url !== undefined;
  const startedAt = performance.now();
  const common = (hasAnswered: boolean) => ({
    name,
    file: definition?.file ?? '',
    steps: times.stepsOf(name, isRemote, startedAt, hasAnswered),
    ms: Math.round(performance.now() - startedAt),
  });
  try {
    const server = await known.find(name);
    const { tools, notices, protocolVersion, serverVersion } = await known.refresh(server, new CancelSource().signal);
    const api = definition?.url === undefined ? undefined : definition.api;
    // Which version the bridge speaks with itself says nothing about an API.
    const speaks = api === undefined ? protocolVersion : undefined;
    const versions = { protocolVersion: speaks ?? null, serverVersion: serverVersion ?? null };
    const asked = api === undefined ? [] : ['its description was read; nothing was asked of the API itself'];
    return { ...common(true), tools: tools.length, ...versions, notices: [...notices, ...asked], error: null };
  } catch (error) {
    const unknown = { tools: null, protocolVersion: null, serverVersion: null, notices: [] };
    return { ...common(false), ...unknown, error: reportError(toBridgeError(error)) };
  }
}

/** What a package runner says that starts the server now, for a line of progress. */
export function preparationOf({ pool }: Pick<ConfiguredServers, 'pool'>, name: string): () => string | undefined {
  return () => pool.states().find((state) => state.name === name)?.preparing;
}

/** The servers with these names, each once, or all if there are no names. Rejects as `ServerDirectory.find` does. */
export async function serversNamed(names: readonly string[], known: ServerDirectory): Promise<CatalogServer[]> {
  const wanted = names.length === 0 ? known.servers() : await Promise.all(names.map(async (name) => known.find(name)));
  return [...new Set(wanted)];
}

/** Calls `ask` for each server, a few at a time. The answers are in the order of the servers. */
export function askEach<Answer>(
  servers: readonly CatalogServer[],
  ask: (server: CatalogServer) => Promise<Answer>,
): Promise<Answer[]> {
  const inTurn = limitConcurrency(MAX_STARTS_AT_ONCE);
  return Promise.all(servers.map((server) => inTurn(() => ask(server))));
}
