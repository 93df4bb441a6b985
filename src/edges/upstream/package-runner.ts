/**
 * Programs that download a server before they start it, such as `npx`, `uvx` and `docker run`, and how long such a start may take.
 * They report their progress on stderr, if at all, and nothing says when the server itself begins.
 */
import { type CancelSignal, CancelSource } from '../../core/base/cancel.ts';
import type { ProcessDefinition, UpstreamDefinition } from '../../core/base/server-definition.ts';

/** The subcommands that download; a program without any always does. */
const RUNNERS: Readonly<Record<string, readonly string[] | undefined>> = {
  npx: [],
  pnpx: [],
  bunx: [],
  uvx: [],
  npm: ['exec', 'x'],
  pnpm: ['dlx'],
  yarn: ['dlx'],
  bun: ['x'],
  deno: ['run'],
  uv: ['run', 'tool'],
  pipx: ['run'],
  docker: ['run'],
  podman: ['run'],
};

/** The runner as a person writes it, such as `uvx` or `pipx run`; undefined for any other program. */
export function packageRunner({ command, args }: Pick<ProcessDefinition, 'command' | 'args'>): string | undefined {
  const program = baseName(command);
  if (program === 'cmd' && args[0]?.toLowerCase() === '/c' && args[1] !== undefined) {
    return packageRunner({ command: args[1], args: args.slice(2) });
  }
  const subcommands = Object.hasOwn(RUNNERS, program) ? RUNNERS[program] : undefined;
  if (subcommands === undefined || subcommands.length === 0) {
    return subcommands && program;
  }
  const subcommand = args.find((word) => subcommands.includes(word));
  return subcommand && `${program} ${subcommand}`;
}

function baseName(command: string): string {
  return command.replace(/^.*[\\/]/s, '').replace(/\.(?:cmd|exe|bat)$/i, '');
}

/** The time limits of starts. */
export interface StartLimits {
  /** For a program that is no package runner: time until the handshake is done. */
  readonly startTimeoutMs: number;
  /** For a package runner: time without a word on stderr. */
  readonly quietStartMs: number;
  /** For a package runner: time until the handshake is done. */
  readonly longestStartMs: number;
}

/** The longest time that the start of this server may take. */
export function longestStartMs(definition: UpstreamDefinition, limits: StartLimits): number {
  const isRunner = definition.url === undefined && packageRunner(definition) !== undefined;
  return isRunner ? limits.longestStartMs : limits.startTimeoutMs;
}

export function unanswered(limitMs: number): string {
  return `no answer to initialize within ${limitMs / 1000} s`;
}

/** The clock of one start. Its signal aborts when the time is up, and when the caller's does. */
export class StartClock {
  readonly signal = new CancelSource();
  readonly totalMs: number;
  readonly #caller: CancelSignal;
  readonly #total: NodeJS.Timeout;
  readonly #quiet: NodeJS.Timeout | undefined;
  readonly #abort = (): void => this.signal.abort();
  #reason: string;

  constructor(definition: ProcessDefinition, limits: StartLimits, caller: CancelSignal) {
    this.totalMs = longestStartMs(definition, limits);
    this.#caller = caller;
    this.#reason = unanswered(this.totalMs);
    this.#total = setTimeout(this.#abort, this.totalMs);
    if (packageRunner(definition) !== undefined) {
      this.#quiet = setTimeout(() => {
        this.#reason = `no answer to initialize, and nothing on stderr for ${limits.quietStartMs / 1000} s`;
        this.#abort();
      }, limits.quietStartMs);
    }
    caller.addEventListener('abort', this.#abort, { once: true });
    if (caller.aborted) {
      this.#abort();
    }
  }

  /** Which limit has passed; undefined if none has. */
  get overdue(): string | undefined {
    return this.signal.aborted && !this.#caller.aborted ? this.#reason : undefined;
  }

  /** The program has written to stderr. */
  readonly noteLife = (): void => {
    this.#quiet?.refresh();
  };

  stop(): void {
    clearTimeout(this.#total);
    clearTimeout(this.#quiet);
    this.#caller.removeEventListener('abort', this.#abort);
  }
}
