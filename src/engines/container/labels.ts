/**
 * The labels of our containers, written and read in one place. They hold what a sweep needs to know, and nothing that a
 * user would mind others on the same engine to see.
 */
import type { Owner } from '../owner.ts';

const PREFIX = 'mcp-server-code-execution-mode';

/** Every container of ours carries it; its value is the id of the bridge that started it. */
export const INSTANCE_LABEL = `${PREFIX}.instance`;
const HOST_LABEL = `${PREFIX}.host`;
/** Process id of that bridge. */
export const PID_LABEL = `${PREFIX}.pid`;
const PID_STARTED_LABEL = `${PREFIX}.pid-started`;
/** Name of its session. */
export const SESSION_LABEL = `${PREFIX}.session`;
const CREATED_LABEL = `${PREFIX}.created-at`;
/** Longest session name kept in a label; it is there for people. */
const MAX_SESSION_CHARS = 64;

export interface SandboxLabels {
  readonly instanceId: string;
  readonly owner: Owner;
  readonly session: string;
  readonly createdAt: Date;
}

/** The labels of one container; values hold letters, digits and `._:%-` only. */
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

/** What `writeLabels` wrote; undefined when a label is missing or was written by somebody else's hand. */
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

/** Any text in the characters a label may hold: percent-encoded, with lone surrogates replaced. */
function escapeValue(text: string): string {
  return encodeURIComponent(text.toWellFormed()).replaceAll(/[!'()*~]/g, '_');
}
