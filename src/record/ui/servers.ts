/**
 * The configured servers, with what bridges and the audit log say of them; their accepted tools; and logging in. Reads what is kept of
 * each server and starts none.
 */
import { createHash } from 'node:crypto';
import { toBridgeError } from '../../core/base/errors.ts';
import { isObject } from '../../core/base/is-object.ts';
import { definitionBytes } from '../../core/directory/definition-size.ts';
import type { PinMode, ToolDifference } from '../../core/directory/server-metadata.ts';
import type { ConfiguredServers } from '../../edges/configured/configured-servers.ts';
import { type KnownState, reportServer } from '../../edges/configured/report.ts';
import type { ServerDefinition } from '../../edges/servers/discover.ts';
import type { CallSums } from '../history/call-sums.ts';
import type { SeenBridge } from '../local-api/client.ts';
import type { Bridges } from './bridges.ts';
import type { AuditViews } from './log.ts';
import type { UiContext } from './parts.ts';
import { UiRefusal } from './refusal.ts';
import type { UiServer } from './schema.ts';

interface ServerParts {
  readonly bridges: Bridges;
  readonly views: AuditViews;
  readonly context: UiContext;
}

/** Opens the configuration as it is now, and closes it again. */
export async function withServers<Answer>(
  { openServers }: Pick<UiContext, 'openServers'>,
  work: (servers: ConfiguredServers) => Promise<Answer>,
): Promise<Answer> {
  const servers = await openServers({ isSilent: true });
  try {
    servers.refresh();
    await servers.known.ready();
    return await work(servers);
  } finally {
    await Promise.all([servers.pool.close(), servers.known.close()]);
  }
}

export async function listShownServers({ bridges, context, views }: ServerParts): Promise<UiServer[]> {
  const [seen, sums] = await Promise.all([bridges.describeAll(), views.servers()]);
  return withServers(context, async (servers) => {
    const definitions = [...servers.definitions().values()];
    const configured = await Promise.all(
      definitions.map((one) => describe(one, { servers, seen, sums: sums.get(one.name), pin: context.settings.pin })),
    );
    const known = new Set(definitions.map(({ name }) => name));
    const elsewhere = new Set(
      seen.flatMap((one) => one.servers.map(({ name }) => name)).filter((name) => !known.has(name)),
    );
    return [...configured, ...[...elsewhere].map((name) => fromElsewhere(name, seen, sums.get(name)))];
  });
}

interface Described {
  readonly servers: ConfiguredServers;
  readonly seen: readonly SeenBridge[];
  readonly sums: CallSums | undefined;
  readonly pin: PinMode;
}

async function describe(definition: ServerDefinition, described: Described): Promise<UiServer> {
  const { seen, servers, sums } = described;
  const { failure, file, hasLogin, name, state, tokens, tools, transport } = await reportServer(servers, definition);
  const server = servers.known.servers().find((one) => one.name === name);
  const listed = (server && servers.known.metadata(server)?.tools) ?? undefined;
  return {
    name,
    file,
    ...(definition.disabled && { disabled_reason: `"disabled" is true in its entry in ${file}.` }),
    transport,
    state: state satisfies KnownState,
    ...(failure !== null && { error: failure.message, ...(failure.hint !== null && { hint: failure.hint }) }),
    can_log_in: canLogIn(definition),
    ...(hasLogin !== null && { logged_in: hasLogin }),
    ...(tools !== null && { tools }),
    ...(tokens !== null && { definition_tokens: tokens }),
    ...(listed !== undefined && { definition_bytes: definitionBytes(listed) }),
    ...sumsOf(sums),
    states: statesOf(name, seen),
    pins: await pinsOf(definition, described),
  };
}

/** A server that is configured only where some bridge was started. */
function fromElsewhere(name: string, seen: readonly SeenBridge[], sums: CallSums | undefined): UiServer {
  const tools = seen.flatMap((one) => one.servers).find((one) => one.name === name)?.tools;
  return {
    name,
    transport: 'unknown',
    state: 'unknown',
    can_log_in: false,
    ...(tools !== undefined && { tools }),
    ...sumsOf(sums),
    states: statesOf(name, seen),
    pins: { mode: 'off', accepted: 0, changed: [], seen: digestOf([]) },
  };
}

function sumsOf(sums: CallSums | undefined) {
  const { p50_ms: p50, p95_ms: p95 } = sums?.percentiles() ?? { p50_ms: null, p95_ms: null };
  return {
    calls: sums?.calls ?? 0,
    failed: sums?.failed ?? 0,
    refused: sums?.refused ?? 0,
    ...(p50 !== null && { p50_ms: p50 }),
    ...(p95 !== null && { p95_ms: p95 }),
  };
}

function statesOf(name: string, seen: readonly SeenBridge[]): UiServer['states'] {
  return seen.flatMap(({ id, servers }) =>
    servers
      .filter((one) => one.name === name)
      .map(({ error, pid, principal, profile, state }) => ({
        bridge: id,
        ...(principal !== undefined && { principal }),
        ...(profile !== undefined && { profile }),
        state,
        ...(pid !== undefined && { pid }),
        ...(error !== undefined && { error }),
      })),
  );
}

/** One with an Authorization header of its own takes no login. */
function canLogIn({ disabled, headers, url }: ServerDefinition): boolean {
  return (
    !disabled && url !== undefined && !Object.keys(headers ?? {}).some((name) => name.toLowerCase() === 'authorization')
  );
}

type Changed = UiServer['pins']['changed'];

async function pinsOf(
  definition: ServerDefinition,
  { pin, servers }: Pick<Described, 'pin' | 'servers'>,
): Promise<UiServer['pins']> {
  // As `pins/` decides: an entry can be stricter than the setting, but cannot loosen `strict`.
  const mode = pin === 'strict' ? pin : (definition.pin ?? pin);
  const none = { mode, accepted: 0, changed: [], seen: digestOf([]) };
  if (definition.disabled || mode === 'off') {
    return none;
  }
  try {
    const found = await differencesOf(definition, servers);
    const changed = found.all.map(shownDifference);
    return { mode, accepted: found.tools.length - changed.length, changed, seen: digestOf(changed) };
  } catch (error) {
    return { ...none, problem: error instanceof Error ? error.message : String(error) };
  }
}

async function differencesOf({ name }: ServerDefinition, { callable, definitions, known, review }: ConfiguredServers) {
  const server = known.servers().find((one) => one.name === name);
  const metadata = server && known.metadata(server);
  const definition = callable().get(name) ?? definitions().get(name);
  if (metadata === undefined || definition === undefined) {
    return { all: [], tools: [] };
  }
  const all = await review.differences(definition, metadata);
  const accept = (tools: readonly string[]) => review.accept(definition, metadata, tools);
  return { all, tools: metadata.tools, accept };
}

function shownDifference({ after, before, change, tool }: ToolDifference): Changed[number] {
  const parts = [...new Set([...Object.keys(before ?? {}), ...Object.keys(after)])];
  const differing = parts.filter((part) => change.parts.length === 0 || change.parts.includes(part));
  return {
    tool,
    change: change.parts.length === 0 ? 'added' : 'changed',
    is_refused: change.isRefused,
    differences: differing
      .filter((part) => before?.[part] !== after[part])
      .map((part) => ({
        path: part,
        ...(before?.[part] !== undefined && { before: inLines(before[part]) }),
        ...(after[part] !== undefined && { after: inLines(after[part]) }),
      })),
  };
}

/** JSON on several lines, with sorted keys because their order does not matter; any other text unchanged. */
function inLines(text: string): string {
  try {
    return JSON.stringify(JSON.parse(text), sorted, 2);
  } catch {
    return text;
  }
}

function sorted(_key: string, value: unknown): unknown {
  return isObject(value) ? Object.fromEntries(Object.entries(value).toSorted(([a], [b]) => (a < b ? -1 : 1))) : value;
}

function digestOf(changed: Changed): string {
  return createHash('sha256').update(JSON.stringify(changed)).digest('base64url');
}

/** The changed tools of a server that a request is about, and how to accept them. Throws a refusal for others. */
export async function chosenTools(
  name: string,
  body: unknown,
  servers: ConfiguredServers,
): Promise<{ readonly tools: readonly string[]; readonly seen: string; accept(): Promise<void> }> {
  const definition = servers.definitions().get(name);
  if (definition === undefined) {
    throw new UiRefusal(404, 'There is no such server.', undefined, 'SERVER_UNKNOWN');
  }
  const { accept, all } = await differencesOf(definition, servers);
  const changed = all.map(({ tool }) => tool);
  const wanted = isObject(body) ? (body['tools'] ?? changed) : changed;
  if (!Array.isArray(wanted) || !wanted.every((tool) => typeof tool === 'string')) {
    throw new UiRefusal(400, '"tools" must be a list of names.');
  }
  const tools: readonly string[] = wanted;
  if (tools.length === 0 || tools.some((tool) => !changed.includes(tool))) {
    throw new UiRefusal(409, 'These tools do not differ from what was accepted.', 'Read the servers again.');
  }
  return { tools, seen: digestOf(all.map(shownDifference)), accept: async () => accept?.(tools) };
}

/** Accepts tools as the page has shown them. */
export async function acceptShownTools(name: string, body: unknown, context: UiContext): Promise<void> {
  await withServers(context, async (servers) => {
    const { accept, seen } = await chosenTools(name, body, servers);
    if (!isObject(body) || body['seen'] !== seen) {
      throw new UiRefusal(409, 'The definitions are no longer those that were shown.', 'Read the servers again.');
    }
    await accept();
  });
}

/** How long a person may take to log in. Chosen; that of the command is the same. */
const LOGIN_MS = 300_000;

/**
 * Begins a login, which goes on in the background. Resolves with the address to open; undefined if none is needed. Rejects with a
 * refusal, or with the errors of logging in.
 */
export async function beginLogin(name: string, { env, logger, openServers }: UiContext): Promise<string | undefined> {
  const servers = await openServers({ isSilent: true });
  const close = () => Promise.all([servers.pool.close(), servers.known.close()]);
  try {
    servers.refresh();
    const definition = servers.definitions().get(name);
    if (definition === undefined) {
      throw new UiRefusal(404, 'There is no such server.', undefined, 'SERVER_UNKNOWN');
    }
    if (definition.url === undefined || !canLogIn(definition)) {
      throw new UiRefusal(
        409,
        'This server takes no login.',
        'Logins are for remote servers without an Authorization header.',
      );
    }
    const remote = await servers.prepare(definition);
    const { login } = await import('../../edges/upstream/oauth/login.ts');
    return await new Promise((resolve, reject) => {
      void login(remote, {
        store: servers.logins,
        env,
        timeoutMs: LOGIN_MS,
        onAddress: async ({ href }) => resolve(href),
      })
        .then(
          () => resolve(undefined),
          (error: unknown) => {
            logger.debug(`Logging in at '${name}' failed: ${String(error)}`);
            reject(toBridgeError(error));
          },
        )
        .finally(() => void close());
    });
  } catch (error) {
    await close();
    throw error;
  }
}
