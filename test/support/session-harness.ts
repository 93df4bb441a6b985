/** Sessions on a given engine whose calls the test answers. Every suite about cells starts from it. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { CellAnswer, CellRequest, OutputText } from '../../src/core/base/cell.ts';
import { createLogger, type Logger } from '../../src/core/base/log.ts';
import type { HelloFrame, ServerReference } from '../../src/core/protocol/frames.ts';
import { renderCellError } from '../../src/core/render/cell-error.ts';
import { readKernelSources } from '../../src/core/session/boot.ts';
import { type CodePackStore, createCodePackStore } from '../../src/core/session/code-packs.ts';
import type { HandleCall } from '../../src/core/session/dispatch.ts';
import type { Engine, SandboxLimits } from '../../src/core/session/engine.ts';
import type { SessionOptions } from '../../src/core/session/session.ts';
import { Sessions } from '../../src/core/session/sessions.ts';
import { PATIENCE } from './patience.ts';

export const TEST_LIMITS: SandboxLimits = {
  memoryBytes: 256 * 1024 * 1024,
  pids: 64,
  tmpBytes: 64 * 1024 * 1024,
  workspaceBytes: 128 * 1024 * 1024,
};

/** Includes the start of a sandbox. */
const TIMEOUT_MS = 10_000 * PATIENCE;

export interface Harness {
  /** Runs a cell. By default: 10 s, session `default`, server `fake` loaded. */
  run(code: string, request?: Partial<CellRequest>): Promise<CellAnswer>;
  /** Lines the bridge logged. */
  readonly log: readonly string[];
  close(): Promise<void>;
}

export interface HarnessOptions {
  readonly engine: Engine;
  readonly handleCall?: HandleCall;
  readonly idleTimeoutMs?: number;
  readonly questionTimeoutMs?: number;
  readonly servers?: readonly ServerReference[];
  readonly autoload?: boolean;
  /** Answers the streams of programs; without it, they have none. */
  readonly onEgress?: SessionOptions['onEgress'];
  /** What programs trust, and the variables that stand for credentials. */
  readonly egress?: HelloFrame['egress'];
  /** Called when a code pack is stored; the harness then begins without one. */
  readonly onPack?: (pack: Buffer) => void;
}

/** Of this process, because compiling the standard library again takes longer than most tests. */
const knownPacks = new Map<string, Buffer>();
const sharedPacks: CodePackStore = {
  load: async (key) => knownPacks.get(key),
  async save(key, pack) {
    knownPacks.set(key, pack);
  },
};

/** Answers every `call_tool` with its own arguments. */
export const echoCalls: HandleCall = async ({ method, params }) =>
  method === 'call_tool' ? { content: [], structuredContent: params['arguments'] } : params;

export async function createHarness(options: HarnessOptions): Promise<Harness> {
  const folder = mkdtempSync(join(tmpdir(), 'bridge-harness-'));
  const log: string[] = [];
  const logger: Logger = createLogger('DEBUG', (line) => log.push(line));
  const sessions = new Sessions({
    engine: options.engine,
    limits: TEST_LIMITS,
    sources: await readKernelSources(join(import.meta.dirname, '../../sandbox-runtime/bridge_kernel')),
    packs: options.onPack === undefined ? sharedPacks : reportPacks(folder, logger, options.onPack),
    packKey: 'test',
    handleCall: options.handleCall ?? echoCalls,
    onEgress: options.onEgress,
    egress: options.egress && (async () => options.egress),
    logger,
    readManual: async () => () => 'the summary',
    autoload: options.autoload ?? false,
    idleTimeoutMs: options.idleTimeoutMs ?? 60_000,
    questionTimeoutMs: options.questionTimeoutMs ?? 60_000,
    discoverServers: () => options.servers ?? [{ name: 'fake', alias: 'fake' }],
    startingServers: () => [],
    savedTools: async () => [],
  });
  return {
    log,
    async run(code, request = {}) {
      const whole = { code, servers: ['fake'], timeoutMs: TIMEOUT_MS, session: 'default', ...request };
      return sessions.get(whole.session).run(whole);
    },
    async close() {
      await sessions.close();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

function reportPacks(folder: string, logger: Logger, onPack: (pack: Buffer) => void): CodePackStore {
  const packs = createCodePackStore(join(folder, 'packs'), logger);
  return {
    load: (key) => packs.load(key),
    save(key, pack) {
      onPack(pack);
      return packs.save(key, pack);
    },
  };
}

/** The error of a cell as a client reads it; empty if there is none. */
export function errorText({ error }: Pick<CellAnswer, 'error'>): string {
  return error === undefined ? '' : renderCellError(error);
}

/** A whole stream as one text. Throws if part of it was left out. */
export function textOf(output: OutputText): string {
  if (output.droppedBytes > 0) {
    throw new Error(`${output.droppedBytes} bytes were left out`);
  }
  return output.head + output.tail;
}
