/** What each request of the API does. It knows nothing of sockets. */
import { isObject } from '../../core/base/is-object.ts';
import type { WaitingQuestions } from '../../core/base/waiting-question.ts';
import type { Bridges } from './bridges.ts';
import { cellOf, findCell } from './cells.ts';
import type { AuditViews } from './log.ts';
import { allowAlways, answerQuestion, answerSchedule, overviewOf } from './overview.ts';
import type { PolicyEditor, SentFile, UiContext, UiParts } from './parts.ts';
import { UiRefusal } from './refusal.ts';
import { SCHEDULES, STORED_KINDS, type UiStored, type UiStoredKind } from './schema.ts';
import { acceptShownTools, beginLogin, chosenTools, listShownServers, withServers } from './servers.ts';

export interface ApiCall {
  readonly method: string;
  /** Without the query, still encoded. */
  readonly path: string;
  readonly query: URLSearchParams;
  /** The parsed body; undefined if there is none. */
  readonly body: unknown;
}

export interface RouteParts {
  readonly bridges: Bridges;
  readonly views: AuditViews;
  readonly parts: UiParts;
  readonly context: UiContext;
  /** The policy of the configuration as it is now. */
  readonly policy: () => Promise<PolicyEditor>;
  /** Questions of scheduled runs. */
  readonly waiting: WaitingQuestions;
}

/** Bytes instead of JSON. */
export class Download {
  readonly file: SentFile;

  constructor(file: SentFile) {
    this.file = file;
  }
}

type Handle = (names: readonly string[], request: ApiCall, parts: RouteParts) => Promise<unknown>;

const OK = { ok: true } as const;

/** `*` stands for a name, which the handler gets. */
const ROUTES: Readonly<Record<string, Handle>> = {
  'GET overview': async (_, __, { policy, ...parts }) => overviewOf({ ...parts, policy: await policy() }),
  'GET servers': (_, __, parts) => listShownServers(parts),
  'GET history': (_, { query }, { views }) => views.search(query),
  'GET cells': (_, { query }, parts) => cellOf(query.get('id') ?? '', parts),
  'GET savings': (_, { query }, { views }) => views.savings(query),
  'GET stored/*/content': ([kind = ''], { query }, parts) => readStored(kindOf(kind), query.get('id') ?? '', parts),
  'GET stored/*': ([kind = ''], _, parts) => listStored(kindOf(kind), parts),
  'DELETE stored/*': ([kind = ''], { query }, parts) => removeStored(kindOf(kind), query.get('id') ?? '', parts),
  'POST bridges/*/sessions/*/run': runCell,
  'POST bridges/*/sessions/*/*': ([bridge = '', session = '', action = ''], request, { bridges }) =>
    passOn({ bridge, collection: 'sessions', name: session, action }, request, bridges),
  'POST bridges/*/servers/*/*': ([bridge = '', server = '', action = ''], request, { bridges }) =>
    passOn({ bridge, collection: 'servers', name: server, action }, request, bridges),
  'POST bridges/*/approvals/*': async ([bridge = '', approval = ''], { body }, { bridges, waiting }) => {
    await (bridge === SCHEDULES
      ? answerSchedule(approval, body, waiting)
      : answerQuestion({ approval, bridge }, body, bridges));
    return OK;
  },
  'POST bridges/*/approvals/*/always': async ([bridge = '', approval = ''], _, { bridges, policy }) =>
    allowAlways({ approval, bridge }, bridges, await policy()),
  'POST servers/*/login': async ([name = ''], _, { context }) => {
    const url = await beginLogin(name, context);
    return { ...OK, ...(url !== undefined && { url }) };
  },
  'POST servers/*/pins/accept': async ([name = ''], { body }, { context }) => {
    await acceptShownTools(name, body, context);
    return OK;
  },
  'POST servers/*/pins/refuse': refuseTools,
  'POST cells/save-as-tool': saveAsTool,
};

const COMPILED = Object.entries(ROUTES).map(([route, handle]) => {
  const [method = '', path = ''] = route.split(' ');
  return { method, pattern: path.split('/'), handle };
});

/** Resolves with the JSON of the answer, or a `Download`. Rejects with a refusal, or with a `BridgeError`. */
export async function answerRequest(request: ApiCall, parts: RouteParts): Promise<unknown> {
  const names = partsOf(request.path);
  const matching = names === undefined ? [] : COMPILED.filter(({ pattern }) => isMatch(pattern, names));
  const found = matching.find(({ method }) => method === request.method);
  if (found === undefined || names === undefined) {
    throw matching.length === 0
      ? new UiRefusal(404, 'There is no such path.')
      : new UiRefusal(405, `This path takes ${matching.map(({ method }) => method).join(' or ')}.`);
  }
  return found.handle(
    names.filter((_, index) => found.pattern[index] === '*'),
    request,
    parts,
  );
}

function isMatch(pattern: readonly string[], names: readonly string[]): boolean {
  return pattern.length === names.length && pattern.every((part, index) => part === '*' || part === names[index]);
}

/** The decoded parts after `/api/`; undefined if it is no such path. */
function partsOf(path: string): readonly string[] | undefined {
  const [empty, api, ...parts] = path.split('/');
  try {
    return empty === '' && api === 'api' ? parts.map(decodeURIComponent) : undefined;
  } catch {
    return undefined;
  }
}

/** What bridges do with each. Others are not passed on. */
const ACTIONS: Readonly<Record<'sessions' | 'servers', readonly string[]>> = {
  sessions: ['interrupt', 'end', 'hibernate'],
  servers: ['start', 'stop', 'refresh'],
};

interface PassedOn {
  readonly bridge: string;
  readonly collection: 'sessions' | 'servers';
  readonly name: string;
  readonly action: string;
}

async function passOn(
  { action, bridge, collection, name }: PassedOn,
  { query }: ApiCall,
  bridges: Bridges,
): Promise<typeof OK> {
  if (!ACTIONS[collection].includes(action)) {
    throw new UiRefusal(404, 'There is no such action.', `There are ${ACTIONS[collection].join(', ')}.`);
  }
  const client = await bridges.get(bridge);
  await client.post(`/v1/${collection}/${encodeURIComponent(name)}/${action}${whoseOf(query)}`);
  return OK;
}

/** The part of the query that says whose it is. */
function whoseOf(query: URLSearchParams): string {
  const whose = new URLSearchParams();
  for (const key of ['principal', 'profile']) {
    const value = query.get(key);
    if (value !== null) {
      whose.set(key, value);
    }
  }
  return whose.size === 0 ? '' : `?${whose.toString()}`;
}

async function runCell(
  [bridge = '', session = '']: readonly string[],
  { body, query }: ApiCall,
  { bridges }: RouteParts,
): Promise<unknown> {
  const client = await bridges.get(bridge);
  return client.post(`/v1/sessions/${encodeURIComponent(session)}/run${whoseOf(query)}`, body);
}

async function refuseTools(
  [name = '']: readonly string[],
  { body }: ApiCall,
  { context, policy }: RouteParts,
): Promise<unknown> {
  const { tools } = await withServers(context, (servers) => chosenTools(name, body, servers));
  const added = await (await policy()).deny(name, tools, 'its changed definition was refused');
  return { ...OK, policy_file: added.file, rules: added.rules };
}

async function saveAsTool(_: readonly string[], { body }: ApiCall, parts: RouteParts): Promise<unknown> {
  const { id, name } = isObject(body) ? body : {};
  if (typeof id !== 'string' || typeof name !== 'string') {
    throw new UiRefusal(400, 'The body must be {"id": CELL, "name": FUNCTION}.');
  }
  const { started } = await findCell(id, parts);
  await parts.parts.keepFunction(started?.code ?? '', name, parts.context);
  return { ...OK, name };
}

function kindOf(text: string): UiStoredKind {
  const kind = STORED_KINDS.find((one) => one === text);
  if (kind === undefined) {
    throw new UiRefusal(404, 'There is no such kind.', `There are ${STORED_KINDS.join(', ')}.`);
  }
  return kind;
}

async function listStored(kind: UiStoredKind, { context, parts }: RouteParts): Promise<UiStored> {
  try {
    const all = await parts.stored(kind, context).list();
    const items = all
      .toSorted((a, b) => (b.at?.getTime() ?? 0) - (a.at?.getTime() ?? 0))
      .map(({ at, bytes, detail, id, mimeType, name, whyKept }) => ({
        id,
        name,
        bytes,
        ...(at !== undefined && { at: at.toISOString() }),
        ...(detail !== undefined && detail !== '' && { detail }),
        ...(mimeType !== undefined && { mime_type: mimeType }),
        removable: whyKept === undefined,
        ...(whyKept !== undefined && { why_not: whyKept }),
      }));
    return { items };
  } catch (error) {
    return { items: [], problem: error instanceof Error ? error.message : String(error) };
  }
}

async function removeStored(kind: UiStoredKind, id: string, { context, parts }: RouteParts): Promise<typeof OK> {
  const things = parts.stored(kind, context);
  const wanted = (await things.list()).find((one) => one.id === id);
  if (wanted?.whyKept !== undefined) {
    throw new UiRefusal(409, wanted.whyKept);
  }
  if (wanted === undefined || !(await things.remove(id))) {
    throw new UiRefusal(404, 'It is not stored any more.', 'Read the list again.');
  }
  return OK;
}

async function readStored(kind: UiStoredKind, id: string, { context, parts }: RouteParts): Promise<Download> {
  const found = await parts.readStored(kind, id, context);
  if (found === undefined) {
    const code = kind === 'artifacts' ? 'ARTIFACT_UNKNOWN' : undefined;
    throw new UiRefusal(404, 'There is nothing of that name to read.', 'Read the list again.', code);
  }
  return new Download(found);
}
