/**
 * Records what a bridge does, so that it can be shown and replayed without servers: each cell with its code, its calls with
 * arguments and results, and how it ended. Known secrets are masked.
 */
import { constants } from 'node:fs';
import type { FileHandle } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { CellAnswer } from '../../core/base/cell.ts';
import { messageOf, toBridgeError } from '../../core/base/errors.ts';
import { MAX_RECORDED_RESULT_BYTES, MAX_RECORDING_BYTES, MAX_UNRECORDED_BYTES } from '../../core/base/limits.ts';
import type { Logger } from '../../core/base/log.ts';
import { VERSION } from '../../core/base/package.ts';
import type { EventOfType, Watcher } from '../../core/calls/events.ts';
import type { CatalogServer, KnownTool, ServerMetadata } from '../../core/catalog/known.ts';
import { stringifyExact } from '../../core/protocol/exact-json.ts';
import { objectOfResult } from '../../core/protocol/result-bytes.ts';
import { summarizeCellError } from '../../core/render/cell-error.ts';
import type { BegunCell } from '../../core/session/events.ts';
import { makeFolders } from '../../core/state/file-system.ts';
import { ensureDirectory, openRegularFile } from '../../core/state/state-files.ts';
import { type LineOfType, RECORDING_VERSION, type RecordedLine, SUFFIX } from './format.ts';
import type { ResumableRun } from './resume.ts';

export interface RecordingOptions {
  /** Created if it is missing. */
  readonly folder: string;
  /** Makes the name of the file unique. */
  readonly instanceId: string;
  /** Masks the secrets known at the time of the call, in every string of a JSON value. */
  readonly mask: <Value>(value: Value) => Value;
  /** What is known about the configured servers. */
  readonly servers: () => readonly KnownServer[];
  readonly logger: Logger;
  /** A run that goes on in its own file. Code then gets an answer only after it is on disk. */
  readonly run?: ResumableRun | undefined;
}

interface KnownServer {
  readonly server: CatalogServer;
  readonly cwd: string | undefined;
  readonly metadata: ServerMetadata | undefined;
}

const INSTANCE_CHARS = 8;

export class Recording {
  readonly #options: RecordingOptions;
  readonly #path: string;
  #file: Promise<FileHandle> | undefined;
  #writes: Promise<void> = Promise.resolve();
  #unwrittenBytes = 0;
  #bytes = 0;
  /** By server: the tools of its last line, and the line. */
  readonly #written = new Map<string, { readonly tools: readonly KnownTool[] | undefined; readonly line: string }>();
  #failure: string | undefined;
  #isReported = false;

  constructor(options: RecordingOptions) {
    this.#options = options;
    const time = new Date().toISOString().slice(0, 19).replaceAll(':', '-');
    const name = `${time}-${options.instanceId.slice(0, INSTANCE_CHARS)}${SUFFIX}`;
    this.#path = options.run?.path ?? join(options.folder, name);
  }

  /** Code gets the answer of a call of a run only after it is on disk; others wait only while much is unwritten. */
  readonly watch: Watcher = (event) => {
    if (event.type === 'cell_started') {
      this.#addCell(event.cell);
    } else if (event.type === 'cell_ended') {
      this.#addEnd(event);
    } else if (event.type === 'call_ended' && event.outcome.isResumed !== true) {
      this.#addCall(event);
      return this.#options.run !== undefined || this.#unwrittenBytes > MAX_UNRECORDED_BYTES ? this.#writes : undefined;
    }
    if (event.type === 'step_started') {
      this.#options.run?.stepCalls.begin(event.step);
    }
    if (event.type === 'step_ended' && this.#options.run !== undefined) {
      this.#addStep(event, this.#options.run.stepCalls.end(event.step));
      return event.result === undefined ? undefined : this.#writes;
    }
    return undefined;
  };

  /** The answer, with a notice the first time after recording has ended early. */
  withNotice(answer: CellAnswer): CellAnswer {
    if (this.#failure === undefined || this.#isReported) {
      return answer;
    }
    this.#isReported = true;
    return { ...answer, notices: [...answer.notices, `Nothing more is recorded: ${this.#failure}.`] };
  }

  /** Resolves when everything is written. */
  async close(): Promise<void> {
    await this.#writes;
    await (await this.#file?.catch(() => undefined))?.close();
  }

  #addCell({ cell, generation, request, session }: BegunCell): void {
    const { code, servers, timeoutMs } = request;
    const at = new Date().toISOString();
    this.#add({
      type: 'cell',
      session,
      generation,
      cell,
      at,
      code,
      servers: [...servers],
      timeout_seconds: timeoutMs / 1_000,
    });
  }

  #addEnd({ cell, durationMs, outcome }: EventOfType<'cell_ended'>): void {
    const { generation, session } = cell;
    const { error, status, stdout, value } = outcome;
    this.#noteServers();
    this.#add({
      type: 'cell_ended',
      session,
      generation,
      cell: cell.cell,
      duration_ms: Math.round(durationMs),
      status,
      stdout: stdout.head + stdout.tail,
      ...(value === undefined ? {} : { value }),
      ...(error === undefined ? {} : { error: summarizeCellError(error) }),
    });
  }

  #addCall({ durationMs, made, outcome }: EventOfType<'call_ended'>): void {
    const { arguments: given, context, server, tool } = made.call;
    const { call, cell, generation, job, session } = context;
    const number = (this.#options.run?.lastNumber ?? 0) + made.number;
    this.#options.run?.stepCalls.note(context, [number]);
    const line: LineOfType<'call'> = {
      type: 'call',
      session,
      generation,
      cell,
      number,
      call,
      ...(job === undefined ? {} : { job }),
      server: server.name,
      tool: tool.name,
      arguments: given,
      duration_ms: Math.round(durationMs),
    };
    if (!outcome.ok) {
      const { code, message, hint, data } = toBridgeError(outcome.error);
      this.#add({ ...line, error: { code, message, ...(hint === undefined ? {} : { hint }), data } });
      return;
    }
    const result = objectOfResult(outcome.result);
    const isMasked = stringifyExact(this.#options.mask(result)) !== stringifyExact(result);
    this.#add({ ...line, result, ...(isMasked ? { masked: true } : {}) }, (bytes) => ({
      ...line,
      left_out_bytes: bytes,
    }));
  }

  /** Pickled text stands in the result as it is, so a secret in it is found, and the result then left out. */
  #addStep({ result, step }: EventOfType<'step_ended'>, calls: readonly number[]): void {
    if (result === undefined) {
      return;
    }
    const { cell, generation, name, session } = step;
    const pickled = Buffer.from(result.data ?? '', 'base64').toString('utf8');
    const data = this.#options.mask(pickled) === pickled ? result.data : undefined;
    this.#add({
      type: 'step',
      session,
      generation,
      cell,
      name,
      key: result.key,
      calls: [...calls],
      ...(data !== undefined && { data }),
    });
  }

  /** Adds a line for each server about which something else is known than before. */
  #noteServers(): void {
    for (const { server, cwd, metadata } of this.#options.servers()) {
      const { description, name } = server;
      const last = this.#written.get(name);
      if (last !== undefined && last.tools === metadata?.tools) {
        continue;
      }
      const known = { ...(cwd === undefined ? {} : { cwd }), ...(metadata === undefined ? {} : { metadata }) };
      const line = this.#render({ type: 'server', name, description, ...known });
      this.#written.set(name, { tools: metadata?.tools, line });
      if (line !== last?.line) {
        this.#write(line);
      }
    }
  }

  /** `shorter` makes the line that takes the place of one that is too large. */
  #add(line: RecordedLine, shorter?: (bytes: number) => RecordedLine): void {
    if (this.#failure !== undefined) {
      return;
    }
    const text = this.#render(line);
    const isLong = shorter !== undefined && text.length > MAX_RECORDED_RESULT_BYTES;
    this.#write(isLong ? this.#render(shorter(Buffer.byteLength(text))) : text);
  }

  #render(line: RecordedLine): string {
    return `${stringifyExact(this.#options.mask(line))}\n`;
  }

  #write(text: string): void {
    if (this.#failure !== undefined) {
      return;
    }
    const isStarted = this.#file !== undefined || this.#options.run?.hasHead === true;
    const first = isStarted ? '' : this.#head();
    const data = Buffer.from(first + text);
    this.#bytes += data.length;
    if (this.#bytes > MAX_RECORDING_BYTES) {
      this.#fail(`${this.#path} has reached ${MAX_RECORDING_BYTES.toLocaleString('en-US')} bytes, which is the limit`);
      return;
    }
    this.#file ??= this.#open();
    const file = this.#file;
    this.#unwrittenBytes += data.length;
    this.#writes = this.#writes
      .then(async () => (this.#failure === undefined ? append(await file, data) : undefined))
      .catch((error: unknown) => this.#fail(`${this.#path} cannot be written: ${messageOf(error)}`))
      .finally(() => {
        this.#unwrittenBytes -= data.length;
      });
  }

  #head(): string {
    const at = new Date().toISOString();
    return this.#render({ type: 'recording', version: RECORDING_VERSION, bridge: VERSION, at });
  }

  async #open(): Promise<FileHandle> {
    const { run } = this.#options;
    if (run !== undefined) {
      await makeFolders(dirname(this.#path));
      const flags = constants.O_WRONLY | constants.O_APPEND;
      return openRegularFile(this.#path, run.isNew ? flags | constants.O_CREAT | constants.O_EXCL : flags);
    }
    await ensureDirectory(this.#options.folder);
    return openRegularFile(this.#path, constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL);
  }

  #fail(reason: string): void {
    this.#failure ??= reason;
    this.#options.logger.warning(`Nothing more is recorded: ${reason}.`);
  }
}

async function append(file: FileHandle, data: Buffer): Promise<void> {
  if ((await file.stat()).nlink === 0) {
    throw new Error('it was removed');
  }
  await file.appendFile(data);
}
