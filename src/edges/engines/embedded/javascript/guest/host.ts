/** What the guest, JavaScript in QuickJS, can ask of its host. Only strings, numbers and bytes cross, and each is checked there. */

/** What `url` returns, in this order; none can contain a line break. */
export const URL_PARTS = [
  'href',
  'origin',
  'protocol',
  'username',
  'password',
  'host',
  'hostname',
  'port',
  'pathname',
  'search',
  'hash',
] as const;

export interface GuestHost {
  /** Output as text; 1 is stdout, 2 is stderr. */
  write(stream: number, text: string): void;
  writeBytes(stream: number, bytes: ArrayBuffer): void;
  /** Sends a call; `answer` of the guest gets the answer. Throws if too many calls have no answer yet. */
  call(id: number, server: string, tool: string, argumentsJson: string): void;
  /** Calls `fire` of the guest after this time, instead of any earlier request. */
  wake(delayMs: number): void;
  /** A file that the program has left, for the exit line. Throws if the files are larger than the workspace. */
  leave(name: string, content: ArrayBuffer): void;
  /** Ends the program. Nothing else works afterwards. */
  exit(code: number): void;
  /** That many random bytes, at most 65,536. */
  random(count: number): ArrayBuffer;
  /** UTF-8; lone surrogates become U+FFFD. */
  encode(text: string): ArrayBuffer;
  /** Invalid bytes become U+FFFD, or throw if `isFatal`. A byte order mark is kept. */
  decode(bytes: ArrayBuffer, isFatal: boolean): string;
  /** The parts of a URL, one a line, after `part` has got `value`; no text if it is none. */
  url(input: string, base?: string, part?: string, value?: string): string;
}

/** What the program gets, apart from its files and stdin. */
export interface GuestJob {
  readonly entry: string;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  readonly wantsFiles: boolean;
  readonly workspaceBytes: number;
  readonly maxCalls: number;
  readonly servers: readonly { readonly name: string; readonly alias: string }[];
}

/** What the host calls in the guest. */
export interface Guest {
  /** Puts a file in place before the program starts. */
  addFile(name: string, content: ArrayBuffer): void;
  run(jobJson: string, stdin: ArrayBuffer): void;
  /** One line from the host that answers a call. */
  answer(line: string): void;
  /** A timer may be due. */
  fire(): void;
  /** QuickJS reports a rejected promise without a handler, or that it has got one. */
  rejection(promise: object, reason: unknown, isHandled: boolean): void;
  /** All jobs are done: handles rejections, and ends the program if nothing is pending. */
  settle(): void;
  /** The name of the module that an import means. */
  resolveModule(base: string, specifier: string): string;
  /** The source of a module after `+`, or after `-` why there is none. */
  loadModule(name: string): string;
}
