/**
 * All current policies combined: `policy.json` and those in server entries. Each decides on its own and the strictest wins,
 * so an entry copied from elsewhere can forbid more, but can never allow what `policy.json` does not.
 */
import type { Decision } from '../../../core/calls/contract.ts';
import { describePolicy, type ShownPolicy } from './describe.ts';
import { type CompiledLimit, compileLimits, createSharedCounts, type LimitCounts } from './limits.ts';
import { decidePackage, rulesOfPackage } from './package-rules.ts';
import type { PolicyCall, PolicyServer, PolicyTool } from './policy-call.ts';
import { type CompiledRule, compileRules, decide, deniesServer, rulesFor, stricter } from './rules.ts';
import type { PolicyPlace, ReadPolicy } from './schema.ts';
import { mismatch } from './selectors.ts';
import type { KnownServer } from './unmatched.ts';

/** All rules of one policy. */
export interface RuleSet {
  readonly place: PolicyPlace;
  readonly rules: readonly CompiledRule[];
}

/** What the policies say about a tool before its arguments are known. */
export interface ToolPolicy {
  /** For each policy, the rules that can decide. */
  readonly rules: readonly (readonly CompiledRule[])[];
  readonly limits: readonly CompiledLimit[];
  /** Set if the arguments do not matter. */
  readonly decision: Decision | undefined;
  /** Set if every call to the tool is denied. */
  readonly denied: Decision | undefined;
}

export class Policies {
  readonly #file: ReadPolicy | undefined;
  readonly #entries: ReadonlyMap<string, ReadPolicy>;
  readonly #fileSet: { readonly set: RuleSet; readonly limits: readonly CompiledLimit[] } | undefined;
  readonly #entrySets = new Map<string, { readonly set: RuleSet; readonly limits: readonly CompiledLimit[] }>();
  readonly #tools = new WeakMap<PolicyTool, ToolPolicy>();
  readonly #denials = new Map<string, string | undefined>();

  /**
   * @param file `policy.json`; undefined if there is none.
   * @param entries policies in server entries, by the name of the server.
   * @param counts counts to continue.
   */
  constructor(
    file: ReadPolicy | undefined,
    entries: ReadonlyMap<string, ReadPolicy>,
    counts: LimitCounts = { kept: new Map(), shared: createSharedCounts() },
  ) {
    this.#file = file;
    this.#entries = entries;
    this.#fileSet = compileOf(file, counts);
    for (const [server, entry] of entries) {
      const compiled = compileOf(entry, counts);
      if (compiled !== undefined) {
        this.#entrySets.set(server, compiled);
      }
    }
  }

  /** Why every call is refused; undefined if `policy.json` can be used or does not exist. */
  get problem(): string | undefined {
    return this.#file === undefined ? undefined : problemOf(this.#file, 'every call');
  }

  /** What `policy.json` says about what no rule names, if anything. */
  get fallback(): Decision | undefined {
    if (this.problem !== undefined) {
      return { effect: 'deny', reason: this.problem };
    }
    const effect = this.#file !== undefined && 'policy' in this.#file ? this.#file.policy.default : undefined;
    return effect && { effect, reason: `"default": "${effect}" in ${this.#file?.place.file}` };
  }

  /**
   * What `policy.json` says about a package; undefined if nothing.
   *
   * @param version undefined before one is chosen; then the decision is only about looking the name up.
   */
  ofPackage(name: string, version: string | undefined): Decision | undefined {
    const read = this.#file;
    if (read === undefined || this.problem !== undefined) {
      return this.problem === undefined ? undefined : { effect: 'deny', reason: this.problem };
    }
    return 'policy' in read ? decidePackage(read.policy.packages ?? [], read.place, name, version) : undefined;
  }

  /** The rules of `policy.json` that can decide about a package, in order. At most the last one is for all versions. */
  rulesOfPackage(name: string): (Decision & { readonly version: string | undefined })[] {
    const read = this.#file;
    return read !== undefined && 'policy' in read ? rulesOfPackage(read.policy.packages ?? [], read.place, name) : [];
  }

  /** Why every call to the server is refused, if a policy cannot be used. */
  problemOf(server: string): string | undefined {
    const entry = this.#entries.get(server);
    return this.problem ?? (entry && problemOf(entry, `every call to '${server}'`));
  }

  /** The policies that apply to a server: `policy.json`, then that of its entry. */
  ruleSets(server: string): RuleSet[] {
    return this.#sets(server).map(({ set }) => set);
  }

  decide(call: PolicyCall): Decision {
    const { rules, decision } = this.of(call.server, call.tool);
    const decided = decision ?? rules.map((some) => decide(some, call)).reduce(stricter);
    const { least } = call.server;
    return least === undefined || this.#isNamed(call.server, decided) ? decided : stricter(least, decided);
  }

  /** Whether a rule that names the server decided, and not one for all servers. */
  #isNamed({ name }: PolicyServer, decided: Decision): boolean {
    const rules = this.#sets(name).flatMap(({ set }) => set.rules);
    const patterns = rules.filter(({ decision }) => decision === decided).flatMap(({ server }) => server ?? []);
    return patterns.some((pattern) => !/^[*?]*$/.test(pattern));
  }

  /** What the policies say about a tool; cached per tool object. */
  of(server: PolicyServer, tool: PolicyTool): ToolPolicy {
    const known = this.#tools.get(tool);
    if (known !== undefined) {
      return known;
    }
    const settled = this.#settle(server, tool);
    this.#tools.set(tool, settled);
    return settled;
  }

  /** Why every call to the server is refused, whatever its tools are; undefined if some calls may be made. */
  denial(server: PolicyServer): string | undefined {
    if (!this.#denials.has(server.name)) {
      this.#denials.set(server.name, this.problemOf(server.name) ?? this.#denialByRules(server));
    }
    return this.#denials.get(server.name);
  }

  #denialByRules(server: PolicyServer): string | undefined {
    const denying = this.ruleSets(server.name).find(({ rules }) => deniesServer(rules, server));
    const call = { server, tool: ANY_TOOL, arguments: {} };
    return denying && decide(rulesFor(denying.rules, server, ANY_TOOL), call).reason;
  }

  /** Each policy for display, `policy.json` first. `servers` are all that are configured. */
  describe(servers: readonly KnownServer[]): ShownPolicy[] {
    const file = this.#file === undefined ? [] : [describePolicy(this.#file, 'all servers', servers)];
    const entries = [...this.#entries].map(([name, read]) => {
      const own = servers.filter(({ server }) => server.name === name);
      return describePolicy(read, `'${name}'`, own);
    });
    return [...file, ...entries];
  }

  /** Counts that the policies that replace these continue. */
  counts(): LimitCounts['kept'] {
    const limits = [this.#fileSet, ...this.#entrySets.values()].flatMap((compiled) => compiled?.limits ?? []);
    return new Map(limits.map(({ key, counts }) => [key, counts]));
  }

  #sets(server: string) {
    return [this.#fileSet, this.#entrySets.get(server)].filter((compiled) => compiled !== undefined);
  }

  #settle(server: PolicyServer, tool: PolicyTool): ToolPolicy {
    const problem = this.problemOf(server.name);
    if (problem !== undefined) {
      const refusal: Decision = { effect: 'deny', reason: problem };
      return { rules: [], limits: [], decision: refusal, denied: refusal };
    }
    const sets = this.#sets(server.name);
    const rules = sets.map(({ set }) => rulesFor(set.rules, server, tool));
    const limits = sets
      .flatMap((compiled) => compiled.limits.filter((limit) => mismatch(limit, server, tool) === undefined))
      // In an order that no change of a file reverses; otherwise two calls could deadlock.
      .toSorted((left, right) => (left.key < right.key ? -1 : 1));
    const isFixed = rules.every(([first]) => first?.conditions.length === 0);
    const fixed = rules.flatMap(([first]) => (first === undefined ? [] : [first.decision]));
    const denying = rules.find((some) => some.every(({ effect }) => effect === 'deny'));
    return {
      rules,
      limits,
      decision: isFixed ? fixed.reduce(stricter, fixed[0] ?? NOTHING_DENIES) : undefined,
      denied: denying?.at(-1)?.decision,
    };
  }
}

const NOTHING_DENIES: Decision = { effect: 'allow', reason: 'no policy applies to it' };
const ANY_TOOL: PolicyTool = { name: '', alias: '', inputSchema: {} };

function compileOf(read: ReadPolicy | undefined, counts: LimitCounts) {
  if (read === undefined || !('policy' in read)) {
    return undefined;
  }
  const { place, policy } = read;
  return { set: { place, rules: compileRules(policy, place) }, limits: compileLimits(policy, place, counts) };
}

function problemOf(read: ReadPolicy, what: string): string | undefined {
  return 'problem' in read ? `${what} is refused until the policy can be read: ${read.problem}` : undefined;
}
