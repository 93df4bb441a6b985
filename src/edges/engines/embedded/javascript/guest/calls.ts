/** `mcp.SERVER.TOOL(arguments)`: proxies that send calls to the host, and the promises that wait for their answers. */
import type { GuestHost, GuestJob } from './host.ts';

interface Waiting {
  resolve(value: unknown): void;
  reject(error: Error): void;
  /** The stack of the code that makes the call. */
  readonly frames: string;
}

interface AnswerLine {
  readonly call: number;
  readonly ok: boolean;
  readonly value?: unknown;
  readonly text?: string;
  readonly error?: { readonly code?: string; readonly message?: string; readonly hint?: string };
}

/** An error that the host answered. */
export class MCPError extends Error {
  readonly code: string | undefined;
  readonly hint: string | undefined;

  constructor({ code, hint, message }: NonNullable<AnswerLine['error']>, frames: string) {
    super(message ?? 'the call failed');
    Object.defineProperty(this, 'stack', { value: `${String(this)}${frames}`, writable: true, configurable: true });
    this.code = code;
    this.hint = hint;
  }
}

// On the prototype, so that the stack begins with it.
Object.defineProperty(MCPError.prototype, 'name', { value: 'MCPError', writable: true, configurable: true });

/** Names that JavaScript itself looks up, for example when a proxy is awaited or printed. */
const NOT_NAMES = new Set(['then', 'catch', 'finally', 'toJSON', 'constructor', 'inspect', 'valueOf', 'toString']);

export class GuestCalls {
  readonly #host: Pick<GuestHost, 'call'>;
  readonly #waiting = new Map<number, Waiting>();
  /** Calls beyond the number that the host takes at once. */
  readonly #queue: (() => void)[] = [];
  #lastId = 0;
  maxCalls = 1;

  constructor(host: Pick<GuestHost, 'call'>) {
    this.#host = host;
  }

  get isWaiting(): boolean {
    return this.#waiting.size > 0 || this.#queue.length > 0;
  }

  /** The object `mcp`. */
  createProxy(servers: GuestJob['servers']): object {
    const names = servers.map(({ alias }) => alias);
    return namedProxy('mcp', names, (server) => this.#serverProxy(server));
  }

  answer(line: string): void {
    const { call, error, ok, text, value } = JSON.parse(line) as AnswerLine;
    const waiting = this.#waiting.get(call);
    this.#waiting.delete(call);
    this.#queue.shift()?.();
    if (ok) {
      waiting?.resolve(text === undefined ? value : parsedOrText(text));
    } else {
      waiting?.reject(new MCPError(error ?? {}, waiting.frames));
    }
  }

  #serverProxy(server: string): object {
    return namedProxy(`mcp.${server}`, [], (tool) => (input?: unknown) => this.#call(server, tool, input));
  }

  // Async, so that arguments that cannot be JSON reject the promise.
  async #call(server: string, tool: string, input: unknown): Promise<unknown> {
    const json = JSON.stringify(input ?? {}) ?? '{}';
    if (!json.startsWith('{')) {
      throw new TypeError(`mcp.${server}.${tool} takes one object with the arguments, not ${json.slice(0, 60)}`);
    }
    const frames = new Error('call').stack?.replace('Error: call', '') ?? '';
    return new Promise((resolve, reject) => {
      const send = () => {
        this.#lastId += 1;
        this.#waiting.set(this.#lastId, { resolve, reject, frames });
        this.#host.call(this.#lastId, server, tool, json);
      };
      if (this.#waiting.size < this.maxCalls) {
        send();
      } else {
        this.#queue.push(send);
      }
    });
  }
}

/** The value of a text that is an object or a list as JSON, or the text. */
function parsedOrText(text: string): unknown {
  try {
    return /^\s*[[{]/.test(text) ? JSON.parse(text) : text;
  } catch {
    return text;
  }
}

function namedProxy(path: string, names: readonly string[], make: (name: string) => unknown): object {
  return new Proxy(Object.create(null) as object, {
    get: (_target, key) => {
      if (key === Symbol.toStringTag) {
        return path;
      }
      return typeof key === 'symbol' || NOT_NAMES.has(key) ? undefined : make(key);
    },
    has: (_target, key) => typeof key === 'string' && (names.length === 0 || names.includes(key)),
    ownKeys: () => [...names],
    getOwnPropertyDescriptor: (_target, key) =>
      names.includes(String(key)) ? { configurable: true, enumerable: true, value: make(String(key)) } : undefined,
  });
}
