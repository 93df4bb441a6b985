/** One cell with everything that is known about it: from the audit log, recordings, stored files, and live sessions. */
import { basename } from 'node:path';
import type { CellEntry } from '../history/entries.ts';
import { statusOf } from '../history/facts.ts';
import type { RecordOf } from '../history/records.ts';
import { principalFolder } from '../state/principals.ts';
import type { StoredThing } from '../terminal/stored-things.ts';
import type { Bridges } from './bridges.ts';
import { type AuditViews, callStatus, cellHead } from './log.ts';
import type { KeptParts, UiContext, UiParts } from './parts.ts';
import { UiRefusal } from './refusal.ts';
import type { UiCell } from './schema.ts';

/** A file may be written a little after its cell has ended. */
const LATE_MS = 2_000;
const MAX_ATTACHMENTS = 100;

interface CellParts {
  readonly views: AuditViews;
  readonly bridges: Bridges;
  readonly parts: UiParts;
  readonly context: UiContext;
}

/** Throws a refusal if the log has no such cell. */
export async function findCell(id: string, { views }: Pick<CellParts, 'views'>): Promise<CellEntry> {
  await views.history.refresh();
  const entry = id === '' ? undefined : await views.history.cell(id);
  if (entry === undefined) {
    throw new UiRefusal(404, 'The audit log has no such cell.', 'Old records are removed; see MCP_BRIDGE_AUDIT_DAYS.');
  }
  return entry;
}

export async function cellOf(id: string, cellParts: CellParts): Promise<UiCell> {
  const { bridges, context, parts } = cellParts;
  const entry = await findCell(id, cellParts);
  const { record: folder } = context.settings;
  const [kept, attachments, runnable] = await Promise.all([
    folder === undefined ? undefined : parts.readKeptCell(folder, entry.id),
    attachmentsOf(entry, cellParts),
    sessionsFor(entry, bridges),
  ]);
  const { calls, callsLeftOut, ended, started } = entry;
  const code = started?.code ?? '';
  const matched = matchCalls(calls, kept);
  return {
    ...cellHead(entry),
    code,
    servers: [...(started?.servers ?? [])],
    calls: calls.map((call) => callOf(call, matched.get(call.id))),
    calls_left_out: callsLeftOut,
    ...(kept?.ended !== undefined && { output: outputOf(kept.ended) }),
    ...(ended !== undefined && { output_bytes: ended.stdout_bytes + ended.stderr_bytes + ended.value_bytes }),
    attachments,
    kept: kept === undefined ? { output: false, why: whyNotKept(folder) } : { output: true },
    can_run_in: runnable,
    functions: [...parts.functionNamesIn(code)],
  };
}

function whyNotKept(folder: string | undefined): string {
  return folder === undefined
    ? 'The audit log has no output and no arguments; to keep them, set MCP_BRIDGE_RECORD to a folder, for the bridge and for this page.'
    : `No recording in ${folder} has this cell; the bridge that ran it may have had no MCP_BRIDGE_RECORD.`;
}

function outputOf({ error, stdout, value }: NonNullable<KeptParts['ended']>): NonNullable<UiCell['output']> {
  return { stdout, ...(value !== undefined && { value }), ...(error !== undefined && { error }) };
}

/**
 * Recordings and the log number calls differently, but both know in which order those of a tool began: the first of the one is the first
 * of the other.
 */
function matchCalls(
  calls: readonly RecordOf<'call'>[],
  kept: KeptParts | undefined,
): ReadonlyMap<string, KeptParts['calls'][number]> {
  const waiting = new Map<string, KeptParts['calls'][number][]>();
  for (const call of kept?.calls ?? []) {
    const key = JSON.stringify([call.server, call.tool]);
    const known = waiting.get(key) ?? [];
    known.push(call);
    waiting.set(key, known);
  }
  const matched = new Map<string, KeptParts['calls'][number]>();
  const inOrder = calls.toSorted((a, b) => numberOf(a) - numberOf(b));
  const places = new Map<string, number>();
  for (const call of inOrder) {
    const key = JSON.stringify([call.server, call.tool]);
    const place = places.get(key) ?? 0;
    places.set(key, place + 1);
    const found = waiting.get(key)?.[place];
    if (found !== undefined) {
      matched.set(call.id, found);
    }
  }
  return matched;
}

/** In its sandbox. */
function numberOf({ id }: RecordOf<'call'>): number {
  return Number(id.split('/').at(-1));
}

function callOf(call: RecordOf<'call'>, kept: KeptParts['calls'][number] | undefined): UiCell['calls'][number] {
  const {
    answer,
    approval,
    arguments: given,
    at,
    decision,
    duration_ms: durationMs,
    id,
    job,
    rule,
    server,
    tool,
  } = call;
  return {
    id,
    server,
    tool,
    at,
    duration_ms: durationMs,
    status: callStatus(statusOf(call)),
    ...(call.error_code !== undefined && { error_code: call.error_code }),
    ...(job !== undefined && { job }),
    arguments: given,
    decision,
    ...(rule !== undefined && { rule }),
    ...(answer !== undefined && { answer }),
    ...(approval !== undefined && { approval }),
    ...(kept !== undefined && {
      kept: {
        arguments: { ...kept.arguments },
        ...(kept.result !== undefined && { result: kept.result }),
        ...(kept.error !== undefined && { error: kept.error.message }),
        ...(kept.left_out_bytes !== undefined && { left_out_bytes: kept.left_out_bytes }),
      },
    }),
  };
}

/** Artifacts that the session of the cell saved while it ran. */
async function attachmentsOf(
  { ended, started }: CellEntry,
  { context, parts }: Pick<CellParts, 'context' | 'parts'>,
): Promise<UiCell['attachments']> {
  if (started === undefined) {
    return [];
  }
  const from = Date.parse(started.at);
  const until = ended === undefined ? Date.now() : Date.parse(ended.at) + LATE_MS;
  const isOfCell = ({ at, id }: StoredThing): boolean =>
    isIn(id, started) && at !== undefined && at.getTime() >= from && at.getTime() <= until;
  const all = await parts.stored('artifacts', context).list();
  return all
    .filter(isOfCell)
    .slice(0, MAX_ATTACHMENTS)
    .map(({ bytes, id, mimeType, name }) => ({
      name,
      mime_type: mimeType ?? 'application/octet-stream',
      size: bytes,
      url: `/api/stored/artifacts/content?id=${encodeURIComponent(id)}`,
    }));
}

/** Ids of artifacts are `WHOSE:SESSION/NAME`. */
function isIn(id: string, { principal, session }: RecordOf<'cell_started'>): boolean {
  const whose = principal === undefined ? '' : basename(principalFolder('', principal));
  return id.startsWith(`${whose}:${session}/`);
}

async function sessionsFor({ started }: CellEntry, bridges: Bridges): Promise<UiCell['can_run_in']> {
  const seen = await bridges.describeAll();
  const all = seen.flatMap(({ id, sessions }) =>
    sessions
      .filter(({ state }) => state !== 'running')
      .map(({ name, principal, profile }) => ({
        bridge: id,
        session: name,
        ...(principal !== undefined && { principal }),
        ...(profile !== undefined && { profile }),
      })),
  );
  const isSame = (one: (typeof all)[number]): boolean =>
    one.session === started?.session && one.principal === started.principal;
  return [...all.filter(isSame), ...all.filter((one) => !isSame(one))];
}
