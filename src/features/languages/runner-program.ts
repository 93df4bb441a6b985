/**
 * A program that a runner starts, which speaks in lines of JSON: Node in a container or on this machine, or the embedded engine.
 * Such programs can call servers. Every line is checked, because the sandbox may send anything.
 */
import { z } from 'zod';
import { CancelSource } from '../../core/base/cancel.ts';
import { BridgeError, toBridgeError } from '../../core/base/errors.ts';
import { isObject } from '../../core/base/is-object.ts';
import { escapeControls } from '../../core/base/log.ts';
import type { ProgramFile } from '../../core/base/program.ts';
import { stringifyExact } from '../../core/protocol/exact-json.ts';
import { JSON_BOUNDS, readUntrusted } from '../../core/protocol/untrusted-json.ts';
import type { Sandbox } from '../../core/session/engine.ts';
import { KeptOutput } from './kept-output.ts';
import type { Language } from './languages-file.ts';
import {
  MAX_CALLS_OF_PROGRAM,
  MAX_CALLS_OF_PROGRAM_AT_ONCE,
  MAX_FILES,
  MAX_OUTPUT_FILES_BYTES,
  MAX_RUNNER_LINES,
  MAX_UNREAD_ANSWERS_BYTES,
} from './limits.ts';
import type { ProgramEnd, RunnableProgram } from './program-run.ts';
import type { ToolValue } from './tool-values.ts';

/** A call that a program makes; names as the program has written them. */
export interface CallOfProgram {
  readonly server: string;
  readonly tool: string;
  readonly arguments: Record<string, unknown>;
}

/** Makes the call. Rejects with a `BridgeError`. */
export type CallFromProgram = (call: CallOfProgram, signal: CancelSource) => Promise<ToolValue>;

const base64 = z.string().regex(/^[A-Za-z0-9+/]*={0,2}$/);
const MAX_NAME_CHARS = 1_000;
const LineSchema = z.discriminatedUnion('type', [
  z.strictObject({ type: z.literal('started') }),
  z.strictObject({ type: z.literal('output'), stream: z.enum(['stdout', 'stderr']), data: base64 }),
  z.strictObject({
    type: z.literal('call'),
    call: z.int().nonnegative(),
    server: z.string().min(1).max(MAX_NAME_CHARS),
    tool: z.string().min(1).max(MAX_NAME_CHARS),
    arguments: z.custom<Record<string, unknown>>(isObject, 'expected an object'),
  }),
  /** Files that the program has left, in pieces; those of one file follow each other. */
  z.strictObject({ type: z.literal('file'), name: z.string().max(MAX_NAME_CHARS), data: base64 }),
  z.strictObject({
    type: z.literal('exit'),
    exit_code: z.int().min(0).max(255),
    dropped_bytes: z.int().nonnegative().optional(),
    omitted_files: z.array(z.string().max(MAX_NAME_CHARS)).max(MAX_FILES).optional(),
  }),
]);
type Line = z.output<typeof LineSchema>;
type LineOf<Type extends Line['type']> = Extract<Line, { type: Type }>;

export interface RunnerJob {
  readonly language: Language;
  /** How the runner starts. */
  readonly command: readonly string[];
  readonly entry: string;
  readonly files: readonly ProgramFile[];
  readonly args: readonly string[];
  readonly stdin: Uint8Array;
  readonly wantsFiles: boolean;
  /** Undefined if programs cannot call servers here. */
  readonly callTool?: CallFromProgram | undefined;
  readonly servers: readonly { readonly name: string; readonly alias: string }[];
}

export function runnerProgram(job: RunnerJob): RunnableProgram {
  return { command: job.command, run: (sandbox, onStarted) => new RunnerRun(sandbox, job, onStarted).run() };
}

class RunnerRun {
  readonly #sandbox: Sandbox;
  readonly #job: RunnerJob;
  readonly #onStarted: () => void;
  readonly #streams = { stdout: new KeptOutput(), stderr: new KeptOutput() };
  readonly #ended = new CancelSource();
  #hasSpoken = false;
  #lines = 0;
  #calls = 0;
  #callsRunning = 0;
  #last: LineOf<'exit'> | undefined;
  readonly #left: { readonly name: string; readonly pieces: Buffer[] }[] = [];
  #leftBytes = 0;
  #violation: string | undefined;

  constructor(sandbox: Sandbox, job: RunnerJob, onStarted: () => void) {
    this.#onStarted = onStarted;
    this.#sandbox = sandbox;
    this.#job = job;
  }

  async run(): Promise<ProgramEnd> {
    const { entry, files, args, stdin, wantsFiles, servers, language } = this.#job;
    let engineSaid = '';
    this.#sandbox.stderr.on('data', (chunk: Buffer) => {
      engineSaid = `${engineSaid}${chunk.toString('utf8')}`.slice(-KEPT_CHARS);
    });
    splitLines(this.#sandbox.stdout, (line) => this.#takeLine(line));
    this.#write({
      type: 'job',
      entry,
      files: files.map(({ name, content }) => ({ name, content: Buffer.from(content).toString('base64') })),
      args,
      stdin: Buffer.from(stdin).toString('base64'),
      env: language.env,
      wants_files: wantsFiles,
      servers,
    });
    const exit = await this.#sandbox.exited;
    this.#ended.abort();
    const { stdout, stderr } = this.#streams;
    stdout.drop(this.#last?.dropped_bytes ?? 0);
    if (this.#violation !== undefined) {
      stderr.take(Buffer.from(`[the program was ended: ${this.#violation}]\n`));
    }
    return {
      isStarted: this.#hasSpoken,
      exitCode: this.#last?.exit_code ?? exit.exitCode,
      exit,
      stdout,
      stderr,
      engineSaid,
      files: this.#left.map(({ name, pieces }) => ({ name, content: Buffer.concat(pieces) })),
      omittedFiles: this.#last?.omitted_files ?? [],
    };
  }

  /** `undefined` stands for a line that is too long. */
  #takeLine(bytes: Buffer | undefined): void {
    if (this.#last !== undefined || this.#violation !== undefined) {
      return;
    }
    const line = bytes === undefined ? undefined : parseLine(bytes);
    this.#lines += 1;
    if (line === undefined || this.#lines > MAX_RUNNER_LINES) {
      this.#end(line === undefined ? 'its runner sent a line that is not valid' : 'it wrote too often');
      return;
    }
    if (!this.#hasSpoken) {
      this.#hasSpoken = true;
      this.#onStarted();
    }
    if (line.type === 'output') {
      this.#streams[line.stream].take(Buffer.from(line.data, 'base64'));
    } else if (line.type === 'call') {
      void this.#answer(line);
    } else if (line.type === 'file') {
      this.#takeFile(line);
    } else if (line.type === 'exit') {
      this.#last = line;
      // The runner of the embedded engine may wait for the end of its input.
      this.#sandbox.stdin.end();
    }
  }

  #takeFile({ name, data }: LineOf<'file'>): void {
    const piece = Buffer.from(data, 'base64');
    const current = this.#left.at(-1);
    this.#leftBytes += piece.byteLength;
    if (current?.name === name) {
      current.pieces.push(piece);
    } else {
      this.#left.push({ name, pieces: [piece] });
    }
    if (!this.#job.wantsFiles || this.#leftBytes > MAX_OUTPUT_FILES_BYTES || this.#left.length > MAX_FILES) {
      this.#end('its runner sent more files than it may');
    }
  }

  #end(why: string): void {
    this.#violation = why;
    void this.#sandbox.kill();
  }

  async #answer({ call, server, tool, arguments: given }: LineOf<'call'>): Promise<void> {
    this.#calls += 1;
    try {
      this.#checkCalls();
      this.#callsRunning += 1;
      const answer = await this.#make({ server, tool, arguments: given }).finally(() => {
        this.#callsRunning -= 1;
      });
      this.#checkUnread();
      this.#writeAnswer(call, answer);
    } catch (error) {
      const { code, hint, message } = toBridgeError(error);
      this.#write({ type: 'answer', call, ok: false, error: { code, message, ...(hint !== undefined && { hint }) } });
    }
  }

  /** A program that makes calls and reads no answers must not fill the memory of the bridge. */
  #checkUnread(): void {
    if (this.#sandbox.stdin.writableLength > MAX_UNREAD_ANSWERS_BYTES) {
      const most = `${MAX_UNREAD_ANSWERS_BYTES / 1024 / 1024} MiB`;
      throw new BridgeError('LIMIT_RESULT', `the program has not read ${most} of earlier answers, which is the limit`, {
        hint: 'Read the answers of calls before you make more.',
      });
    }
  }

  async #make(call: CallOfProgram): Promise<ToolValue> {
    if (this.#job.callTool === undefined) {
      throw new BridgeError(
        'SERVER_NOT_AVAILABLE',
        `Server '${escapeControls(call.server)}' is not available: it is not loaded here`,
        {
          hint: 'Only programs that a cell starts with runtime.run can call the servers of its session.',
        },
      );
    }
    return this.#job.callTool(call, this.#ended);
  }

  #checkCalls(): void {
    if (this.#calls > MAX_CALLS_OF_PROGRAM) {
      const most = MAX_CALLS_OF_PROGRAM.toLocaleString('en-US');
      throw new BridgeError('LIMIT_CALLS', `the program made more than ${most} calls`, { hint: 'Make fewer calls.' });
    }
    if (this.#callsRunning >= MAX_CALLS_OF_PROGRAM_AT_ONCE) {
      const message = `${MAX_CALLS_OF_PROGRAM_AT_ONCE} calls of the program have no answer yet, which is the limit`;
      throw new BridgeError('LIMIT_CALLS', message, { hint: 'Await some of them before you make more.' });
    }
  }

  /** A large result is passed on as it came. */
  #writeAnswer(call: number, answer: ToolValue): void {
    if (!('json' in answer)) {
      this.#write({ type: 'answer', call, ok: true, ...('text' in answer ? answer : { value: answer.value ?? null }) });
    } else if (this.#sandbox.stdin.writable) {
      this.#sandbox.stdin.write(`{"type":"answer","call":${call},"ok":true,"${answer.member}":`);
      answer.json.forEach((piece) => this.#sandbox.stdin.write(onOneLine(piece)));
      this.#sandbox.stdin.write('}\n');
    }
  }

  #write(message: Readonly<Record<string, unknown>>): void {
    if (this.#sandbox.stdin.writable) {
      this.#sandbox.stdin.write(`${stringifyExact(message)}\n`);
    }
  }
}

const KEPT_CHARS = 4_096;

/** A piece of JSON, in which a line break can only be white space (RFC 8259, section 7). */
function onOneLine(piece: Buffer): Uint8Array {
  return piece.includes(LINE_FEED) || piece.includes(CARRIAGE_RETURN)
    ? piece.map((byte) => (byte === LINE_FEED || byte === CARRIAGE_RETURN ? SPACE : byte))
    : piece;
}

const LINE_FEED = 0x0a;
const CARRIAGE_RETURN = 0x0d;
const SPACE = 0x20;

/** Undefined for what is no line of a runner. */
function parseLine(bytes: Buffer): Line | undefined {
  const read = readUntrusted(bytes, JSON_BOUNDS.runnerLine);
  return read.ok ? LineSchema.safeParse(read.value).data : undefined;
}

/** Calls `take` for each line, and with undefined for one that is too long; nothing after that is a line. */
function splitLines(stream: Sandbox['stdout'], take: (line: Buffer | undefined) => void): void {
  let pieces: Buffer[] = [];
  let length = 0;
  stream.on('data', (chunk: Buffer) => {
    let rest = chunk;
    for (let end = rest.indexOf(10); end !== -1; end = rest.indexOf(10)) {
      take(Buffer.concat([...pieces, rest.subarray(0, end)]));
      pieces = [];
      length = 0;
      rest = rest.subarray(end + 1);
    }
    length += rest.byteLength;
    if (length > JSON_BOUNDS.runnerLine.bytes) {
      pieces = [];
      take(undefined);
    } else if (rest.byteLength > 0) {
      pieces.push(rest);
    }
  });
}
