/**
 * Writes and reads the labels of our containers. They contain what a sweep needs, and nothing private: anyone who uses the same
 * engine can read them.
 */
import type { Owner } from '../../../core/base/owner.ts';

const PREFIX = 'mcp-server-code-execution-mode';

/** On every container of ours. The value is the id of the bridge that started it. */
export const INSTANCE_LABEL = `${PREFIX}.instance`;
const HOST_LABEL = `${PREFIX}.host`;
/** Process id of that bridge. */
export const PID_LABEL = `${PREFIX}.pid`;
const PID_STARTED_LABEL = `${PREFIX}.pid-started`;
/** Name of its session. */
export const SESSION_LABEL = `${PREFIX}.session`;
const CREATED_LABEL = `${PREFIX}.created-at`;
/** Session names in labels are for people, and cut to this length. */
const MAX_SESSION_CHARS = 64;

export interface SandboxLabels {
  readonly instanceId: string;
  readonly owner: Owner;
  readonly session: string;
  readonly createdAt: Date;
}

/** The labels of one container. Values consist of letters, digits and `._:%-`. */
export function writeLabels(labels: SandboxLabels): Record<string, string> {
  return {
    [INSTANCE_LABEL]: labels.instanceId,
    [HOST_LABEL]: labels.owner.host,
    [PID_LABEL]: String(labels.owner.pid),
    [PID_STARTED_LABEL]: labels.owner.started,
    [SESSION_LABEL]: escapeValue(labels.session.slice(0, MAX_SESSION_CHARS)),
    [CREATED_LABEL]: labels.createdAt.toISOString(),
  };
}

/** Reads what `writeLabels` wrote; undefined if a label is missing or invalid. */
export function readLabels(values: Readonly<Record<string, string>>): SandboxLabels | undefined {
  const instanceId = values[INSTANCE_LABEL];
  const host = values[HOST_LABEL];
  const pid = Number(values[PID_LABEL]);
  const started = values[PID_STARTED_LABEL];
  const createdAt = new Date(values[CREATED_LABEL] ?? '');
  const isComplete = instanceId !== undefined && host !== undefined && started !== undefined;
  if (!isComplete || !Number.isSafeInteger(pid) || pid <= 0 || Number.isNaN(createdAt.getTime())) {
    return undefined;
  }
  return { instanceId, owner: { host, pid, started }, session: values[SESSION_LABEL] ?? '', createdAt };
}

/** Percent-encodes any text for a label, with lone surrogates replaced. */
function escapeValue(text: string): string {
  return encodeURIComponent(text.toWellFormed()).replaceAll(/[!'()*~]/g, '_');
}
