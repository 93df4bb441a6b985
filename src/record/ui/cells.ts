/** One cell with everything that is known about it: from the audit log, recordings, stored files, and live sessions. */

import { ownerOfFolder, principalFolder } from '../../core/state/principals.ts';
import type { StoredThing } from '../../edges/terminal/stored-things.ts';
import { sessionOf } from '../history/facts.ts';
import type { FoundCell } from '../history/history.ts';
import type { RecordOf } from '../history/records.ts';
import type { LiveStep } from '../local-api/schema.ts';
import type { Bridges } from './bridges.ts';
import { type AuditViews, callHead, cellHead, fieldsOf } from './log.ts';
import type { KeptParts, UiContext, UiParts } from './parts.ts';
import { UiRefusal } from './refusal.ts';
import type { UiCell } from './schema.ts';

interface CellParts {
  readonly views: AuditViews;
  readonly bridges: Bridges;
  readonly parts: UiParts;
  readonly context: UiContext;
}

/** Throws a refusal if the log has no such cell. */
export async function findCell(id: string, { views }: Pick<CellParts, 'views'>): Promise<FoundCell> {
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
    attachmentsOf(entry.files, cellParts),
    sessionsFor(entry, bridges),
  ]);
  const { calls, callsLeftOut, ended, started, steps } = entry;
  const code = started?.code ?? '';
  const byNumber = keptByNumber(kept);
  return {
    ...cellHead(entry),
    code,
    servers: [...(started?.servers ?? [])],
    calls: calls.map((call) => callOf(call, byNumber.get(numberOf(call)))),
    calls_left_out: callsLeftOut,
    ...(steps.length > 0 && { steps: steps.map(stepOf).toSorted((a, b) => a.step - b.step) }),
    ...(kept?.ended !== undefined && { output: outputOf(kept.ended) }),
    ...(ended !== undefined && { output_bytes: ended.stdout_bytes + ended.stderr_bytes + ended.value_bytes }),
    attachments,
    kept: kept === undefined ? { output: false, why: whyNotKept(folder) } : { output: true, ...whyNoCalls(kept) },
    can_run_in: runnable,
    functions: [...parts.functionNamesIn(code)],
  };
}

function whyNotKept(folder: string | undefined): string {
  return folder === undefined
    ? 'The audit log has no output and no arguments; to keep them, set MCP_BRIDGE_RECORD to a folder, for the bridge and for this page.'
    : `No recording in ${folder} has this cell; the bridge that ran it may have had no MCP_BRIDGE_RECORD.`;
}

function whyNoCalls({ calls }: KeptParts): { readonly why?: string } {
  const isOld = calls.some(({ call }) => call === undefined);
  return isOld
    ? {
        why: 'An earlier version made the recording and did not note which call is which, so it has no arguments and results to show.',
      }
    : {};
}

function outputOf({ error, stdout, value }: NonNullable<KeptParts['ended']>): NonNullable<UiCell['output']> {
  return { stdout, ...(value !== undefined && { value }), ...(error !== undefined && { error }) };
}

/** By their number in the sandbox, which both the log and recordings have. */
function keptByNumber(kept: KeptParts | undefined): ReadonlyMap<number, KeptParts['calls'][number]> {
  return new Map((kept?.calls ?? []).flatMap((call) => (call.call === undefined ? [] : [[call.call, call]])));
}

/** In its sandbox. */
function numberOf({ id }: RecordOf<'call'>): number {
  return Number(id.split('/').at(-1));
}

function callOf(call: RecordOf<'call'>, kept: KeptParts['calls'][number] | undefined): UiCell['calls'][number] {
  return {
    ...callHead(call),
    ...fieldsOf(call, ['job', 'arguments', 'decision', 'answer', 'approval']),
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

function stepOf({ at, failed_rows: failed, outcome, rows, ...record }: RecordOf<'step'>): LiveStep {
  return {
    ...fieldsOf(record, ['step', 'name', 'after', 'within', 'duration_ms', 'tries', 'exception']),
    started: at,
    status: outcome,
    ...(rows !== undefined && { rows }),
    // Of others, the log does not say how far they came.
    ...(rows !== undefined && outcome === 'ok' && { rows_ended: rows }),
    ...(failed !== undefined && { rows_failed: failed }),
  };
}

/** Artifacts that the cell saved and that nothing has replaced since: size and time of a file tell its versions apart. */
async function attachmentsOf(
  files: readonly RecordOf<'artifact_saved'>[],
  { context, parts }: Pick<CellParts, 'context' | 'parts'>,
): Promise<UiCell['attachments']> {
  if (files.length === 0) {
    return [];
  }
  const saved = new Set(files.map((file) => versionOf(file, sessionOf(file, file.cell), ownerOf(file.principal))));
  const all = await parts.stored('artifacts', context).list();
  return all
    .filter((thing) => saved.has(storedVersion(thing)))
    .map(({ bytes, id, mimeType, name }) => ({
      name,
      mime_type: mimeType ?? 'application/octet-stream',
      size: bytes,
      url: `/api/stored/artifacts/content?id=${encodeURIComponent(id)}`,
    }));
}

function versionOf(
  { bytes, modified, name }: Pick<RecordOf<'artifact_saved'>, 'bytes' | 'modified' | 'name'>,
  session: string,
  owner: string,
): string {
  return JSON.stringify([owner, session, name, bytes, modified]);
}

/** Ids of artifacts are `FOLDER:SESSION/NAME`. */
function storedVersion({ at, bytes, id, name }: StoredThing): string {
  const [, folder = '', session = ''] = /^([^:]*):([^/]*)/.exec(id) ?? [];
  return versionOf({ bytes, modified: at?.toISOString() ?? '', name }, session, ownerOfFolder('', folder));
}

/** As `ownerOfFolder` names it. */
function ownerOf(principal: string | undefined): string {
  return ownerOfFolder('', principal === undefined ? '' : principalFolder('', principal));
}

async function sessionsFor({ started }: FoundCell, bridges: Bridges): Promise<UiCell['can_run_in']> {
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
