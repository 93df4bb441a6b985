/**
 * What cells cost in tokens, and what their calls would have cost if a client had made them directly. Everything is counted so that
 * the saving is too small rather than too large; `SAVINGS_METHOD` says how. In bounded memory: sums, and the cells that are open.
 */
import { CappedMap } from '../../core/base/capped-map.ts';
import { definitionTokens, denseTokens, textTokens } from '../../core/base/token-estimate.ts';
import { isRefused } from './facts.ts';
import type { AuditRecord, RecordOf } from './records.ts';

/** A client cuts a longer result or refuses it; this is the usual limit of a common one. */
const MAX_RESULT_TOKENS = 25_000;

/** For people, one sentence each. */
export const SAVINGS_METHOD: readonly string[] = [
  'With the bridge: the definitions of its own tools once per conversation, the code of each cell or program, and the text of its answer.',
  'Directly: the definitions of each server that was called, once per conversation, and the arguments and the result of each call that was sent.',
  `A result counts as at most ${MAX_RESULT_TOKENS.toLocaleString('en-US')} tokens, because clients cut longer ones; images, sounds and results of unknown text count as nothing.`,
  'A bridge process counts as one conversation, however many it served.',
  'Definitions of servers that were not called, definitions sent again with each request, and what a model would have written between direct calls are not counted.',
  'Tokens of o200k_base are estimated: one is 4.6 bytes of definitions, 4 bytes of code, arguments and results, and 3 bytes of answers. Code and prose have 4 and JSON has 3, so that answers count as up to a third too many and results as up to a quarter too few; HTML may have 2.',
  'Calls from the shell (`exec`, `servers call`) and cells that the operator ran are left out.',
];

/** Tokens of one side. */
interface Costs {
  definitions: number;
  /** What a model writes: code, or arguments. */
  written: number;
  /** What it reads: answers, or results. */
  read: number;
}

interface Sums {
  calls: number;
  readonly bridge: Costs;
  readonly direct: Costs;
}

export interface Saving {
  readonly calls: number;
  /** Tokens with the bridge. */
  readonly bridge_tokens: number;
  readonly direct_tokens: number;
  readonly saved_tokens: number;
}

export interface Savings extends Saving {
  /** Time of the first record that counts; null if none does. */
  readonly since: string | null;
  readonly bridge: Readonly<Costs>;
  readonly direct: Readonly<Costs>;
  /** Calls from before sizes were recorded, or of the shell. */
  readonly calls_not_counted: number;
  /** Calls whose result counts as nothing, because the size of its text is unknown. */
  readonly results_not_counted: number;
  /** In order. */
  readonly days: readonly (Saving & { readonly day: string })[];
  /**
   * Most tokens first. The cost of a cell is shared among the servers that it called, by calls; without a name: cells without calls,
   * and the definitions of the bridge.
   */
  readonly servers: readonly (Saving & { readonly server: string | null })[];
  readonly method: readonly string[];
}

interface OpenCell {
  readonly codeBytes: number;
  /** Neither side counts what no client asked for. */
  readonly isOfOperator: boolean;
  readonly calls: Map<string, number>;
}

/** What one bridge did; it counts only if it answers a client. */
interface BridgeSums {
  isCounted: boolean;
  since: string | undefined;
  calls: number;
  unknown: number;
  /** By day and server, as JSON. */
  readonly sums: Map<string, Sums>;
}

/** The server of what belongs to none. */
const NONE = '';
/** Open cells of killed bridges stay; the oldest are forgotten beyond this. Chosen. */
const MAX_OPEN = 10_000;

export class SavingsBuilder {
  readonly #bridges = new Map<string, BridgeSums>();
  readonly #open = new CappedMap<string, OpenCell>(MAX_OPEN);
  #oldCalls = 0;

  add(record: AuditRecord): void {
    switch (record.type) {
      case 'definitions':
        this.#addDefinitions(record);
        break;
      case 'cell_started':
        this.#begin(record);
        break;
      case 'call':
        this.#addCall(record);
        break;
      case 'cell_ended':
        this.#end(record);
        break;
      case 'program':
        this.#addProgram(record);
        break;
      default:
    }
  }

  result(): Savings {
    const counted = [...this.#bridges.values()].filter(({ isCounted }) => isCounted);
    const others = [...this.#bridges.values()].filter(({ isCounted }) => !isCounted);
    const whole = createSums();
    const [days, servers] = [new Map<string, Sums>(), new Map<string, Sums>()];
    for (const [key, sums] of counted.flatMap((bridge) => [...bridge.sums])) {
      const [day, server] = JSON.parse(key) as [string, string];
      [whole, sumsIn(days, day), sumsIn(servers, server)].forEach((target) => addTo(target, sums));
    }
    const since = counted.flatMap(({ since: first }) => (first === undefined ? [] : [first])).toSorted();
    return {
      since: since[0] ?? null,
      ...savingOf(whole),
      bridge: rounded(whole.bridge),
      direct: rounded(whole.direct),
      calls_not_counted: this.#oldCalls + others.reduce((sum, { calls }) => sum + calls, 0),
      results_not_counted: counted.reduce((sum, { unknown }) => sum + unknown, 0),
      days: [...days].toSorted(([a], [b]) => (a < b ? -1 : 1)).map(([day, sums]) => ({ day, ...savingOf(sums) })),
      servers: [...servers]
        .map(([server, sums]) => ({ server: server === NONE ? null : server, ...savingOf(sums) }))
        .toSorted((a, b) => b.direct_tokens + b.bridge_tokens - a.direct_tokens - a.bridge_tokens),
      method: SAVINGS_METHOD,
    };
  }

  #addDefinitions({ at, bridge, bytes, server = NONE }: RecordOf<'definitions'>): void {
    const sums = this.#sumsOf(bridge, at, server);
    sums[server === NONE ? 'bridge' : 'direct'].definitions += definitionTokens(bytes);
  }

  #begin({ code_bytes: codeBytes, id, run_by: runBy }: RecordOf<'cell_started'>): void {
    this.#open.set(id, { codeBytes, isOfOperator: runBy === 'operator', calls: new Map() });
  }

  #addCall(call: RecordOf<'call'>): void {
    const cell = this.#open.get(call.cell);
    // With a required record, one without its end counts on neither side.
    if (
      call.outcome === 'started' ||
      call.dry_run === true ||
      call.resumed === true ||
      isRefused(call) ||
      cell?.isOfOperator === true
    ) {
      return;
    }
    if (call.arguments_bytes === undefined) {
      this.#oldCalls += 1;
      return;
    }
    const bridge = this.#bridgeOf(call.bridge);
    bridge.calls += 1;
    bridge.unknown += call.text_bytes === undefined && call.outcome === 'ok' ? 1 : 0;
    const sums = this.#sumsOf(call.bridge, call.at, call.server);
    sums.calls += 1;
    sums.direct.written += textTokens(call.arguments_bytes);
    sums.direct.read += Math.min(textTokens(call.text_bytes ?? 0), MAX_RESULT_TOKENS);
    const calls = cell?.calls;
    calls?.set(call.server, (calls.get(call.server) ?? 0) + 1);
  }

  #end({ answer_bytes: answerBytes, at, bridge: name, id }: RecordOf<'cell_ended'>): void {
    const { calls = new Map<string, number>(), codeBytes = 0 } = this.#open.get(id) ?? {};
    this.#open.delete(id);
    if (answerBytes === undefined) {
      return;
    }
    this.#count(name, at);
    const total = [...calls.values()].reduce((sum, count) => sum + count, 0);
    const shares: [string, number][] =
      total === 0 ? [[NONE, 1]] : [...calls].map(([server, count]) => [server, count / total]);
    for (const [server, share] of shares) {
      const { bridge } = this.#sumsOf(name, at, server);
      bridge.written += textTokens(codeBytes) * share;
      bridge.read += denseTokens(answerBytes) * share;
    }
  }

  /** One that a client ran. What a cell runs is part of its code and answer. */
  #addProgram({ at, bridge: name, cell, status, ...sizes }: RecordOf<'program'>): void {
    if (cell === undefined && status !== 'started') {
      this.#count(name, at);
      const { bridge } = this.#sumsOf(name, at, NONE);
      bridge.written += textTokens(sizes.code_bytes ?? 0);
      bridge.read += denseTokens((sizes.stdout_bytes ?? 0) + (sizes.stderr_bytes ?? 0));
    }
  }

  #count(bridge: string, at: string): void {
    const known = this.#bridgeOf(bridge);
    known.isCounted = true;
    known.since = known.since === undefined || at < known.since ? at : known.since;
  }

  #bridgeOf(name: string): BridgeSums {
    const known = this.#bridges.get(name) ?? {
      isCounted: false,
      since: undefined,
      calls: 0,
      unknown: 0,
      sums: new Map(),
    };
    this.#bridges.set(name, known);
    return known;
  }

  #sumsOf(bridge: string, at: string, server: string): Sums {
    return sumsIn(this.#bridgeOf(bridge).sums, JSON.stringify([at.slice(0, 'YYYY-MM-DD'.length), server]));
  }
}

function createSums(): Sums {
  const nothing = () => ({ definitions: 0, written: 0, read: 0 });
  return { calls: 0, bridge: nothing(), direct: nothing() };
}

function sumsIn(sums: Map<string, Sums>, key: string): Sums {
  const known = sums.get(key) ?? createSums();
  sums.set(key, known);
  return known;
}

function addTo(target: Sums, { bridge, calls, direct }: Sums): void {
  target.calls += calls;
  for (const [to, from] of [
    [target.bridge, bridge],
    [target.direct, direct],
  ] as const) {
    to.definitions += from.definitions;
    to.written += from.written;
    to.read += from.read;
  }
}

function rounded({ definitions, read, written }: Costs): Costs {
  return { definitions: Math.round(definitions), written: Math.round(written), read: Math.round(read) };
}

function savingOf({ bridge, calls, direct }: Sums): Saving {
  const [withBridge, directly] = [bridge, direct].map((costs) =>
    Math.round(costs.definitions + costs.written + costs.read),
  );
  return {
    calls,
    bridge_tokens: withBridge ?? 0,
    direct_tokens: directly ?? 0,
    saved_tokens: (directly ?? 0) - (withBridge ?? 0),
  };
}
