/** Sessions, kernels and connections over fake sandboxes, for unit tests with a fake clock. */
import { vi } from 'vitest';
import type { CellAnswer, CellRequest } from '../../src/core/base/cell.ts';
import { createLogger } from '../../src/core/base/log.ts';
import type { ResultFrame } from '../../src/core/protocol/frames.ts';
import { type ConnectionOptions, KernelConnection } from '../../src/core/session/connection.ts';
import type { SandboxLimits } from '../../src/core/session/engine.ts';
import { startKernel } from '../../src/core/session/kernel.ts';
import { type CellRun, runCell } from '../../src/core/session/run-cell.ts';
import { Session, type SessionOptions } from '../../src/core/session/session.ts';
import { Sessions } from '../../src/core/session/sessions.ts';
import { FakeEngine, FakeSandbox } from './fake-sandbox.ts';

export const LIMITS: SandboxLimits = { memoryBytes: 512 * 1024 * 1024, pids: 64, tmpBytes: 1024, workspaceBytes: 1024 };

/** Runs everything that does not depend on time. Needs the fake clock. */
export async function settle(): Promise<void> {
  await vi.advanceTimersByTimeAsync(0);
}

/** A cell that has reached its kernel. */
export interface BegunCell {
  readonly number: number;
  readonly sandbox: FakeSandbox;
  readonly answer: Promise<CellAnswer>;
  print(text: string): void;
  /** Sends the result, by default a success, and waits for the answer. */
  end(result?: Partial<ResultFrame>): Promise<CellAnswer>;
}

function sessionOptions(engine: FakeEngine, log: string[]): SessionOptions {
  return {
    engine,
    limits: LIMITS,
    sources: { loader: 'loader', modules: new Map([['kernel', Buffer.from('kernel')]]), hash: 'hash' },
    packs: { load: async () => undefined, save: async () => undefined },
    packKey: 'image',
    handleCall: async () => null,
    logger: createLogger('DEBUG', (line) => log.push(line)),
    readManual: async () => () => 'the summary',
    autoload: false,
    idleTimeoutMs: 600_000,
    questionTimeoutMs: 60_000,
    discoverServers: () => [],
    startingServers: () => [],
    savedTools: async () => [],
  };
}

function withDefaults(request: Partial<CellRequest>): CellRequest {
  return { code: 'work()', servers: [], timeoutMs: 10_000, session: 'default', ...request };
}

/** Runs a cell with `run`, and waits until it reaches a kernel. */
async function beginCell(
  engine: FakeEngine,
  run: (request: CellRequest) => Promise<CellAnswer>,
  request: Partial<CellRequest>,
): Promise<BegunCell> {
  const answer = run(withDefaults(request));
  const { sandbox, frame } = await engine.nextCell();
  return {
    number: frame.cell,
    sandbox,
    answer,
    print: (text) => sandbox.send({ type: 'output', cell: frame.cell, stream: 'stdout', text }),
    end(result) {
      sandbox.endCell(frame.cell, result);
      return answer;
    },
  };
}

/** One session over a fake engine. */
export function openSession(options: Partial<ConstructorParameters<typeof Sessions>[0]> = {}) {
  const engine = new FakeEngine();
  const log: string[] = [];
  const session = new Session('default', { ...sessionOptions(engine, log), ...options });
  return {
    engine,
    log,
    session,
    run: (request: Partial<CellRequest> = {}) => session.run(withDefaults(request)),
    begin: (request: Partial<CellRequest> = {}) => beginCell(engine, (cell) => session.run(cell), request),
  };
}

/** All sessions of a bridge over a fake engine. */
export function openSessions(options: Partial<ConstructorParameters<typeof Sessions>[0]> = {}) {
  const engine = new FakeEngine();
  const sessions = new Sessions({ ...sessionOptions(engine, []), ...options });
  const run = async (request: CellRequest): Promise<CellAnswer> => sessions.get(request.session).run(request);
  return {
    engine,
    sessions,
    run: (request: Partial<CellRequest> = {}) => run(withDefaults(request)),
    begin: (request: Partial<CellRequest> = {}) => beginCell(engine, run, request),
  };
}

/** A ready kernel that runs cells without a session. */
export async function openKernel(options: Partial<Parameters<typeof startKernel>[0]> = {}) {
  const engine = new FakeEngine();
  const { readManual, ...needed } = sessionOptions(engine, []);
  const { connection } = await startKernel({
    ...needed,
    session: 'default',
    generation: 1,
    startTimeoutMs: 60_000,
    hello: { saved_tools: [] },
    manual: await readManual(),
    loaded: new Set(),
    load: () => undefined,
    onProgress: () => undefined,
    ...options,
  });
  const sandbox = await engine.nextSandbox();
  return {
    sandbox,
    /** By default, runs cell 1 with a timeout of 10 s. */
    run: (run: Partial<CellRun> = {}) =>
      runCell(connection, {
        frame: { cell: 1, code: 'work()', servers: [] },
        timeoutMs: 10_000,
        questionTimeoutMs: 60_000,
        startingServers: () => [],
        whatRemains: () => 'Its variables and files are gone; the next cell runs in a new session.',
        ...run,
      }),
  };
}

/** A connection to a fake sandbox, whose kernel is not ready yet. */
export function connect(options: Partial<ConnectionOptions> = {}, sandbox: FakeSandbox = new FakeSandbox()) {
  const log: string[] = [];
  const connection = new KernelConnection(sandbox, {
    limits: LIMITS,
    packs: { load: async () => undefined, save: async () => undefined },
    packKey: 'image',
    startTimeoutMs: 60_000,
    logger: createLogger('DEBUG', (line) => log.push(line)),
    session: 'default',
    generation: 1,
    loaded: new Set(),
    load: () => undefined,
    handleCall: async () => null,
    ...options,
  });
  return { connection, sandbox, log };
}
