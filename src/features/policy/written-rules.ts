/**
 * Rules that a person adds to `policy.json` with a button: to allow what a rule keeps asking about, or to deny a tool. A rule goes
 * before the one that it makes an exception of, so that what other rules deny stays denied. The rest of the file stays as it is, and a
 * backup is kept beside it.
 */
import { stat } from 'node:fs/promises';
import { join } from 'node:path';
import type { QuestionedCall } from '../../core/base/cell.ts';
import { BridgeError, messageOf } from '../../core/base/errors.ts';
import { onOneLine, parseJson } from '../../core/base/json-text.ts';
import { methodTools } from '../../core/calls/surface-calls.ts';
import { FileSyntaxError, UnsafeEditError } from '../../edges/clients/file-format.ts';
import type { ConfiguredServers } from '../../edges/configured/configured-servers.ts';
import { readClientFile, refuseReadOnly, writeClientFile } from '../../edges/servers/client-file.ts';
import type { CurrentPolicies } from './current-policies.ts';
import { knownServers } from './known-servers.ts';
import { explain, type TracedRule } from './rules/explain.ts';
import { Policies } from './rules/policies.ts';
import type { PolicyServer, PolicyTool } from './rules/policy-call.ts';
import { DOUBT, rulesFor } from './rules/rules.ts';
import { type Policy, readPolicy } from './rules/schema.ts';

/** A rule as it is or would be in the file. */
export interface WrittenRule {
  /** On one line of JSON. */
  readonly rule: string;
  /** `rules[1] of FILE`. */
  readonly place: string;
}

export type PlannedRules =
  | { readonly file: string; readonly rules: readonly WrittenRule[] }
  /** Why no rule can allow the calls; a sentence. */
  | { readonly why: string };

export interface PolicyRules {
  /** The rules that apply to calls of a tool, in order. */
  explain(server: string, tool: string): Promise<readonly TracedRule[]>;
  /** What `allow` would write. Changes nothing, and never rejects. */
  plan(calls: readonly QuestionedCall[]): Promise<PlannedRules>;
  /**
   * Adds rules that allow what the person was asked about at this time (ISO). Rejects with `CALL_REFUSED` if none can, if the file was
   * changed since, because the rule that asked is known by its place, or if the file cannot be changed.
   */
  allow(calls: readonly QuestionedCall[], asked?: string): Promise<Extract<PlannedRules, { readonly file: string }>>;
  /** Adds a rule that denies the tools of a server. Rejects with `CALL_REFUSED` if the file cannot be changed. */
  deny(
    server: string,
    tools: readonly string[],
    reason: string,
  ): Promise<Extract<PlannedRules, { readonly file: string }>>;
}

interface PolicyRulesOptions {
  readonly stateDir: string;
  /** Already refreshed. */
  readonly servers: Pick<ConfiguredServers, 'known' | 'definitions'>;
  readonly policies: CurrentPolicies;
}

interface Addition {
  readonly index: number;
  readonly rule: Readonly<Record<string, unknown>>;
}

class NoRule extends Error {}

/** Reads and changes nothing before it is asked. */
export function createPolicyRules(options: PolicyRulesOptions): PolicyRules {
  return new RulesOfFile(options);
}

type Changed = Extract<PlannedRules, { readonly file: string }>;

class RulesOfFile implements PolicyRules {
  readonly #options: PolicyRulesOptions;
  readonly #file: string;
  /** One change at a time: each begins with what the last one wrote. */
  #writing: Promise<unknown> = Promise.resolve();

  constructor(options: PolicyRulesOptions) {
    this.#options = options;
    this.#file = join(options.stateDir, 'policy.json');
  }

  async explain(server: string, tool: string): Promise<readonly TracedRule[]> {
    const named = await this.#find(server, tool);
    return explain(this.#options.policies(), named.server, named.tool, undefined).rules;
  }

  async plan(calls: readonly QuestionedCall[]): Promise<PlannedRules> {
    try {
      const { text } = await readClientFile(this.#file);
      const { added } = await this.#prepare(calls, text ?? EMPTY);
      return this.#show(added);
    } catch (error) {
      return { why: whyNot(error, this.#file) };
    }
  }

  allow(calls: readonly QuestionedCall[], asked?: string): Promise<Changed> {
    return this.#write(async (text) => {
      const changedMs = (await stat(this.#file).catch(() => undefined))?.mtimeMs ?? 0;
      if (asked !== undefined && changedMs > Date.parse(asked)) {
        throw new NoRule(`${this.#file} was changed after this was asked.`);
      }
      return this.#prepare(calls, text);
    });
  }

  deny(server: string, tools: readonly string[], reason: string): Promise<Changed> {
    return this.#write(async (text) => {
      const rule = { effect: 'deny', server: exactName(server), tool: tools.map(exactName), reason };
      const addition = { index: 0, rule };
      return { next: await insert(text, addition, this.#file), added: [addition] };
    });
  }

  async #find(server: string, tool: string): Promise<{ server: PolicyServer; tool: PolicyTool }> {
    const known = await knownServers(this.#options.servers);
    const found = known.find((each) => each.server.name === server);
    const named = (found?.tools ?? methodTools()).find(({ name }) => name === tool);
    return {
      server: found?.server ?? { name: server, alias: server },
      // One that is not known is judged by its name.
      tool: named ?? { name: tool, alias: tool, inputSchema: {} },
    };
  }

  /** The additions that allow the calls, one after the other, and the text of the file with them. */
  async #prepare(calls: readonly QuestionedCall[], text: string): Promise<Prepared> {
    const file = this.#file;
    let next = text;
    const added: Addition[] = [];
    for (const call of distinct(calls)) {
      const addition = exceptionFor(call, await this.#find(call.server, call.tool), next, { added, file });
      next = await insert(next, addition, file);
      added.push(addition);
    }
    await this.#expectAllowed(calls, next);
    return { next, added };
  }

  /** Rejects with `NoRule` if other policies still ask or refuse. */
  async #expectAllowed(calls: readonly QuestionedCall[], next: string): Promise<void> {
    const read = readPolicy(valueOf(next, this.#file), this.#file);
    const entries = new Map(
      [...this.#options.servers.definitions().values()].flatMap(({ file: place, name, policy }) =>
        policy === undefined ? [] : [[name, readPolicy(policy.value, place, policy.path)] as const],
      ),
    );
    const changed = new Policies(read, entries);
    for (const { server, tool } of calls) {
      const named = await this.#find(server, tool);
      const { effects, reason } = explain(changed, named.server, named.tool, undefined);
      if (!effects.includes('allow')) {
        throw new NoRule(`Another rule decides as well: ${reason}.`);
      }
    }
  }

  async #write(prepare: (text: string) => Promise<Prepared>): Promise<Changed> {
    const turn = this.#writing.then(async () => {
      const current = await readClientFile(this.#file);
      refuseReadOnly(current);
      const { added, next } = await prepare(current.text ?? EMPTY);
      await writeClientFile(current, next, new Date());
      return this.#show(added);
    });
    this.#writing = turn.catch(() => undefined);
    try {
      return await turn;
    } catch (error) {
      const file = this.#file;
      throw error instanceof BridgeError
        ? error
        : new BridgeError('CALL_REFUSED', whyNot(error, file), { hint: `Edit ${file} yourself.`, cause: error });
    }
  }

  #show(added: readonly Addition[]): Changed {
    const rules = added.map(({ index, rule }) => ({
      rule: onOneLine(rule),
      place: `rules[${index}] of ${this.#file}`,
    }));
    return { file: this.#file, rules };
  }
}

/** What the file becomes, and what was added to it. */
interface Prepared {
  readonly next: string;
  readonly added: readonly Addition[];
}

/** Of a file that does not exist yet. */
const EMPTY = '{}\n';

function distinct(calls: readonly QuestionedCall[]): readonly QuestionedCall[] {
  return [...new Map(calls.map((call) => [JSON.stringify([call.server, call.tool, call.reason]), call])).values()];
}

/**
 * The rule that allows what the rule in `call.reason` asks about, to be placed before that rule. `added` are those that were added since
 * the person was asked. Throws `NoRule`.
 */
function exceptionFor(
  call: QuestionedCall,
  { server, tool }: { readonly server: PolicyServer; readonly tool: PolicyTool },
  text: string,
  { added, file }: { readonly added: readonly Addition[]; readonly file: string },
): Addition {
  const read = readPolicy(valueOf(text, file), file);
  if ('problem' in read) {
    throw new NoRule(`${read.problem}.`);
  }
  const [all] = new Policies(read, new Map()).ruleSets(server.name);
  const rules = all?.rules ?? [];
  const reason = renumbered(call.reason, added);
  const asking = rulesFor(rules, server, tool).find(
    ({ decision, effect }) => effect === 'ask' && reason === decision.reason,
  );
  if (asking === undefined) {
    throw new NoRule(
      reason.includes(DOUBT)
        ? `The conditions of the rule cannot be checked for this call: ${reason}.`
        : `What asks is not in ${file} as it is now: ${reason}.`,
    );
  }
  const index = rules.findIndex(({ place }) => place === asking.place);
  const written = read.policy.rules[index];
  return {
    // A default or preset comes after all rules.
    index: Math.min(index, read.policy.rules.length),
    rule: {
      effect: 'allow',
      server: exactName(call.server),
      tool: exactName(call.tool),
      ...(written?.arguments !== undefined && { arguments: plain(written.arguments) }),
    },
  };
}

/** The reason with the number that its rule has after the additions. */
function renumbered(reason: string, added: readonly Addition[]): string {
  return reason.replace(/^rules\[(\d+)\]/, (_, number: string) => {
    const now = added.reduce((at, { index }) => (index <= at ? at + 1 : at), Number(number));
    return `rules[${now}]`;
  });
}

/** Conditions as a file has them. */
function plain(conditions: NonNullable<Policy['rules'][number]['arguments']>): unknown {
  return JSON.parse(JSON.stringify(conditions));
}

/** Names in rules are patterns. Throws `NoRule` for a name that would match more, or nothing. */
function exactName(name: string): string {
  if (/[*?^$\\|,]|^[.\s]|[.\s]$/.test(name) || name === '') {
    throw new NoRule(`The name '${name.slice(0, 80)}' has characters with a meaning in rules.`);
  }
  return name;
}

async function insert(text: string, { index, rule }: Addition, file: string): Promise<string> {
  const { insertInList } = await import('../../edges/clients/json-list.ts');
  const next = insertInList(text, 'rules', index, rule);
  const read = readPolicy(valueOf(next, file), file);
  if ('problem' in read) {
    throw new NoRule(`${read.problem}.`);
  }
  return next;
}

function valueOf(text: string, file: string): unknown {
  const parsed = parseJson(text);
  if ('fault' in parsed) {
    throw new NoRule(`${file} ${parsed.fault}.`);
  }
  return parsed.value;
}

function whyNot(error: unknown, file: string): string {
  const isOfFile = error instanceof FileSyntaxError || error instanceof UnsafeEditError;
  return isOfFile ? `${file} cannot be changed in place: ${error.message}.` : messageOf(error);
}
