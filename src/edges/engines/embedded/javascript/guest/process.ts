/** `process`: arguments, environment, streams and the end of the program. */
import { Buffer, ownBuffer, textOf } from './bytes.ts';
import type { GuestHost, GuestJob } from './host.ts';
import { missingText } from './modules.ts';
import { WORKSPACE } from './paths.ts';
import type { GuestTimers } from './timers.ts';

export type ProcessListener = (...values: unknown[]) => unknown;

interface ProcessParts extends Pick<GuestJob, 'args' | 'env'> {
  /** Absolute path of the entry file. */
  readonly path: string;
  readonly host: Pick<GuestHost, 'write' | 'writeBytes'>;
  readonly timers: GuestTimers;
  readonly listeners: Map<string, ProcessListener[]>;
  /** All of stdin, once. */
  readonly takeStdin: () => Uint8Array;
  readonly end: (code: unknown) => void;
}

/** Gives the object `process` its members. */
export function fillProcess(target: Record<string, unknown>, parts: ProcessParts): void {
  Object.assign(target, {
    ...identity(parts),
    ...events(target, parts),
    stdin: createStdin(parts),
    stdout: createOutput(1, parts),
    stderr: createOutput(2, parts),
    exit: (code?: unknown) => {
      parts.end(code);
      throw new Error('the program has ended');
    },
    nextTick: (run: ProcessListener, ...args: unknown[]) => globalThis.queueMicrotask(() => run(...args)),
    hrtime: Object.assign(() => hrtime(), { bigint: () => BigInt(Math.round(performance.now() * 1e6)) }),
    uptime: () => performance.now() / 1000,
    memoryUsage: () => {
      throw new Error(missingText('process.memoryUsage'));
    },
  });
}

function identity({ args, env, path }: ProcessParts) {
  return {
    argv: ['node', path, ...args],
    execArgv: [],
    env: { ...env },
    platform: 'linux',
    arch: 'wasm32',
    version: 'quickjs',
    versions: { quickjs: 'ng' },
    pid: 1,
    cwd: () => WORKSPACE,
  };
}

function events(target: object, { listeners }: ProcessParts) {
  const on = (event: string, listener: ProcessListener) => {
    listeners.set(event, [...(listeners.get(event) ?? []), listener]);
    return target;
  };
  const off = (event: string, listener: ProcessListener) => {
    const others = (listeners.get(event) ?? []).filter((other) => other !== listener);
    listeners.set(event, others);
    return target;
  };
  return { on, once: on, off, removeListener: off };
}

function createOutput(stream: number, { host, timers }: ProcessParts): object {
  const write = (chunk: unknown, next?: unknown, last?: unknown) => {
    if (typeof chunk === 'string') {
      host.write(stream, chunk);
    } else {
      host.writeBytes(stream, ownBuffer(chunk as Uint8Array));
    }
    const done = typeof next === 'function' ? next : last;
    if (typeof done === 'function') {
      timers.start(done, 0, []);
    }
    return true;
  };
  const end = (chunk?: unknown) => chunk !== undefined && write(chunk);
  return { write, end, isTTY: false, on: () => undefined, once: () => undefined };
}

function createStdin({ takeStdin, timers }: ProcessParts): object {
  let encoding: string | undefined;
  const take = (): unknown[] => {
    const bytes = takeStdin();
    return bytes.length === 0 ? [] : [encoding === undefined ? Buffer.concat([bytes]) : textOf(bytes, encoding)];
  };
  const stdin = {
    fd: 0,
    isTTY: false,
    setEncoding: (name = 'utf8') => {
      encoding = name;
      return stdin;
    },
    resume: () => stdin,
    on: (event: string, listener: ProcessListener) => {
      if (event === 'data') {
        timers.start(() => take().forEach((chunk) => listener(chunk)), 0, []);
      } else if (event === 'end' || event === 'close') {
        // After the data.
        timers.start(listener, 1, []);
      }
      return stdin;
    },
    async *[Symbol.asyncIterator]() {
      yield* take();
    },
  };
  return Object.assign(stdin, { once: stdin.on });
}

function hrtime(): [number, number] {
  const now = performance.now();
  return [Math.floor(now / 1000), Math.round((now % 1000) * 1e6)];
}
