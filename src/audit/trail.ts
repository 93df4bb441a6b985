/**
 * Keeps the record of what runs: what sessions tell of themselves and their cells, and what becomes of each call of a tool.
 * Everything is noted at once and made into lines later, so that nobody waits for it; where a record is required, a cell
 * waits until its own stands in the file.
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

/** A call of a tool that has ended. It holds nothing large, because it may wait. */
export interface EndedCall extends RecordedCell {
  /** Number of the call in its sandbox. */
  readonly call: number;
  readonly job?: string | undefined;
  readonly server: string;
  readonly tool: string;
  readonly shape: ArgumentShape;
  readonly decision?: Decision | undefined;
  readonly approval?: RecordOf<'call'>['approval'];
  /** Undefined when the tool succeeded. */
  readonly errorCode?: ErrorCode | undefined;
  readonly resultBytes?: number | undefined;
  /** Milliseconds since 1970. */
  readonly startedAt: number;
  readonly durationMs: number;
}

type AuditSettings = Pick<Settings, 'stateDir' | 'audit' | 'auditMaxBytes' | 'auditMaxAgeDays'>;

interface AuditTrailOptions {
  /** Replaces the secrets that are known at the time. */
  readonly mask: (text: string) => string;
  readonly logger: Logger;
}

/** Enough to tell processes apart, and short, because it stands in every line. */
const BRIDGE_ID_CHARS = 13;

/** `instanceId` is what the containers of this bridge carry. Undefined when no record is wanted. */
export function openAuditTrail(
  instanceId: string,
  settings: AuditSettings,
  options: AuditTrailOptions,
): AuditTrail | undefined {
  return settings.audit === '0' ? undefined : new AuditTrail(instanceId, settings, options);
}

/** The answer of a cell, with what has to be said of its record. */
export async function withAuditNotices(trail: AuditTrail | undefined, answer: CellAnswer): Promise<CellAnswer> {
  const notices = (await trail?.takeNotices()) ?? [];
  return notices.length === 0 ? answer : { ...answer, notices: [...answer.notices, ...notices] };
}

export class AuditTrail implements SessionRecorder {
  readonly #settings: AuditSettings;
  readonly #mask: (text: string) => string;
  readonly #bridge: string;
  readonly #writer: AuditWriter;
  #isFailureTold = false;
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
  cellRefused(request: CellRequest, { code }: BridgeError): void {
    if (code === 'AUDIT_UNAVAILABLE') {
      return; // Its start stands in the log, or cannot.
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

  /** What a person has to know of the record itself after a cell: sentences for its answer. */
  async takeNotices(): Promise<string[]> {
    if (this.#settings.audit === 'required') {
      const reason = await this.#whyNotWritten();
      return reason === undefined ? [] : [`The record of this cell is not complete: ${reason}.`];
    }
    const { failure } = this.#writer;
    if (failure === undefined || this.#isFailureTold) {
      return [];
    }
    this.#isFailureTold = true;
    return [`The audit log cannot be written (${failure}); cells run all the same.`];
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
      hint: `Make ${auditDirectory(this.#settings.stateDir)} writable, or run without a required record (MCP_BRIDGE_AUDIT=1).`,
    });
  }

  /** Undefined when everything so far stands in the file. */
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

  /** The members that every record begins with; made when it is written. */
  #head(timeMs: number): () => { at: string; bridge: string } {
    return () => ({ at: this.#at(timeMs), bridge: this.#bridge });
  }

  /** Calls come in bursts, so the last text often serves again: making it is a quarter of making a line. */
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

/** Codes of calls that a rule refused, so that nothing was sent. */
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
  // What a person allowed may have been forbidden while it waited for its turn.
  if (approval !== undefined && decision?.effect === 'ask') {
    return { decision: 'asked', ...rule, answer: 'allowed', approval };
  }
  if (errorCode?.startsWith(APPROVAL) === true) {
    return { decision: 'asked', ...rule, answer: errorCode.slice(APPROVAL.length).toLowerCase() };
  }
  if (errorCode !== undefined && DENIALS.has(errorCode)) {
    return { decision: 'denied', ...rule };
  }
  // The call was given up while the question was open.
  return decision?.effect === 'ask'
    ? { decision: 'asked', ...rule, answer: 'cancelled' }
    : { decision: 'allowed', ...rule };
}

/** Milliseconds to the microsecond; more digits say nothing. */
function rounded(durationMs: number): number {
  return Math.round(durationMs * 1000) / 1000;
}
