/**
 * `find_new_servers` and `propose_server`. Code can look, but nothing that it finds is started or reached before the user has seen all of
 * it and agreed. The words of a search leave the machine, so they are few and short.
 */
import { z } from 'zod';
import { CappedMap } from '../../core/base/capped-map.ts';
import { BridgeError, toBridgeError } from '../../core/base/errors.ts';
import { isObject } from '../../core/base/is-object.ts';
import { COMMAND } from '../../core/base/package.ts';
import { checked, type Method } from '../../core/calls/method.ts';
import { toIdentifier } from '../../core/catalog/names.ts';
import type { CallMethod } from '../../core/protocol/frames.ts';
import type { CallContext } from '../../core/session/dispatch.ts';
import type { FileObject } from '../../edges/clients/file-format.ts';
import type { DeclinedServers } from '../../edges/registries/declined.ts';
import { describeNewServer, describeSources } from '../../edges/registries/describe.ts';
import { addCommand, aliasOf, type PlannedEntry, planEntry } from '../../edges/registries/entry.ts';
import type { NewServers } from '../../edges/registries/find.ts';
import { isName, type NewServer } from '../../edges/registries/new-server.ts';
import { type Proposal, proposalForm } from './proposal-form.ts';

const MAX_QUERY_CHARS = 400;
const MAX_LIMIT = 50;
const DEFAULT_LIMIT = 5;
const MAX_VALUES = 50;
const MAX_VALUE_CHARS = 4_000;
/** Sessions whose searches and questions are counted; clients choose their names. Chosen. */
const MAX_SESSIONS = 10_000;
/** Searches of one session, which could carry data out word by word. Chosen: far more than an honest task needs. */
const MAX_SEARCHES = 60;
/** Questions of one session, whatever was answered. Chosen: code cannot tire the user until they agree. */
const MAX_QUESTIONS = 5;

const FindParams = z.strictObject({
  query: z.string().max(MAX_QUERY_CHARS),
  limit: z.int().min(1).max(MAX_LIMIT).default(DEFAULT_LIMIT),
});
const ProposeParams = z.strictObject({
  name: z.string().refine(isName, 'expected the name of a server, as find_new_servers returns it'),
  alias: z
    .string()
    .regex(/^[A-Za-z0-9][A-Za-z0-9_-]{0,39}$/, 'expected at most 40 letters, digits, - and _')
    .nullish(),
  values: z
    .custom<object>(
      (value) => isObject(value) && Object.keys(value).length <= MAX_VALUES,
      `expected at most ${MAX_VALUES} values`,
    )
    .pipe(z.record(z.string(), z.string().max(MAX_VALUE_CHARS)))
    .default({}),
});
type ProposeParams = z.infer<typeof ProposeParams>;

export interface NewServersOptions {
  readonly servers: NewServers;
  readonly declined: DeclinedServers;
  /** Why code must not search, in one clause; undefined if it may. */
  readonly whyNoSearch: string | undefined;
  /** Why code must not propose, in one clause; undefined if it may. */
  readonly whyNoProposal: string | undefined;
  /** Whether there is a server with this name, or with its name in Python. */
  readonly isTaken: (name: string) => boolean;
  /** Names of the stored secrets. */
  readonly storedSecrets: () => Promise<ReadonlySet<string>>;
  /** Writes the entry, so that the next cell has the server. Resolves with the file. */
  readonly add: (name: string, entry: FileObject) => Promise<string>;
}

export function newServerMethods(options: NewServersOptions): [CallMethod, Method][] {
  const searches = new CappedMap<string, number>(MAX_SESSIONS);
  const questions = new CappedMap<string, number>(MAX_SESSIONS);
  const count = (counts: Map<string, number>, { session }: CallContext, max: number, what: string): void => {
    const next = (counts.get(session) ?? 0) + 1;
    if (next > max) {
      throw new BridgeError('CALL_REFUSED', `session '${session}' has ${what} ${max} times, which is the limit`);
    }
    counts.set(session, next);
  };

  const find = checked(FindParams, async ({ limit, query }, context) => {
    refuse(options.whyNoSearch, 'servers cannot be searched for');
    count(searches, context, MAX_SEARCHES, 'looked for new servers');
    const found = await options.servers.search(query, limit);
    return { servers: found.servers.map(describeNewServer), sources: describeSources(found) };
  });

  const propose = checked(ProposeParams, async (params, context) => {
    const { name } = params;
    refuse(options.whyNoProposal, `server '${name}' was not added`);
    if (context.asker === undefined) {
      const who =
        context.job === undefined ? 'this client cannot ask the user' : 'a background job cannot ask the user';
      throw new BridgeError('APPROVAL_UNAVAILABLE', `server '${name}' was not added: ${who}`, {
        hint: `Ask the user to run: ${addCommand(name, Object.keys(params.values))}`,
      });
    }
    count(searches, context, MAX_SEARCHES, 'looked for new servers');
    const proposal = await plan(params, options);
    count(questions, context, MAX_QUESTIONS, 'proposed servers');
    await ask({ ...proposal, session: context.session }, options.declined, context);
    const file = await options.add(proposal.alias, proposal.planned.entry);
    context.load?.(proposal.alias);
    return answer(proposal, file);
  });

  return [
    ['find_new_servers', find],
    ['propose_server', propose],
  ];
}

type Planned = Omit<Proposal, 'session'>;

/** What would be added. Rejects if it cannot be, or if the user has declined it before. */
async function plan({ alias: wanted, name, values }: ProposeParams, options: NewServersOptions): Promise<Planned> {
  const { server, resembles } = await options.servers.lookUp(name);
  const declinedAt = await options.declined.since(name, server.version);
  if (declinedAt !== undefined) {
    throw declined(server, `the user declined it on ${declinedAt.slice(0, 10)}`);
  }
  const alias = wanted ?? aliasOf(name);
  if (options.isTaken(alias)) {
    throw new BridgeError('CALL_REFUSED', `server '${name}' was not added: there is a server '${alias}' already`, {
      hint: 'If it is another one, choose a name: propose_server(name, alias="…").',
    });
  }
  const stored = await options.storedSecrets();
  const planned = planEntry(server, { alias, values, isStored: (secret) => stored.has(secret) });
  const missing = planned.secrets.filter((secret) => !stored.has(secret));
  return { alias, missing, planned, resembles, server };
}

/** Resolves if the user agrees. Rejects with `APPROVAL_DENIED`, and with the errors of `Asker.ask`. */
async function ask(
  proposal: Proposal,
  memory: DeclinedServers,
  { asker, signal }: Pick<CallContext, 'asker' | 'signal'>,
): Promise<void> {
  const { server } = proposal;
  const hint = `The user can add it: ${addCommand(server.name)}`;
  const reply = await asker?.ask(proposalForm(proposal), signal).catch((error: unknown) => {
    const { code, message } = toBridgeError(error);
    throw new BridgeError(code, `server '${server.name}' was not added: ${message}`, { hint, cause: error });
  });
  if (reply?.action === 'accept' && reply.content?.['add'] === true) {
    return;
  }
  // A question that was only dismissed may be asked again.
  if (reply?.action !== 'cancel') {
    await memory.add(server.name, server.version);
  }
  throw declined(server, 'the user was asked and did not allow it');
}

function declined({ name, version }: NewServer, why: string): BridgeError {
  return new BridgeError('APPROVAL_DENIED', `server '${name}' ${version} was not added: ${why}`, {
    hint: `Continue without it. If the user changes their mind: ${COMMAND} servers find --forget ${name}`,
  });
}

function answer(
  { alias, missing, planned }: { alias: string; missing: readonly string[]; planned: PlannedEntry },
  file: string,
) {
  const proxy = `mcp_${toIdentifier(alias.toLowerCase())}`;
  const usable = `with runtime.call_tool("${alias}", …) now, and as ${proxy} in the next cell`;
  return {
    server: alias,
    proxy,
    runs: planned.runs,
    file,
    missing_secrets: missing.map((secret) => ({ name: secret, command: `${COMMAND} secrets set ${secret}` })),
    usable: missing.length === 0 ? usable : `${usable}, once the user has stored the missing secrets`,
  };
}

function refuse(why: string | undefined, what: string): void {
  if (why !== undefined) {
    throw new BridgeError('CALL_REFUSED', `${what}: ${why}`, {
      hint: 'Tell the user what you need; they can add servers themselves.',
    });
  }
}
