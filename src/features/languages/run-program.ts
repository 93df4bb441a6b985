/** Runs a program once, in a sandbox of its own, and removes the sandbox however the run ends. */
import { type CancelSignal, unlessAborted } from '../../core/base/cancel.ts';
import { Countdown } from '../../core/base/countdown.ts';
import { BridgeError } from '../../core/base/errors.ts';
import { START_TIMEOUT_MS } from '../../core/base/limits.ts';
import { escapeControls, type Logger } from '../../core/base/log.ts';
import type { ProgramFile, ProgramRequest, ProgramResult } from '../../core/base/program.ts';
import { didYouMean } from '../../core/base/suggest.ts';
import type { Engine, PrepareProgress, ProgramSandbox, SandboxLimits } from '../../core/session/engine.ts';
import type { Environment } from '../../edges/engines/client-env.ts';
import { checkFiles, withGoodNames } from './file-names.ts';
import { interpreterOf, type Language, type Languages } from './languages-file.ts';
import { MAX_ARGUMENT_BYTES, MAX_ARGUMENTS, MAX_FILES, MAX_OUTPUT_FILES_BYTES } from './limits.ts';
import { findOnMachine } from './machine-programs.ts';
import type { ProgramEnd, RunnableProgram } from './program-run.ts';
import { ProgramTurns } from './program-turns.ts';
import { type CallFromProgram, runnerProgram } from './runner-program.ts';
import { nodeArguments } from './runner-sources.ts';
import { shellProgram } from './shell-program.ts';
import { isTypeScript, toJavaScript } from './typescript.ts';

/** A stored program. */
export interface SnippetSource {
  readonly language: Language;
  readonly fileName: string;
  readonly code: string;
}

export interface RunOptions {
  readonly engine: Engine;
  readonly languages: Languages;
  readonly snippets?: { find(name: string): Promise<SnippetSource> } | undefined;
  readonly defaultTimeoutMs: number;
  readonly maxTimeoutMs: number;
  /** Those of sessions. */
  readonly limits: SandboxLimits;
  /** To find programs of this machine. */
  readonly env: Environment;
  readonly signal?: CancelSignal | undefined;
  /** What the run waits for before it starts. */
  readonly onProgress?: ((progress: PrepareProgress) => void) | undefined;
  /** Undefined if the program cannot call servers. */
  readonly callTool?: CallFromProgram | undefined;
  readonly servers?: readonly { readonly name: string; readonly alias: string }[] | undefined;
  /** Name of the session, for the label of the sandbox. */
  readonly session?: string | undefined;
  /** Programs with the same object wait for each other: those of a principal in all its profiles. */
  readonly countedFor?: object | undefined;
  /** Called once the code is known, before anything starts. */
  readonly onSource?: ((found: { readonly language: string; readonly code: string }) => void) | undefined;
  readonly logger: Logger;
}

interface Job {
  readonly language: Language;
  readonly entry: string;
  readonly files: readonly ProgramFile[];
  readonly request: ProgramRequest;
}

/** Programs of clients wait for each other as those of one session do. */
const NO_SESSION = '';
/** As for sessions. A failed start teaches the engine what to change. */
const MAX_START_ROUNDS = 8;

const turns = new ProgramTurns();
/** Without principals, all programs are those of the user. */
const USER = {};

/**
 * Runs the program. A program that fails or is ended at its deadline is a result. Rejects with a `BridgeError` if it cannot run:
 * `CALL_REFUSED` for what was asked, errors of the engine, and `CALL_CANCELLED`.
 */
export async function runProgram(request: ProgramRequest, options: RunOptions): Promise<ProgramResult> {
  const source = await findSource(request, options);
  const { language } = source;
  options.onSource?.({ language: language.name, code: source.code });
  checkArguments(request.args);
  const entry = { name: source.fileName, content: Buffer.from(source.code) };
  const files = checkFiles(entry, request.files, request.stdin);
  const converted = await convert(files);
  if ('failure' in converted) {
    return notCompiled(converted.failure);
  }
  const job = { language, entry: entry.name, files: converted.files, request };
  const { countedFor: owner = USER, session = NO_SESSION } = options;
  const inputBytes = files.reduce((sum, { content }) => sum + content.length, 0);
  return turns.take({ owner, session, inputBytes }, () => runInRounds(job, options));
}

async function findSource({ source }: ProgramRequest, options: RunOptions): Promise<SnippetSource> {
  if (source.kind === 'snippet') {
    if (options.snippets === undefined) {
      throw new BridgeError('CALL_REFUSED', `there is no snippet ${JSON.stringify(source.name)}`, {
        hint: 'Pass the code itself.',
      });
    }
    return options.snippets.find(source.name);
  }
  const { code, fileName, language: wanted } = source;
  const language = options.languages.find(wanted);
  if (language === undefined) {
    const names = options.languages.all.map(({ name }) => name);
    const near = await didYouMean(wanted.slice(0, 100), names);
    throw new BridgeError('CALL_REFUSED', `there is no language ${JSON.stringify(wanted.slice(0, 100))}`, {
      hint: `Use one of ${names.join(', ')}.${near}`,
    });
  }
  return { language, fileName: fileName ?? language.fileName, code };
}

function checkArguments(args: readonly string[]): void {
  const bytes = args.reduce((sum, each) => sum + Buffer.byteLength(each) + 1, 0);
  if (args.length > MAX_ARGUMENTS || bytes > MAX_ARGUMENT_BYTES || args.some((each) => each.includes('\0'))) {
    const limit = `${MAX_ARGUMENTS.toLocaleString('en-US')} arguments, ${MAX_ARGUMENT_BYTES.toLocaleString('en-US')} bytes`;
    throw new BridgeError('CALL_REFUSED', `the arguments are too long or contain a NUL; the limit is ${limit}`, {
      hint: 'Pass large data as a file or as stdin.',
    });
  }
}

async function convert(
  files: readonly ProgramFile[],
): Promise<{ readonly files: ProgramFile[] } | { readonly failure: string }> {
  try {
    return {
      files: await Promise.all(files.map(async (file) => (isTypeScript(file.name) ? toJavaScript(file) : file))),
    };
  } catch (error) {
    return { failure: `${error instanceof Error ? error.message : String(error)}\n` };
  }
}

function notCompiled(stderr: string): ProgramResult {
  return { status: 'error', exitCode: 1, stdout: '', stderr, droppedBytes: 0, durationMs: 0, files: [] };
}

async function runInRounds(job: Job, options: RunOptions): Promise<ProgramResult> {
  for (let round = 1; ; round += 1) {
    const outcome = await runOnce(job, options);
    if (!(outcome instanceof BridgeError)) {
      return outcome;
    }
    if (outcome.data['retryNow'] !== true || round === MAX_START_ROUNDS) {
      throw outcome;
    }
  }
}

/** Resolves with an error if the sandbox did not start. */
async function runOnce(job: Job, options: RunOptions): Promise<ProgramResult | BridgeError> {
  const { engine, signal, onProgress = () => undefined } = options;
  const { program, sandbox: wanted } = await prepareProgram(job, options);
  checkCancelled(signal);
  await unlessCancelled(engine.prepare(onProgress, wanted), signal);
  checkCancelled(signal);
  const sandbox = await engine.start({
    command: program.command,
    session: options.session ?? 'program',
    program: wanted,
  });
  let begunAt = performance.now();
  let cause: 'timeout' | 'cancelled' | undefined;
  const end = (why: 'timeout' | 'cancelled') => (): void => {
    cause ??= why;
    void sandbox.kill();
  };
  // A start takes seconds on a busy machine, and the program's own time may be that short.
  let clock = new Countdown(START_TIMEOUT_MS, end('timeout'));
  const onStarted = (): void => {
    clock.hold();
    begunAt = performance.now();
    clock = new Countdown(timeoutOf(job, options), end('timeout'));
    currentClocks.set(job, clock);
  };
  const onCancel = end('cancelled');
  signal?.addEventListener('abort', onCancel, { once: true });
  if (signal?.aborted === true) {
    onCancel();
  }
  try {
    const ended = await program.run(sandbox, onStarted);
    if (cause === 'cancelled') {
      throw cancelled();
    }
    if (!ended.isStarted && cause === 'timeout') {
      throw new BridgeError('SESSION_START_TIMEOUT', `the sandbox did not start within ${START_TIMEOUT_MS / 1000} s`, {
        hint: 'Try again when the machine is less busy.',
      });
    }
    if (!ended.isStarted) {
      return engine.explainStartFailure(sandbox, ended.exit, ended.engineSaid);
    }
    engine.noteReady?.(sandbox);
    return resultOf(ended, cause === 'timeout', performance.now() - begunAt);
  } finally {
    clock.hold();
    signal?.removeEventListener('abort', onCancel);
    await sandbox.kill();
  }
}

/** The clock of each run: it stands still while a server answers, which has a deadline of its own, or a person is asked. */
const currentClocks = new WeakMap<Job, Countdown>();

function resultOf(ended: ProgramEnd, isLate: boolean, durationMs: number): ProgramResult {
  const exitCode = isLate ? undefined : ended.exitCode;
  const { omittedFiles, stderr, stdout } = ended;
  const { files, bad } = withGoodNames(ended.files);
  return {
    status: isLate ? 'timeout' : exitCode === 0 ? 'success' : 'error',
    exitCode,
    stdout: stdout.text(),
    stderr: withNotes(stderr.text(), [
      [`the limit is ${FILES_LIMIT}`, omittedFiles],
      ['the names are not those of files in the working directory', bad],
    ]),
    droppedBytes: stdout.droppedBytes + stderr.droppedBytes,
    durationMs: Math.round(durationMs),
    files,
  };
}

const MAX_NAMED_FILES = 10;

const MAX_NAME_CHARS = 200;
const FILES_LIMIT = `${MAX_OUTPUT_FILES_BYTES / 1024 / 1024} MiB and ${MAX_FILES.toLocaleString('en-US')} files`;

/** The text, with a line for each reason for which files are not returned. */
function withNotes(text: string, omitted: readonly (readonly [reason: string, names: readonly string[]])[]): string {
  return omitted.reduce((noted, [reason, names]) => {
    if (names.length === 0) {
      return noted;
    }
    const start = noted === '' || noted.endsWith('\n') ? noted : `${noted}\n`;
    const more = names.length - MAX_NAMED_FILES;
    const shown = names
      .slice(0, MAX_NAMED_FILES)
      .map((name) => escapeControls(name.slice(0, MAX_NAME_CHARS).toWellFormed()));
    return `${start}[not returned, because ${reason}: ${shown.join(', ')}${more > 0 ? ` and ${more} more` : ''}]\n`;
  }, text);
}

function timeoutOf({ language, request }: Job, { defaultTimeoutMs, maxTimeoutMs }: RunOptions): number {
  return Math.min(request.timeoutMs ?? language.timeoutMs ?? defaultTimeoutMs, maxTimeoutMs);
}

async function prepareProgram(
  job: Job,
  options: RunOptions,
): Promise<{ readonly program: RunnableProgram; readonly sandbox: ProgramSandbox }> {
  const { language } = job;
  const source = options.engine.programs;
  const interpreter = source === 'own' ? interpreterOf(language) : undefined;
  if (source === undefined || (source === 'own' && interpreter === undefined)) {
    throw new BridgeError('ENGINE_UNAVAILABLE', `${language.name} does not run on the engine ${options.engine.name}`, {
      hint: 'Install Podman or Docker, or choose an installed one with MCP_BRIDGE_RUNTIME.',
      data: { engine: options.engine.name, retryNow: false },
    });
  }
  const found = source === 'machine' ? await findOnMachine(language, options.env) : undefined;
  return {
    program: await programOf(job, options, found?.program),
    sandbox: {
      interpreter,
      image: source === 'images' ? language.image : undefined,
      binds: found?.binds,
      limits: limitsOfLanguage(language, options.limits),
      canExecuteFiles: language.canExecuteFiles,
      hasRunner: language.runner === 'node',
    },
  };
}

async function programOf(job: Job, options: RunOptions, machineProgram: string | undefined): Promise<RunnableProgram> {
  const { entry, files, language, request } = job;
  const { args, stdin, wantsFiles } = request;
  if (language.runner === 'shell' && options.engine.programs !== 'own') {
    const command = [...commandOf(language, entry, files, machineProgram), ...args];
    return shellProgram({ language, command, files, stdin, wantsFiles });
  }
  const { callTool, servers = [] } = options;
  return runnerProgram({
    language,
    command: [machineProgram ?? 'node', ...(await nodeArguments())],
    entry,
    files,
    args,
    stdin,
    wantsFiles,
    servers,
    callTool: callTool && ((call, ended) => withHeldClock(job, () => callTool(call, ended))),
  });
}

async function withHeldClock<Value>(job: Job, work: () => Promise<Value>): Promise<Value> {
  const release = currentClocks.get(job)?.hold();
  try {
    return await work();
  } finally {
    release?.();
  }
}

/** The command with the entry file in its place. `go run` takes all files of a package, or the folder of a module. */
export function commandOf(
  { command, name, extensions }: Pick<Language, 'command' | 'extensions' | 'name'>,
  entry: string,
  files: readonly Pick<ProgramFile, 'name'>[],
  machineProgram?: string,
): string[] {
  const names = files.map((file) => file.name);
  const beside = names.filter(
    (each) =>
      each !== entry &&
      !each.includes('/') &&
      !each.endsWith('_test.go') &&
      extensions.some((extension) => each.endsWith(extension)),
  );
  const ofGo = names.includes('go.mod') ? ['.'] : [entry, ...beside];
  const filled = command.flatMap((part) =>
    part === '{file}' ? (name === 'go' ? ofGo : [entry]) : [part.replaceAll('{file}', entry)],
  );
  return machineProgram === undefined ? filled : [machineProgram, ...filled.slice(1)];
}

function limitsOfLanguage({ memoryBytes, pids, workspaceBytes }: Language, limits: SandboxLimits): SandboxLimits {
  return {
    ...limits,
    ...(memoryBytes !== undefined && { memoryBytes }),
    ...(pids !== undefined && { pids }),
    // Compilers keep what they make in /tmp.
    ...(workspaceBytes !== undefined && { workspaceBytes, tmpBytes: Math.max(limits.tmpBytes, workspaceBytes) }),
  };
}

function cancelled(): BridgeError {
  return new BridgeError('CALL_CANCELLED', 'the program was ended, because its call was cancelled', {
    hint: 'Run it again if you still need it.',
  });
}

function checkCancelled(signal: CancelSignal | undefined): void {
  if (signal?.aborted === true) {
    throw cancelled();
  }
}

async function unlessCancelled<Value>(work: Promise<Value>, signal: CancelSignal | undefined): Promise<Value> {
  try {
    return await unlessAborted(work, signal);
  } catch (error) {
    checkCancelled(signal);
    throw error;
  }
}
