/**
 * Runs one program in QuickJS. The program reaches the functions in `hostFunctions` and nothing else; what they get is checked to be
 * a string, a number or bytes, which no code of the program can watch being read.
 */
import { randomFillSync } from 'node:crypto';
import { type JSValueHandle, QuickJS, type QuickJSOptions } from 'quickjs-wasi';
import { messageOf } from '../../../../core/base/errors.ts';
import { type Guest, type GuestHost, type GuestJob, URL_PARTS } from './guest/host.ts';
import type { ProgramJob } from './job.ts';

export interface JobOptions {
  readonly module: WebAssembly.Module;
  /** `guest/` as bytecode: one function that takes the host. */
  readonly guestBytecode: Uint8Array;
  readonly job: ProgramJob;
  readonly memoryBytes: number;
  readonly workspaceBytes: number;
  /** Sends one line, complete with its end. */
  readonly write: (line: string) => void;
  /** Called once, after the last line. */
  readonly onEnd: () => void;
}

export interface RunningJob {
  /** A line from the host. */
  answer(line: string): void;
}

/** Calls that the host gets before it has answered one. As many as one session may have in flight. */
const MAX_CALLS = 1_024;
/** The largest stack of the module; the rest of its 1 MiB is for what QuickJS does not measure. */
const STACK_BYTES = 524_288;
/** For QuickJS itself, the files of the program on their way in, and fragmentation. Chosen. */
const RESERVED_BYTES = 8 * 1024 * 1024;
/** Bytes of output in one line. Chosen: small against the longest line that the host accepts. */
const OUTPUT_BYTES = 96 * 1024;
/** The same for files. */
const FILE_PIECE_BYTES = 768 * 1024;
const MAX_RANDOM_BYTES = 65_536;
const MAX_DELAY_MS = 2_147_483_647;
/** `EBADF` of WASI. */
const BADF = 8;
const NO_BYTES = new ArrayBuffer(0);

type Argument = string | number | boolean | ArrayBuffer;
type HostFunctions = { [Name in keyof GuestHost]: (...values: Argument[]) => Argument | undefined };

/** Starts the program. Rejects if QuickJS cannot be set up. */
export async function runJob(options: JobOptions): Promise<RunningJob> {
  const run = new JobRun(options);
  await run.start();
  return run;
}

class JobRun implements RunningJob {
  readonly #options: JobOptions;
  #leftBytes = 0;
  #openCalls = 0;
  #hasEnded = false;
  #timer: NodeJS.Timeout | undefined;
  #vm: QuickJS | undefined;
  #guest: JSValueHandle | undefined;

  constructor(options: JobOptions) {
    this.#options = options;
  }

  async start(): Promise<void> {
    const { guestBytecode, job } = this.#options;
    const vm = await QuickJS.create(this.#settings());
    this.#vm = vm;
    const functions = vm.newObject();
    for (const [name, run] of Object.entries(this.#hostFunctions())) {
      vm.setProp(
        functions,
        name,
        vm.newFunction(name, (...values) => this.#toGuest(run(...values.map(plainValue)))),
      );
    }
    const begin = vm.evalBytecode(guestBytecode);
    this.#guest = vm.callFunction(begin, vm.undefined, functions);
    // From here on, the host counts the time of the program.
    this.#line({ type: 'started' });
    this.#turn(() => this.#begin(job));
  }

  answer(line: string): void {
    this.#openCalls -= 1;
    this.#turn(() => this.#send('answer', line));
  }

  #settings(): QuickJSOptions {
    const { memoryBytes, module } = this.#options;
    return {
      wasm: module as QuickJSOptions['wasm'],
      memoryLimit: Math.max(memoryBytes - RESERVED_BYTES, RESERVED_BYTES),
      maxStackSize: STACK_BYTES,
      interruptHandler: () => this.#hasEnded,
      onUnhandledRejection: (promise, reason, isHandled) => {
        const vm = this.#vm as QuickJS;
        this.#invoke('rejection', promise, reason, isHandled ? vm.true : vm.false).dispose();
      },
      moduleLoader: {
        normalize: (base, specifier) => this.#ask('resolveModule', base, specifier),
        load: (name) => this.#load(name),
      },
      // What it would print to the descriptors of this process.
      wasi: () => ({ fd_write: () => BADF }),
    };
  }

  #begin({ args, entry, env, files, servers, stdin, wants_files }: ProgramJob): void {
    for (const { content, name } of files) {
      this.#send('addFile', name, bytesIn(content));
    }
    const { workspaceBytes } = this.#options;
    const job: GuestJob = { entry, args, env, servers, wantsFiles: wants_files, workspaceBytes, maxCalls: MAX_CALLS };
    this.#send('run', JSON.stringify(job), bytesIn(stdin));
  }

  #hostFunctions(): HostFunctions {
    return {
      write: (stream, text) => this.#output(stream, Buffer.from(asString(text))),
      writeBytes: (stream, bytes) => this.#output(stream, Buffer.from(asBytes(bytes))),
      call: (id, server, tool, json) => this.#call(asNumber(id), asString(server), asString(tool), asString(json)),
      wake: (delayMs) => this.#wake(asNumber(delayMs)),
      leave: (name, content) => this.#leave(asString(name), asBytes(content)),
      exit: (code) => this.#exit(asNumber(code) & 255),
      random: (count) => randomFillSync(new Uint8Array(Math.min(asNumber(count), MAX_RANDOM_BYTES))).buffer,
      encode: (text) => new Uint8Array(Buffer.from(asString(text).toWellFormed())).buffer,
      decode: (bytes, isFatal) =>
        new TextDecoder('utf-8', { fatal: isFatal === true, ignoreBOM: true }).decode(asBytes(bytes)),
      url: (input, base, part, value) => urlParts(asString(input), base, part, asString(value)),
    };
  }

  #output(stream: Argument, bytes: Buffer): undefined {
    this.#checkRunning();
    const name = stream === 2 ? 'stderr' : 'stdout';
    for (let at = 0; at < bytes.length; at += OUTPUT_BYTES) {
      const data = bytes.subarray(at, at + OUTPUT_BYTES).toString('base64');
      this.#line({ type: 'output', stream: name, data });
    }
  }

  #call(id: number, server: string, tool: string, json: string): undefined {
    this.#checkRunning();
    if (this.#openCalls >= MAX_CALLS) {
      throw new Error(`at most ${MAX_CALLS} calls can wait for an answer`);
    }
    this.#openCalls += 1;
    const head = JSON.stringify({ type: 'call', call: id, server, tool });
    // The host checks the arguments, which the guest has made; here they must only be JSON on one line.
    this.#options.write(`${head.slice(0, -1)},"arguments":${JSON.stringify(JSON.parse(json))}}\n`);
  }

  #wake(delayMs: number): undefined {
    this.#checkRunning();
    clearTimeout(this.#timer);
    const delay = Math.min(Math.max(0, delayMs), MAX_DELAY_MS);
    this.#timer = setTimeout(() => this.#turn(() => this.#send('fire')), delay);
  }

  #leave(name: string, content: ArrayBuffer): undefined {
    this.#checkRunning();
    this.#leftBytes += content.byteLength;
    if (this.#leftBytes > this.#options.workspaceBytes) {
      throw new Error(`the files are larger than ${this.#options.workspaceBytes} bytes`);
    }
    const bytes = Buffer.from(content);
    for (let at = 0; at === 0 || at < bytes.length; at += FILE_PIECE_BYTES) {
      this.#line({ type: 'file', name, data: bytes.subarray(at, at + FILE_PIECE_BYTES).toString('base64') });
    }
  }

  #exit(code: number): undefined {
    if (!this.#hasEnded) {
      this.#hasEnded = true;
      clearTimeout(this.#timer);
      this.#line({ type: 'exit', exit_code: code });
      this.#options.onEnd();
    }
  }

  #checkRunning(): void {
    if (this.#hasEnded) {
      throw new Error('the program has ended');
    }
  }

  /** Runs something in the guest, then every job that follows from it, and lets the guest end if nothing is left. */
  #turn(run: () => void): void {
    try {
      if (!this.#hasEnded) {
        run();
        this.#vm?.executePendingJobs();
      }
      if (!this.#hasEnded) {
        this.#send('settle');
      }
    } catch (error) {
      // After the end, that is the interrupt. Before it, the guest's own code failed: out of memory, or the program broke it.
      if (!this.#hasEnded) {
        this.#output(2, Buffer.from(`Uncaught ${messageOf(error)}\n`));
        this.#exit(1);
      }
    }
  }

  #load(name: string): string {
    const answer = this.#ask('loadModule', name);
    if (!answer.startsWith('+')) {
      const error = new Error(answer.slice(1));
      // The real one has the places of this file, which are not for the program.
      error.stack = String(error);
      throw error;
    }
    return answer.slice(1);
  }

  #ask(name: keyof Guest, ...values: Argument[]): string {
    const answer = this.#invoke(name, ...values.map((value) => this.#toGuest(value)));
    const text = asString(plainValue(answer));
    answer.dispose();
    return text;
  }

  #send(name: keyof Guest, ...values: Argument[]): void {
    this.#invoke(name, ...values.map((value) => this.#toGuest(value))).dispose();
  }

  #invoke(name: keyof Guest, ...values: JSValueHandle[]): JSValueHandle {
    const [vm, guest] = [this.#vm, this.#guest];
    if (vm === undefined || guest === undefined) {
      throw new Error('the guest has not started');
    }
    const run = guest.getProp(name);
    try {
      return vm.callFunction(run, guest, ...values);
    } finally {
      run.dispose();
    }
  }

  #toGuest(value: Argument | undefined): JSValueHandle {
    const vm = this.#vm as QuickJS;
    switch (typeof value) {
      case 'string':
        return vm.newString(value);
      case 'number':
        return vm.newNumber(value);
      case 'boolean':
        return value ? vm.true : vm.false;
      default:
        return value === undefined ? vm.undefined : vm.newArrayBuffer(value);
    }
  }

  #line(message: object): void {
    this.#options.write(`${JSON.stringify(message)}\n`);
  }
}

function bytesIn(base64: string): ArrayBuffer {
  return base64 === '' ? NO_BYTES : new Uint8Array(Buffer.from(base64, 'base64')).buffer;
}

function urlParts(input: string, base: Argument | undefined, part: Argument | undefined, value: string): string {
  const baseText = typeof base === 'string' ? base : undefined;
  if (!URL.canParse(input, baseText)) {
    return '';
  }
  const url = new URL(input, baseText);
  const changed = URL_PARTS.find((name) => name === part);
  if (changed !== undefined && changed !== 'href' && changed !== 'origin') {
    url[changed] = value;
  }
  return URL_PARTS.map((name) => url[name]).join('\n');
}

/** Reads only values that no code of the program can take part in. */
function plainValue(handle: JSValueHandle): Argument {
  if (handle.isString) {
    return handle.toString();
  }
  if (handle.isNumber) {
    return handle.toNumber();
  }
  return handle.isArrayBuffer ? handle.toArrayBuffer() : handle.isBool && handle.toBoolean();
}

function asString(value: Argument): string {
  return typeof value === 'string' ? value : '';
}

function asNumber(value: Argument): number {
  return typeof value === 'number' && Number.isFinite(value) ? Math.trunc(value) : 0;
}

function asBytes(value: Argument): ArrayBuffer {
  return value instanceof ArrayBuffer ? value : NO_BYTES;
}
