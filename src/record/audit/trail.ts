/**
 * Records what runs: the events of sessions and cells, and the outcome of each tool call. Events are queued at once and
 * turned into lines later, so nothing waits for the log, except a cell whose record is required: it waits until its start
 * is in the file.
 */

import { createHash } from 'node:crypto';
import type { CellAnswer, CellRequest, EngineReport, OutputText } from '../../core/base/cell.ts';
import { BridgeError, type ErrorCode, messageOf } from '../../core/base/errors.ts';
import { AUDIT_FILES, AUDIT_WAIT_MS } from '../../core/base/limits.ts';
import type { Logger } from '../../core/base/log.ts';
import { type MaybePromise, useWhenThere } from '../../core/base/maybe-promise.ts';
import { counted } from '../../core/base/units.ts';
import type { Decision } from '../../core/calls/contract.ts';
import type { EventOfType } from '../../core/calls/events.ts';
import { definitionBytes, type SizedTool } from '../../core/directory/definition-size.ts';
import { renderCellError } from '../../core/render/cell-error.ts';
import type { BegunCell, CellIdentity, SessionRun } from '../../core/session/events.ts';
import type { CellOutcome } from '../../core/session/run-cell.ts';
import type { Settings } from '../../edges/settings/settings.ts';
import { auditDirectory } from '../history/files.ts';
import type { RecordOf } from '../history/records.ts';
import { RepeatedRefusals } from './repeated-refusals.ts';
import type { ArgumentShape } from './shape.ts';
import { AuditWriter } from './writer.ts';

/** A tool call that has ended. Holds nothing large, because it may stay in the queue. */
export interface EndedCall extends CellIdentity {
  /** Number of the call in its sandbox. */
  readonly call: number;
  readonly job?: string | undefined;
  readonly server: string;
  readonly tool: string;
  readonly shape: ArgumentShape;
  readonly decision?: Decision | undefined;
  readonly approval?: RecordOf<'call'>['approval'];
  /** Whether a stand-in took the place of the server's answer. */
  readonly isDryRun?: boolean | undefined;
  /** Whether the answer is that of an interrupted run, so that nothing was sent. */
  readonly isResumed?: boolean | undefined;
  /** Whether it was refused before anything was sent to the server. */
  readonly isRefused: boolean;
  /** Undefined if the tool succeeded. */
  readonly errorCode?: ErrorCode | undefined;
  readonly argumentsBytes?: number | undefined;
  readonly resultBytes?: number | undefined;
  /** What a client would show to a model; undefined if it is unknown. */
  readonly textBytes?: number | undefined;
  /** Milliseconds since 1970. */
  readonly startedAt: number;
  /** Without `waitedMs`. */
  readonly durationMs: number;
  /** How long it waited for a person; undefined if none was asked. */
  readonly waitedMs?: number | undefined;
}

/** A tool call that is about to be sent. */
type StartingCall = Pick<EndedCall, keyof CellIdentity | 'call' | 'job' | 'server' | 'tool' | 'shape'>;

/** A program that has ended, or did not run. */
export interface EndedProgram {
  /** These are undefined if it was refused before they were known. */
  readonly language?: string | undefined;
  readonly code?: string | undefined;
  readonly snippet?: string | undefined;
  readonly status: RecordOf<'program'>['status'];
  readonly errorCode?: ErrorCode | undefined;
  readonly exitCode?: number | undefined;
  readonly stdoutBytes?: number | undefined;
  readonly stderrBytes?: number | undefined;
  /** Milliseconds since 1970. */
  readonly startedAt: number;
  readonly durationMs: number;
}

/** An answer that was given over the local API, as `live/` reports it. */
interface OperatorsAnswer {
  readonly session: string;
  /** The cell that runs; undefined if none does. */
  readonly cell: CellIdentity | undefined;
  readonly action: RecordOf<'question_answered'>['action'];
  readonly choice: string | undefined;
}

/** What programs of clients belong to, where others name their session. No session can have this name. */
export const PROGRAMS = '(programs)';

/** An installation of packages, as `packages/` reports it. */
interface InstalledPackages {
  readonly allowedBy: RecordOf<'packages_installed'>['allowed_by'];
  readonly packages: readonly { readonly name: string; readonly version: string; readonly sha256: string }[];
  readonly fetchedBytes: number;
}

type AuditSettings = Pick<Settings, 'stateDir' | 'audit' | 'auditMaxBytes' | 'auditMaxAgeDays'>;

interface AuditTrailOptions {
  /** Masks the secrets known at the time of the call. */
  readonly mask: (text: string) => string;
  readonly logger: Logger;
  /** Whose sessions these are; undefined for the user of this machine. */
  readonly principal?: string | undefined;
  /** What the client calls itself; undefined for a command. */
  readonly client?: (() => string) | undefined;
  /** The most characters of output in an answer; undefined if answers do not go to a client. */
  readonly maxAnswerChars?: number | undefined;
}

/** Interval between records of refused calls that are only counted. Chosen. */
const REFUSALS_MS = 10_000;
/** A client may send a name of any length. Chosen. */
const MAX_CLIENT_CHARS = 100;
/** Long enough to distinguish processes, and short because every line contains it. */
const BRIDGE_ID_CHARS = 13;

/** Undefined if the audit log is off. `instanceId` is the id in the labels of this bridge's containers. */
export function openAuditTrail(
  instanceId: string,
  settings: AuditSettings,
  options: AuditTrailOptions,
): AuditTrail | undefined {
  return settings.audit === 'off' ? undefined : new AuditTrail(instanceId, settings, options);
}

/** The answer of a cell, with notices about its record. */
export function withAuditNotices(trail: AuditTrail | undefined, answer: CellAnswer): MaybePromise<CellAnswer> {
  // No client reads the answer of a cancelled cell, so the next one reports what was lost.
  const notices = answer.status === 'cancelled' ? undefined : trail?.takeNotices(answer.session);
  const noticed = (sentences: readonly string[]): CellAnswer =>
    sentences.length === 0 ? answer : { ...answer, notices: [...answer.notices, ...sentences] };
  return notices === undefined ? answer : useWhenThere(notices, noticed);
}

export class AuditTrail {
  readonly #settings: AuditSettings;
  readonly #mask: (text: string) => string;
  readonly #bridge: string;
  readonly #principal: { readonly principal?: string };
  readonly #writer: AuditWriter;
  readonly #client: AuditTrailOptions['client'];
  readonly #maxAnswerChars: number | undefined;
  /** Servers whose definitions are recorded; empty for the bridge itself. */
  readonly #defined = new Set<string>();
  /** Ids of cells that run. */
  readonly #ranByOperator = new Set<string>();
  /** The contexts of calls for whose end there is room. */
  readonly #withRoom = new WeakSet<object>();
  readonly #refusals = new RepeatedRefusals();
  #refusalTimer: NodeJS.Timeout | undefined;
  #isFailureReported = false;
  #lastTimeMs = 0;
  #lastAt = '';

  constructor(
    instanceId: string,
    settings: AuditSettings,
    { client, mask, logger, maxAnswerChars, principal }: AuditTrailOptions,
  ) {
    this.#client = client;
    this.#maxAnswerChars = maxAnswerChars;
    this.#principal = principal === undefined ? {} : { principal };
    this.#settings = settings;
    this.#mask = mask;
    this.#bridge = instanceId.slice(0, BRIDGE_ID_CHARS);
    this.#writer = new AuditWriter({
      directory: auditDirectory(settings.stateDir),
      keep: { maxAgeDays: settings.auditMaxAgeDays, maxTotalBytes: settings.auditMaxBytes },
      maxFileBytes: Math.ceil(settings.auditMaxBytes / AUDIT_FILES),
      principal,
      bridge: this.#bridge,
      logger,
    });
  }

  sessionStarted(run: SessionRun, { name: engine, isolation }: EngineReport): void {
    const head = this.#head(Date.now());
    this.#writer.add(() => ({ type: 'session_started', ...head(), ...run, engine, isolation }), 0, run.session);
  }

  sessionEnded(run: SessionRun, reason: string): void {
    this.#recordRefusals();
    this.#refusals.forget(`${this.#bridge}/${run.session}/${run.generation}`);
    const head = this.#head(Date.now());
    const { session } = run;
    this.#writer.add(() => ({ type: 'session_ended', ...head(), ...run, reason: this.#mask(reason) }), 0, session);
  }

  cellStarted({ request, servers, ...run }: BegunCell): Promise<void> | undefined {
    const head = this.#head(Date.now());
    const { ranBy, timeoutMs } = request;
    const client = this.#client?.().slice(0, MAX_CLIENT_CHARS).toWellFormed();
    if (ranBy !== undefined) {
      this.#ranByOperator.add(this.#cellId(run));
    }
    const isQueued = this.#writer.add(
      () => ({
        type: 'cell_started',
        ...head(),
        id: this.#cellId(run),
        ...run,
        ...(client !== undefined && { client: this.#mask(client) }),
        timeout_ms: timeoutMs,
        ...(ranBy !== undefined && { run_by: ranBy }),
        ...this.#codeFacts(request.code, servers),
      }),
      request.code.length,
      run.session,
    );
    return this.isRequired ? this.#waitUntilRecorded(isQueued) : undefined;
  }

  cellEnded(run: CellIdentity, outcome: CellOutcome, durationMs: number): void {
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
    const id = this.#cellId(run);
    // No client reads what the operator runs.
    const maxChars = this.#ranByOperator.delete(id) ? undefined : this.#maxAnswerChars;
    const answer = answerBytes(facts, attachments, maxChars);
    this.#recordRefusals(id);
    if (run.cell !== 0) {
      this.#refusals.forget(id);
    }
    const head = this.#head(Date.now());
    this.#writer.add(() => ({ type: 'cell_ended', ...head(), id, ...facts, ...answer }), 0, run.session);
  }

  /** Records once how large the definitions of a server are, or, without its name, those of the bridge. */
  definitionsUsed(session: string, server: string | undefined, toolsOf: () => readonly SizedTool[] | undefined): void {
    if (this.#defined.has(server ?? '')) {
      return;
    }
    this.#defined.add(server ?? '');
    const tools = toolsOf();
    if (tools === undefined) {
      return;
    }
    const head = this.#head(Date.now());
    const whose = server === undefined ? {} : { server };
    this.#writer.add(
      () => ({ type: 'definitions', ...head(), ...whose, tools: tools.length, bytes: definitionBytes(tools) }),
      0,
      session,
    );
  }

  stepEnded({ durationMs, exception, failedRows, outcome, step, tries }: EventOfType<'step_ended'>): void {
    const head = this.#head(step.startedAt);
    const facts = {
      cell: this.#cellId(step),
      ...(step.job !== undefined && { job: step.job }),
      step: step.number,
      name: this.#mask(step.name),
      after: [...step.after],
      ...(step.within !== undefined && { within: step.within }),
      ...(step.rows !== undefined && { rows: step.rows }),
      ...(failedRows !== undefined && { failed_rows: failedRows }),
      ...(tries !== undefined && { tries }),
      outcome,
      ...(exception !== undefined && { exception: this.#mask(exception) }),
      duration_ms: rounded(durationMs),
    };
    this.#writer.add(() => ({ type: 'step', ...head(), ...facts }), 0, step.session);
  }

  /** Code has saved a function for later sessions. */
  toolSaved(
    run: CellIdentity,
    tool: Pick<RecordOf<'tool_saved'>, 'name' | 'sha256' | 'bytes' | 'replaced' | 'asked'>,
  ): void {
    const head = this.#head(Date.now());
    this.#writer.add(() => ({ type: 'tool_saved', ...head(), cell: this.#cellId(run), ...tool }), 0, run.session);
  }

  /** Code has saved a file. */
  artifactSaved(
    run: CellIdentity & { readonly call: number },
    { modified, name, sizeBytes }: { readonly name: string; readonly sizeBytes: number; readonly modified: Date },
  ): void {
    const head = this.#head(Date.now());
    const cell = this.#cellId(run);
    const facts = { call: run.call, name: this.#mask(name), bytes: sizeBytes, modified: modified.toISOString() };
    this.#writer.add(() => ({ type: 'artifact_saved', ...head(), cell, ...facts }), 0, run.session);
  }

  /**
   * A client asked for a program, which no record of a cell announces. Undefined unless a record is required. Rejects with
   * `AUDIT_UNAVAILABLE` if it cannot be written; the program must then not run.
   */
  programStarts(program: Pick<EndedProgram, 'snippet' | 'language' | 'code'>): Promise<void> | undefined {
    if (!this.isRequired) {
      return undefined;
    }
    this.programEnded(undefined, { ...program, status: 'started', startedAt: Date.now(), durationMs: 0 });
    return this.#waitForProgram();
  }

  async #waitForProgram(): Promise<void> {
    const reason = await this.#whyNotWritten();
    if (reason !== undefined) {
      throw new BridgeError('AUDIT_UNAVAILABLE', `the program was not run, because it cannot be recorded: ${reason}`, {
        hint: this.#howToWrite,
      });
    }
  }

  /**
   * A program has ended, or did not run. `run` is the cell that asked for it; undefined if a client did.
   *
   * @param hasRoom whether `keepRoom` kept room for it, for the session of the cell or `PROGRAMS`.
   */
  programEnded(run: CellIdentity | undefined, program: EndedProgram, hasRoom = false): void {
    const session = run?.session ?? PROGRAMS;
    if (hasRoom) {
      this.#writer.release(session);
    }
    const { code, durationMs, errorCode, exitCode, language, snippet, startedAt, status, stderrBytes, stdoutBytes } =
      program;
    const head = this.#head(startedAt);
    this.#writer.add(
      () => ({
        type: 'program',
        ...head(),
        ...(run !== undefined && { cell: this.#cellId(run) }),
        ...(language !== undefined && { language }),
        ...(snippet !== undefined && { snippet }),
        ...(code !== undefined && this.#textFacts(code)),
        status,
        ...(errorCode !== undefined && { error_code: errorCode }),
        ...(exitCode !== undefined && { exit_code: exitCode }),
        duration_ms: rounded(durationMs),
        ...(stdoutBytes !== undefined && { stdout_bytes: stdoutBytes }),
        ...(stderrBytes !== undefined && { stderr_bytes: stderrBytes }),
      }),
      code?.length ?? 0,
      session,
    );
  }

  packagesInstalled(run: CellIdentity, { allowedBy, fetchedBytes, packages }: InstalledPackages): void {
    const head = this.#head(Date.now());
    this.#writer.add(
      () => ({
        type: 'packages_installed',
        ...head(),
        cell: this.#cellId(run),
        allowed_by: allowedBy,
        packages: packages.map(({ name, version, sha256 }) => `${name}==${version} sha256:${sha256}`),
        fetched_bytes: fetchedBytes,
      }),
      0,
      run.session,
    );
  }

  packagesRefused(
    run: CellIdentity,
    { error, requirements }: { readonly error: BridgeError; readonly requirements: readonly string[] },
  ): void {
    const cell = this.#cellId(run);
    const startedAt = Date.now();
    const what = { session: run.session, server: 'packages', tool: 'install', errorCode: error.code, startedAt };
    if (!this.#refusals.isRecorded(cell, what)) {
      this.#refusalTimer ??= setTimeout(() => this.#recordRefusals(), REFUSALS_MS).unref();
      return;
    }
    const head = this.#head(startedAt);
    const facts = { requirements: [...requirements], error_code: error.code, reason: this.#mask(error.message) };
    this.#writer.add(() => ({ type: 'packages_refused', ...head(), cell, ...facts }), 0, run.session);
  }

  /** Records a cell that did not run. */
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
      session,
    );
  }

  /**
   * Keeps room for a record, which is released with it. Undefined unless a record is required. Rejects with `AUDIT_UNAVAILABLE` if there
   * is none in time; what it is for must then not happen.
   */
  keepRoom(session: string): Promise<void> | undefined {
    return this.isRequired ? this.#keepRoom(session) : undefined;
  }

  async #keepRoom(session: string): Promise<void> {
    if (!(await this.#writer.reserve(session, AUDIT_WAIT_MS))) {
      const reason = this.#writer.failure ?? 'earlier records are still waiting to be written';
      throw this.#callUnrecorded(reason);
    }
  }

  /** The operator has answered a question over the local API. */
  questionAnswered({ session, cell, action, choice }: OperatorsAnswer): void {
    const head = this.#head(Date.now());
    const of = cell === undefined ? {} : { cell: this.#cellId(cell) };
    const chosen = choice === undefined ? {} : { choice };
    this.#writer.add(
      () => ({ type: 'question_answered', ...head(), session, ...of, answered_by: 'operator', action, ...chosen }),
      0,
      session,
    );
  }

  /**
   * A call is about to be sent. Resolves when that is in the file, and there is room for the record of its end. Rejects with
   * `AUDIT_UNAVAILABLE` if it cannot be written; the call must then not be sent.
   */
  async callStarts(call: StartingCall, context: object): Promise<void> {
    await this.#keepRoom(call.session);
    this.#withRoom.add(context);
    const begun = { ...call, isRefused: false, startedAt: Date.now(), durationMs: 0 };
    const isQueued = this.#writer.add(() => this.#callRecord(begun, 'started'), 0, call.session, true);
    const reason = isQueued ? await this.#whyNotWritten() : 'the audit log is closed';
    if (reason !== undefined) {
      throw this.#callUnrecorded(reason);
    }
  }

  #callUnrecorded(reason: string): BridgeError {
    return new BridgeError('AUDIT_UNAVAILABLE', `the call was not made, because it cannot be recorded: ${reason}`, {
      hint: this.#howToWrite,
    });
  }

  /** @param context as `callStarts` got it, if the call was sent. */
  callEnded(call: EndedCall, context?: object): void {
    if (context !== undefined && this.#withRoom.delete(context)) {
      this.#writer.release(call.session);
    }
    if (call.isRefused && !this.#refusals.isRecorded(this.#cellId(call), call)) {
      this.#refusalTimer ??= setTimeout(() => this.#recordRefusals(), REFUSALS_MS).unref();
      return;
    }
    this.#writer.add(() => this.#callRecord(call), 0, call.session);
  }

  /** Records the refused calls that were only counted, of one cell or of all. */
  #recordRefusals(cell?: string): void {
    if (cell === undefined) {
      clearTimeout(this.#refusalTimer);
      this.#refusalTimer = undefined;
    }
    for (const { session, cell: id, what, errorCode, startedAt, calls } of this.#refusals.take(cell)) {
      const head = this.#head(startedAt);
      const facts = { cell: id, ...what, error_code: errorCode, calls };
      this.#writer.add(() => ({ type: 'calls_refused', ...head(), ...facts }), 0, session);
    }
  }

  #callRecord(call: EndedCall, begun?: 'started'): RecordOf<'call'> {
    const { waitedMs, argumentsBytes, job, shape, errorCode, resultBytes, textBytes } = call;
    const cell = this.#cellId(call);
    return {
      type: 'call',
      at: this.#at(call.startedAt),
      bridge: this.#bridge,
      ...this.#principal,
      id: `${cell}/${call.call}`,
      cell,
      ...(job !== undefined && { job }),
      server: call.server,
      tool: call.tool,
      arguments: shape.shapes,
      ...(shape.undeclared > 0 && { undeclared: shape.undeclared }),
      ...decisionOf(call),
      ...(call.isDryRun === true && { dry_run: true }),
      ...(call.isResumed === true && { resumed: true }),
      outcome: begun ?? (errorCode === undefined ? 'ok' : 'error'),
      ...(errorCode !== undefined && { error_code: errorCode }),
      duration_ms: rounded(call.durationMs),
      ...(waitedMs !== undefined && { approval_ms: rounded(waitedMs) }),
      ...(argumentsBytes !== undefined && { arguments_bytes: argumentsBytes }),
      ...(resultBytes !== undefined && { result_bytes: resultBytes }),
      ...(textBytes !== undefined && { text_bytes: textBytes }),
    };
  }

  /**
   * Problems with the record of a session since its last answer, as sentences for the answer of a cell. A promise only if records are
   * required, because the answer then waits for them.
   */
  takeNotices(session: string): MaybePromise<string[]> {
    return this.isRequired
      ? this.#whyNotWritten().then((unwritten) => this.#noticesOf(session, unwritten))
      : this.#noticesOf(session, undefined);
  }

  #noticesOf(session: string, unwritten: string | undefined): string[] {
    const { failure } = this.#writer;
    const lost = this.#writer.takeLost(session);
    const reason = failure ?? 'they arrived faster than they could be written';
    const gaps = [
      ...(unwritten === undefined ? [] : [unwritten]),
      ...(lost === 0 ? [] : [`${counted(lost, 'record')} ${lost === 1 ? 'was' : 'were'} lost, because ${reason}`]),
    ];
    if (gaps.length > 0) {
      return [`The audit record of this cell is incomplete: ${gaps.join('; ')}.`];
    }
    if (failure === undefined || this.#isFailureReported) {
      return [];
    }
    this.#isFailureReported = true;
    return [`The audit log cannot be written (${failure}). Cells run anyway.`];
  }

  close(): Promise<void> {
    this.#recordRefusals();
    return this.#writer.close();
  }

  /** Whether nothing may happen without a record. */
  get isRequired(): boolean {
    return this.#settings.audit === 'required';
  }

  get #howToWrite(): string {
    return `Make ${auditDirectory(this.#settings.stateDir)} writable, or set MCP_BRIDGE_AUDIT=on so that cells run without a record.`;
  }

  async #waitUntilRecorded(isQueued: boolean): Promise<void> {
    const unwritten = await this.#whyNotWritten();
    const reason = isQueued ? unwritten : (unwritten ?? 'earlier records of the session were still waiting');
    if (reason === undefined) {
      return;
    }
    throw new BridgeError('AUDIT_UNAVAILABLE', `the cell was not run, because it cannot be recorded: ${reason}`, {
      hint: this.#howToWrite,
    });
  }

  /** Undefined if everything so far that was not lost is in the file. */
  #whyNotWritten(): Promise<string | undefined> {
    return new Promise((resolve) => {
      const timer = setTimeout(() => resolve(`it took longer than ${AUDIT_WAIT_MS / 1000} s`), AUDIT_WAIT_MS);
      const end = (reason: string | undefined): void => {
        clearTimeout(timer);
        resolve(reason);
      };
      this.#writer.flush().then(
        () => end(undefined),
        (error: unknown) => end(messageOf(error)),
      );
    });
  }

  /** The fields that every record starts with; computed when it is written. */
  #head(timeMs: number): () => { at: string; bridge: string; principal?: string } {
    return () => ({ at: this.#at(timeMs), bridge: this.#bridge, ...this.#principal });
  }

  /** Calls come in bursts, so the last timestamp is often reused: formatting it is a quarter of the cost of a line. */
  #at(timeMs: number): string {
    if (timeMs !== this.#lastTimeMs) {
      this.#lastTimeMs = timeMs;
      this.#lastAt = new Date(timeMs).toISOString();
    }
    return this.#lastAt;
  }

  #cellId({ session, generation, cell }: CellIdentity): string {
    return `${this.#bridge}/${session}/${generation}/${cell}`;
  }

  #codeFacts(code: string, servers: readonly string[]) {
    return {
      servers: servers.toSorted(),
      ...this.#textFacts(code),
    };
  }

  #textFacts(code: string) {
    return {
      code_sha256: createHash('sha256').update(code).digest('hex'),
      code_bytes: Buffer.byteLength(code),
      code: this.#mask(code),
    };
  }
}

type AnswerSizes = Pick<RecordOf<'cell_ended'>, 'stdout_bytes' | 'stderr_bytes' | 'value_bytes' | 'error_bytes'>;

/** What an answer shows of its output is cut together; documents are not. */
function answerBytes(
  { error_bytes, stderr_bytes, stdout_bytes, value_bytes }: AnswerSizes,
  attachments: NonNullable<CellOutcome['attachments']>,
  maxChars: number | undefined,
): Pick<RecordOf<'cell_ended'>, 'answer_bytes'> {
  if (maxChars === undefined) {
    return {};
  }
  const documents = attachments.reduce((sum, one) => {
    return sum + (one.kind === 'document' ? Buffer.byteLength(one.text) : 0);
  }, 0);
  return { answer_bytes: Math.min(stdout_bytes + stderr_bytes + value_bytes + error_bytes, maxChars) + documents };
}

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
  // With POLICY_LIMIT, the call may have been made.
  if (errorCode !== undefined && call.isRefused && DENIALS.has(errorCode)) {
    return { decision: 'denied', ...rule };
  }
  // The call was cancelled while the question was open.
  return decision?.effect === 'ask' && call.isDryRun !== true
    ? { decision: 'asked', ...rule, answer: 'cancelled' }
    : { decision: 'allowed', ...rule };
}

/** Milliseconds, rounded to microseconds; more digits mean nothing. */
function rounded(durationMs: number): number {
  return Math.round(durationMs * 1000) / 1000;
}
