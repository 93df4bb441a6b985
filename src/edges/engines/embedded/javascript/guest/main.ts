/**
 * What a program finds in QuickJS: the globals and modules of Node that need nothing of the machine. All of it is the program's
 * own: it can break it for itself. The host functions, which it cannot break, are in a closure.
 */
import { format, inspect, stripVTControlCharacters } from 'node-inspect-extracted';
import { Buffer, GuestTextDecoder, GuestTextEncoder, ownBuffer, textOf, useCodec } from './bytes.ts';
import { GuestCalls, MCPError } from './calls.ts';
import { cloneValue } from './clone.ts';
import { createConsole } from './console.ts';
import { createFileModules } from './file-module.ts';
import type { Guest, GuestHost, GuestJob } from './host.ts';
import { MemoryFiles } from './memory-files.ts';
import { GuestModules, missingText } from './modules.ts';
import { guestPath, WORKSPACE } from './paths.ts';

import { fillProcess, type ProcessListener } from './process.ts';
import { GuestTimers } from './timers.ts';
import { GuestSearchParams, GuestUrl, useUrls } from './urls.ts';

/** Node's exit code for a program whose top-level `await` never ends. */
const UNSETTLED = 13;
const NO_NETWORK =
  'fetch is not available: a sandbox has no network. Use the tools of a server instead: await mcp.SERVER.TOOL({…}).';
const RANDOM_BYTES = 65_536;

interface CallSite {
  getFunctionName(): string | null;
  getFileName(): string | null;
  getLineNumber(): number;
  getColumnNumber(): number;
  isNative(): boolean;
}

interface Job extends GuestJob {
  readonly url: string;
}

export function start(host: GuestHost): Guest {
  useCodec(host);
  useUrls(host);
  return new Program(host).guest();
}

/** One program. */
class Program {
  readonly #host: GuestHost;
  readonly #files = new MemoryFiles();
  readonly #calls: GuestCalls;
  readonly #timers: GuestTimers;
  readonly #listeners = new Map<string, ProcessListener[]>();
  readonly #rejections = new Map<object, unknown>();
  readonly #process: Record<string, unknown> & { exitCode?: unknown } = {};
  #modules: GuestModules | undefined;
  #job: Job | undefined;
  #stdin = new Uint8Array(0);
  #state: 'running' | 'done' | 'ending' = 'running';

  constructor(host: GuestHost) {
    this.#host = host;
    this.#calls = new GuestCalls(host);
    this.#timers = new GuestTimers(
      (delayMs) => host.wake(delayMs),
      (error) => this.#fail(error),
    );
  }

  guest(): Guest {
    const modules = () => this.#modules as GuestModules;
    return {
      addFile: (name, content) => this.#files.add(`${WORKSPACE}/${name}`, new Uint8Array(content)),
      run: (jobJson, stdin) => this.#run(JSON.parse(jobJson) as GuestJob, stdin),
      answer: (line) => this.#calls.answer(line),
      fire: () => this.#timers.fire(),
      rejection: (promise, reason, isHandled) =>
        void (isHandled ? this.#rejections.delete(promise) : this.#rejections.set(promise, reason)),
      settle: () => this.#settle(),
      resolveModule: (base, specifier) => modules().resolve(base, specifier),
      loadModule: (name) => {
        try {
          return `+${modules().load(name)}`;
        } catch (error) {
          return `-${(error as Error).message}`;
        }
      },
    };
  }

  #run(job: GuestJob, stdin: ArrayBuffer): void {
    const path = guestPath.resolve(WORKSPACE, job.entry);
    this.#job = { ...job, url: `file://${path}` };
    this.#stdin = new Uint8Array(stdin);
    this.#files.maxBytes = job.workspaceBytes;
    this.#calls.maxCalls = job.maxCalls;
    this.#installStacks();
    const parts = {
      ...this.#job,
      path,
      host: this.#host,
      timers: this.#timers,
      listeners: this.#listeners,
      takeStdin: () => this.#takeStdin(),
      end: (code: unknown) => this.#end(code),
    };
    fillProcess(this.#process, parts);
    this.#installGlobals();
    this.#installModules(path);
    import(this.#job.url).then(
      () => {
        this.#state = this.#state === 'running' ? 'done' : this.#state;
      },
      (error: unknown) => this.#fail(error),
    );
  }

  #settle(): void {
    for (const [promise, reason] of this.#rejections) {
      this.#rejections.delete(promise);
      if (!this.#emit('unhandledRejection', reason, promise)) {
        this.#fail(reason, true);
      }
    }
    if (this.#timers.isWaiting || this.#calls.isWaiting) {
      return;
    }
    if (this.#state === 'running') {
      this.#host.write(2, `Warning: Detected unsettled top-level await at ${this.#job?.url}\n`);
      this.#end(UNSETTLED);
    } else {
      this.#end(undefined);
    }
  }

  /** An error that nothing has caught. */
  #fail(error: unknown, isRejection = false): void {
    if (this.#emit('uncaughtException', error)) {
      this.#state = 'done';
      return;
    }
    this.#host.write(2, `${this.#describe(error, isRejection)}\n`);
    this.#end(1);
  }

  #describe(error: unknown, isRejection: boolean): string {
    if (!(error instanceof Error)) {
      const shown = format(error);
      const text = `[UnhandledPromiseRejection: the promise was rejected with the reason ${inspect(error)}]`;
      return isRejection ? text : `Uncaught ${typeof error === 'string' ? inspect(error) : shown}`;
    }
    // Without frames, `inspect` puts it in brackets.
    const text = inspect(error).replace(/^\[([^]*)\]$/, '$1');
    const [, url = '', line = '', column = ''] =
      /(file:\/\/\/workspace\/[^\s:)]+):(\d+):(\d+)/.exec(String(error.stack)) ?? [];
    const source = url === '' ? undefined : this.#modules?.line(url, Number(line));
    return source === undefined || source.length > 500
      ? text
      : `${url}:${line}\n${source}\n${' '.repeat(Math.max(0, Number(column) - 1))}^\n\n${text}`;
  }

  #end(code: unknown): void {
    if (this.#state === 'ending') {
      return;
    }
    this.#state = 'ending';
    let status = Number(code ?? this.#process.exitCode ?? 0) & 255;
    try {
      this.#process.exitCode = status;
      this.#emit('exit', status);
      status = Number(this.#process.exitCode) & 255;
    } catch (error) {
      this.#host.write(2, `${this.#describe(error, false)}\n`);
      status = 1;
    }
    if (this.#job?.wantsFiles === true) {
      for (const [name, content] of this.#files.changed()) {
        this.#host.leave(name, ownBuffer(content));
      }
    }
    this.#host.exit(status);
  }

  #emit(event: string, ...values: unknown[]): boolean {
    const listeners = this.#listeners.get(event) ?? [];
    for (const listener of listeners) {
      Reflect.apply(listener, this.#process, values);
    }
    return listeners.length > 0;
  }

  #takeStdin(): Uint8Array {
    const bytes = this.#stdin;
    this.#stdin = new Uint8Array(0);
    return bytes;
  }

  /** Frames as V8 writes them, with the error first. */
  #installStacks(): void {
    const frame = (site: CallSite): string => {
      const place = site.isNative()
        ? 'native'
        : `${site.getFileName() ?? 'unknown'}:${site.getLineNumber()}:${site.getColumnNumber()}`;
      const name = site.getFunctionName();
      return `\n    at ${name === null || name === '' ? place : `${name} (${place})`}`;
    };
    const prepare = (error: unknown, sites: CallSite[]) => {
      const own = sites.filter((site) => site.getFileName()?.startsWith('guest') !== true);
      // What calls the program is ours, too.
      return (
        String(error) +
        own
          .slice(0, own.findLastIndex((site) => !site.isNative()) + 1)
          .map(frame)
          .join('')
      );
    };
    Object.assign(Error, { prepareStackTrace: prepare });
  }

  #installGlobals(): void {
    const timer =
      (isRepeated: boolean) =>
      (run: unknown, delay?: unknown, ...args: unknown[]) =>
        this.#timers.start(run, delay, args, isRepeated);
    const stop = (handle: unknown) => this.#timers.stop(handle);
    const values = {
      global: globalThis,
      console: createConsole((stream, text) => this.#host.write(stream, text)),
      process: this.#process,
      mcp: this.#calls.createProxy(this.#job?.servers ?? []),
      MCPError,
      Buffer,
      TextEncoder: GuestTextEncoder,
      TextDecoder: GuestTextDecoder,
      URL: GuestUrl,
      URLSearchParams: GuestSearchParams,
      setTimeout: timer(false),
      setInterval: timer(true),
      setImmediate: (run: unknown, ...args: unknown[]) => this.#timers.start(run, 0, args),
      clearTimeout: stop,
      clearInterval: stop,
      clearImmediate: stop,
      structuredClone: cloneValue,
      queueMicrotask: (run: () => void) => void Promise.resolve().then(run),
      crypto: this.#createCrypto(),
      // Async, because people catch what a promise says.
      fetch: async () => {
        throw new Error(NO_NETWORK);
      },
      Worker: function Worker() {
        throw new Error(missingText('Worker'));
      },
    };
    for (const [name, value] of Object.entries(values)) {
      Object.defineProperty(globalThis, name, { value, writable: true, configurable: true });
    }
    // QuickJS tells no code the state of a promise, and `inspect` would show each as pending.
    const { prototype }: { prototype: object } = Promise;
    Object.defineProperty(prototype, inspect.custom, { value: () => 'Promise {}', configurable: true });
  }

  #createCrypto(): object {
    const random = (count: number) => new Uint8Array(this.#host.random(Math.min(count, RANDOM_BYTES)));
    return {
      randomUUID: () => {
        const bytes = random(16);
        bytes[6] = ((bytes[6] ?? 0) & 0x0f) | 0x40;
        bytes[8] = ((bytes[8] ?? 0) & 0x3f) | 0x80;
        return textOf(bytes, 'hex').replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-');
      },
      getRandomValues: <T extends ArrayBufferView>(view: T): T => {
        new Uint8Array(view.buffer, view.byteOffset, view.byteLength).set(random(view.byteLength));
        return view;
      },
    };
  }

  #installModules(path: string): void {
    const { fs, promises } = createFileModules(this.#files, () => this.#takeStdin());
    const sleep = async (delayMs: number, value?: unknown) =>
      new Promise((resolve) => this.#timers.start(resolve, delayMs, [value]));
    const util = {
      inspect,
      format,
      stripVTControlCharacters,
      promisify,
      types: {},
      TextEncoder: GuestTextEncoder,
      TextDecoder: GuestTextDecoder,
    };
    const url = {
      URL: GuestUrl,
      URLSearchParams: GuestSearchParams,
      fileURLToPath: (value: unknown) => decodeURIComponent(String(value).replace('file://', '')),
      pathToFileURL: (value: string) =>
        new GuestUrl(`file://${encodeURI(guestPath.resolve(value)).replaceAll('?', '%3F').replaceAll('#', '%23')}`),
    };
    const os = { EOL: '\n', tmpdir: () => '/tmp', homedir: () => WORKSPACE, platform: () => 'linux', cpus: () => [] };
    this.#modules = new GuestModules(this.#files, {
      fs,
      'fs/promises': promises,
      path: guestPath,
      'path/posix': guestPath,
      process: this.#process,
      buffer: { Buffer },
      util,
      url,
      os,
      timers: { setTimeout: globalThis.setTimeout, clearTimeout: globalThis.clearTimeout },
      'timers/promises': { setTimeout: sleep, setImmediate: async (value?: unknown) => sleep(0, value) },
    });
    const modules = this.#modules;
    const require = (name: string) => modules.require(path, name);
    Object.defineProperty(globalThis, 'require', { value: require, writable: true, configurable: true });
    const anywhere = (name: string) => modules.require(WORKSPACE, name);
    Object.defineProperty(globalThis, Symbol.for('bridge.require'), { value: anywhere });
  }
}

function promisify(run: (...values: unknown[]) => void) {
  return async (...args: unknown[]) =>
    new Promise((resolve, reject) => {
      run(...args, (error: Error | null, value: unknown) => (error ? reject(error) : resolve(value)));
    });
}
