/**
 * Records what runs: the events of sessions and cells, and the outcome of each tool call. Events are queued at once and
 * turned into lines later, so nothing waits for the log, except a cell whose record is required: it waits until its start
 * is in the file.
 */
import { createHash } from 'node:crypto';
import type { CellAnswer, CellRequest, EngineReport, OutputText } from '../base/cell.ts';
import { BridgeError, type ErrorCode, messageOf } from '../base/errors.ts';
import { AUDIT_FILES, AUDIT_WAIT_MS } from '../base/limits.ts';
import type { Logger } from '../base/log.ts';
import type { Decision } from '../calls/contract.ts';
import { renderCellError } from '../render/cell-error.ts';
import type { RecordedCell, SessionRecorder, SessionRun } from '../session/recorder.ts';
import type { CellOutcome } from '../session/run-cell.ts';
import type { Settings } from '../settings/settings.ts';
import { auditDirectory } from './files.ts';
import type { RecordOf } from './records.ts';
import type { ArgumentShape } from './shape.ts';
import { AuditWriter } from './writer.ts';

/** A tool call that has ended. Holds nothing large, because it may stay in the queue. */
export interface EndedCall extends RecordedCell {
  /** Number of the call in its sandbox. */
  readonly call: number;
  readonly job?: string | undefined;
  readonly server: string;
  readonly tool: string;
  readonly shape: ArgumentShape;
  readonly decision?: Decision | undefined;
  readonly approval?: RecordOf<'call'>['approval'];
  /** Undefined if the tool succeeded. */
  readonly errorCode?: ErrorCode | undefined;
  readonly resultBytes?: number | undefined;
  /** Milliseconds since 1970. */
  readonly startedAt: number;
  readonly durationMs: number;
}

type AuditSettings = Pick<Settings, 'stateDir' | 'audit' | 'auditMaxBytes' | 'auditMaxAgeDays'>;

interface AuditTrailOptions {
  /** Masks the secrets known at the time of the call. */
  readonly mask: (text: string) => string;
  readonly logger: Logger;
}

/** Long enough to distinguish processes, and short because every line contains it. */
const BRIDGE_ID_CHARS = 13;

/** Undefined if the audit log is off. `instanceId` is the id in the labels of this bridge's containers. */
export function openAuditTrail(
  instanceId: string,
  settings: AuditSettings,
  options: AuditTrailOptions,
): AuditTrail | undefined {
  return settings.audit === '0' ? undefined : new AuditTrail(instanceId, settings, options);
}

/** The answer of a cell, with notices about its record. */
export async function withAuditNotices(trail: AuditTrail | undefined, answer: CellAnswer): Promise<CellAnswer> {
  const notices = (await trail?.takeNotices()) ?? [];
  return notices.length === 0 ? answer : { ...answer, notices: [...answer.notices, ...notices] };
}

export class AuditTrail implements SessionRecorder {
  readonly #settings: AuditSettings;
  readonly #mask: (text: string) => string;
  readonly #bridge: string;
  readonly #writer: AuditWriter;
  #isFailureReported = false;
  #lastTimeMs = 0;
  #lastAt = '';

  constructor(instanceId: string, settings: AuditSettings, { mask, logger }: AuditTrailOptions) {
    this.#settings = settings;
    this.#mask = mask;
    this.#bridge = instanceId.slice(0, BRIDGE_ID_CHARS);
    this.#writer = new AuditWriter({
      directory: auditDirectory(settings.stateDir),
      keep: { maxAgeDays: settings.auditMaxAgeDays, maxTotalBytes: settings.auditMaxBytes },
      maxFileBytes: Math.ceil(settings.auditMaxBytes / AUDIT_FILES),
      bridge: this.#bridge,
      logger,
    });
  }

  sessionStarted(run: SessionRun, { name: engine, isolation }: EngineReport): void {
    const head = this.#head(Date.now());
    this.#writer.add(() => ({ type: 'session_started', ...head(), ...run, engine, isolation }));
  }

  sessionEnded(run: SessionRun, reason: string): void {
    const head = this.#head(Date.now());
    this.#writer.add(() => ({ type: 'session_ended', ...head(), ...run, reason: this.#mask(reason) }));
  }

  cellStarted(run: RecordedCell, request: CellRequest, servers: readonly string[]): Promise<void> | undefined {
    const head = this.#head(Date.now());
    const { timeoutMs } = request;
    this.#writer.add(
      () => ({
        type: 'cell_started',
        ...head(),
        id: this.#cellId(run),
        ...run,
        timeout_ms: timeoutMs,
        ...this.#codeFacts(request.code, servers),
      }),
      request.code.length,
    );
    return this.#settings.audit === 'required' ? this.#waitUntilRecorded(run) : undefined;
  }

  cellEnded(run: RecordedCell, outcome: CellOutcome, durationMs: number): void {
    const { status, exitCode, stdout, stderr, value = '', error, attachments = [] } = outcome;
    const facts = {
      status,
      duration_ms: rounded(durationMs),
      ...(error?.code !== undefined && { error_code: error.code }),
      ...(error?.exception !== undefined && { exception: error.exception }),
      ...(exitCode !== undefined && { exit_code: exitCode }),
      stdout_bytes: bytesOf(stdout),
      stderr_bytes: bytesOf(stderr),
      value_bytes: Buffer.byteLength(value),
      error_bytes: error === undefined ? 0 : Buffer.byteLength(renderCellError(error)),
      attachments: attachments.length,
    };
    const head = this.#head(Date.now());
    this.#writer.add(() => ({ type: 'cell_ended', ...head(), id: this.#cellId(run), ...facts }));
  }

  /** Records a cell that did not run. */
  /** Code has saved a function for later sessions. */
  toolSaved(
    run: RecordedCell,
    tool: Pick<RecordOf<'tool_saved'>, 'name' | 'sha256' | 'bytes' | 'replaced' | 'asked'>,
  ): void {
    const head = this.#head(Date.now());
    this.#writer.add(() => ({ type: 'tool_saved', ...head(), cell: this.#cellId(run), ...tool }));
  }

  cellRefused(request: CellRequest, { code }: BridgeError): void {
    if (code === 'AUDIT_UNAVAILABLE') {
      return; // The start of the cell is in the log, or the log cannot be written.
    }
    const head = this.#head(Date.now());
    const { session, servers } = request;
    this.#writer.add(
      () => ({
        type: 'cell_refused',
        ...head(),
        session,
        ...this.#codeFacts(request.code, servers),
        error_code: code,
      }),
      request.code.length,
    );
  }

  callEnded(call: EndedCall): void {
    this.#writer.add(() => this.#callRecord(call));
  }

  #callRecord(call: EndedCall): RecordOf<'call'> {
    const { job, shape, errorCode, resultBytes } = call;
    const cell = this.#cellId(call);
    return {
      type: 'call',
      at: this.#at(call.startedAt),
      bridge: this.#bridge,
      id: `${cell}/${call.call}`,
      cell,
      ...(job !== undefined && { job }),
      server: call.server,
      tool: call.tool,
      arguments: shape.shapes,
      ...(shape.undeclared > 0 && { undeclared: shape.undeclared }),
      ...decisionOf(call),
      outcome: errorCode === undefined ? 'ok' : 'error',
      ...(errorCode !== undefined && { error_code: errorCode }),
      duration_ms: rounded(call.durationMs),
      ...(resultBytes !== undefined && { result_bytes: resultBytes }),
    };
  }

  /** Problems with the record itself, as sentences for the answer of a cell. */
  async takeNotices(): Promise<string[]> {
    if (this.#settings.audit === 'required') {
      const reason = await this.#whyNotWritten();
      return reason === undefined ? [] : [`The audit record of this cell is incomplete: ${reason}.`];
    }
    const { failure } = this.#writer;
    if (failure === undefined || this.#isFailureReported) {
      return [];
    }
    this.#isFailureReported = true;
    return [`The audit log cannot be written (${failure}). Cells run anyway.`];
  }

  close(): Promise<void> {
    return this.#writer.close();
  }

  async #waitUntilRecorded(run: RecordedCell): Promise<void> {
    const reason = await this.#whyNotWritten();
    if (reason === undefined) {
      return;
    }
    const head = this.#head(Date.now());
    this.#writer.add(() => ({ type: 'cell_ended', ...head(), id: this.#cellId(run), ...NOT_RUN }));
    throw new BridgeError('AUDIT_UNAVAILABLE', `the cell was not run, because it cannot be recorded: ${reason}`, {
      hint: `Make ${auditDirectory(this.#settings.stateDir)} writable, or set MCP_BRIDGE_AUDIT=1 so that cells run without a record.`,
    });
  }

  /** Undefined if everything so far is in the file. */
  async #whyNotWritten(): Promise<string | undefined> {
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<string>((resolve) => {
      timer = setTimeout(() => resolve(`it took longer than ${AUDIT_WAIT_MS / 1000} s`), AUDIT_WAIT_MS);
    });
    const written = this.#writer.flush().then(() => this.#lossSince(), messageOf);
    return Promise.race([written, late]).finally(() => clearTimeout(timer));
  }

  #lossSince(): string | undefined {
    const { lost } = this.#writer;
    return lost === 0 ? undefined : `${lost} records were lost`;
  }

  /** The fields that every record starts with; computed when it is written. */
  #head(timeMs: number): () => { at: string; bridge: string } {
    return () => ({ at: this.#at(timeMs), bridge: this.#bridge });
  }

  /** Calls come in bursts, so the last timestamp is often reused: formatting it is a quarter of the cost of a line. */
  #at(timeMs: number): string {
    if (timeMs !== this.#lastTimeMs) {
      this.#lastTimeMs = timeMs;
      this.#lastAt = new Date(timeMs).toISOString();
    }
    return this.#lastAt;
  }

  #cellId({ session, generation, cell }: RecordedCell): string {
    return `${this.#bridge}/${session}/${generation}/${cell}`;
  }

  #codeFacts(code: string, servers: readonly string[]) {
    return {
      servers: servers.toSorted(),
      code_sha256: createHash('sha256').update(code).digest('hex'),
      code_bytes: Buffer.byteLength(code),
      code: this.#mask(code),
    };
  }
}

const NOT_RUN = {
  status: 'error',
  duration_ms: 0,
  error_code: 'AUDIT_UNAVAILABLE',
  stdout_bytes: 0,
  stderr_bytes: 0,
  value_bytes: 0,
  error_bytes: 0,
  attachments: 0,
} as const;

function bytesOf({ head, droppedBytes, tail }: OutputText): number {
  return Buffer.byteLength(head) + droppedBytes + Buffer.byteLength(tail);
}

/** Codes of calls that a rule refused before anything was sent. */
const DENIALS: ReadonlySet<ErrorCode> = new Set<ErrorCode>([
  'POLICY_DENIED',
  'POLICY_LIMIT',
  'TOOL_CHANGED',
  'SERVER_NOT_AVAILABLE',
]);
const APPROVAL = 'APPROVAL_';

function decisionOf(call: EndedCall): Pick<RecordOf<'call'>, 'decision' | 'rule' | 'answer' | 'approval'> {
  const { approval, decision, errorCode } = call;
  const rule = decision === undefined ? {} : { rule: decision.reason };
  // A call that a person allowed may be denied while it waits for a slot.
  if (approval !== undefined && decision?.effect === 'ask') {
    return { decision: 'asked', ...rule, answer: 'allowed', approval };
  }
  if (errorCode?.startsWith(APPROVAL) === true) {
    return { decision: 'asked', ...rule, answer: errorCode.slice(APPROVAL.length).toLowerCase() };
  }
  if (errorCode !== undefined && DENIALS.has(errorCode)) {
    return { decision: 'denied', ...rule };
  }
  // The call was cancelled while the question was open.
  return decision?.effect === 'ask'
    ? { decision: 'asked', ...rule, answer: 'cancelled' }
    : { decision: 'allowed', ...rule };
}

/** Milliseconds, rounded to microseconds; more digits mean nothing. */
function rounded(durationMs: number): number {
  return Math.round(durationMs * 1000) / 1000;
}
