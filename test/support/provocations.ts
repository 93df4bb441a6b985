/** Ways to cause errors without a bridge and a client: the command alone, failing engines, single modules. */

import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { promisify } from 'node:util';
import { Unattended } from '../../src/app/schedule/unattended.ts';
import { CancelSource } from '../../src/core/base/cancel.ts';
import { BridgeError, messageOf, renderError, toBridgeError } from '../../src/core/base/errors.ts';
import { MAX_SESSIONS } from '../../src/core/base/limits.ts';
import { succeeded, type ToolCall } from '../../src/core/calls/contract.ts';
import type { Engine } from '../../src/core/session/engine.ts';
import { prepareInTime } from '../../src/core/session/kernel.ts';
import { CLI, ROOT } from './bridge-client.ts';
import { createLocalPythonEngine } from './local-python.ts';
import { createHarness, errorText } from './session-harness.ts';
import { callText, fixtureServer, startPool } from './upstream.ts';

/** What the command prints to stderr, in a state directory that holds only what `prepare` put there. */
export async function command(
  args: readonly string[],
  env: Readonly<Record<string, string>> = {},
  prepare?: (stateDir: string) => void,
): Promise<string> {
  const stateDir = mkdtempSync(join(tmpdir(), 'bridge-error-'));
  prepare?.(stateDir);
  const ours = { PATH: process.env['PATH'] ?? '', HOME: stateDir, MCP_BRIDGE_STATE_DIR: stateDir };
  try {
    const { stderr } = await promisify(execFile)(process.execPath, [CLI, ...args], { env: { ...ours, ...env } });
    return stderr;
  } catch (error) {
    return String((error as { stderr?: unknown }).stderr);
  } finally {
    rmSync(stateDir, { recursive: true, force: true });
  }
}

/** What the first cell returns on one of `test/fixtures/engines`. */
export async function withEngine(
  fixture: string,
  env: Record<string, string> = {},
  args: string[] = [],
): Promise<string> {
  const fakeState = mkdtempSync(join(tmpdir(), 'bridge-engine-'));
  const path = `${join(ROOT, 'test/fixtures/engines', fixture)}${delimiter}${process.env['PATH']}`;
  const shown = await command(['exec', ...args, '-c', '1'], {
    PATH: path,
    MCP_BRIDGE_RUNTIME: 'podman',
    CONTAINER_FAKE_STATE: fakeState,
    ...env,
  });
  rmSync(fakeState, { recursive: true });
  return shown;
}

/** The text of a rejection. */
export async function refusal(made: Promise<unknown>): Promise<string> {
  return made.then(() => 'nothing was refused', renderCaught);
}

/** What a cell returns that its client cancels. */
export async function cancelledCell(): Promise<string> {
  const harness = await createHarness({ engine: createLocalPythonEngine() });
  const cancel = new AbortController();
  const running = harness.run('import time\ntime.sleep(30)', { signal: cancel.signal });
  cancel.abort();
  const shown = await running.then(errorText, renderCaught);
  await harness.close();
  return shown;
}

/** All cells wait for an engine that is not ready. The first one above the limit is refused. */
export async function tooManySessions(): Promise<string> {
  let giveUp = (): void => undefined;
  const ready = new Promise<never>((_, reject) => {
    giveUp = () => reject(new Error('no engine'));
  });
  const harness = await createHarness({ engine: { prepare: () => ready } as unknown as Engine });
  const busy = Array.from({ length: MAX_SESSIONS }, (_, index) => refusal(harness.run('1', { session: `s${index}` })));
  const shown = await refusal(harness.run('1', { session: 'one more' }));
  giveUp();
  await Promise.all(busy);
  await harness.close();
  return shown;
}

function renderCaught(error: unknown): string {
  return error instanceof BridgeError ? renderError(error) : messageOf(error);
}

/** What a call returns that is cancelled while its server works on it. */
export async function cancelledCall(): Promise<string> {
  const pool = startPool({ slow: fixtureServer('slow') });
  const cancel = new CancelSource();
  await pool.describe('slow');
  const call = pool.callTool({ server: 'slow', tool: 'sleep', arguments: { seconds: 30 }, signal: cancel.signal });
  // A server reads its lines in order, so after this answer it works on the call before.
  await callText(pool, 'slow', 'cancelled');
  cancel.abort();
  const shown = await refusal(call);
  await pool.close();
  return shown;
}

/** Returns what the kernel reports about a line that is not a frame. */
export const BAD_FRAME = `
from bridge_kernel.frames import FrameError, decode_frame
try:
    decode_frame(b'{"type": "hello"}')
except FrameError as error:
    raise RuntimeError(f"{error.code}: {error.message}")`;

const neverReady = { prepare: () => new Promise(() => undefined) } as unknown as Engine;

/** What a cell returns if pulling the image takes longer than the cell waits. */
export function slowPull(): Promise<string> {
  return refusal(prepareInTime(neverReady, () => undefined, 20));
}

/** A call of a run whose process ended after it had sent the same call. */
export async function sentBefore(): Promise<string> {
  const folder = mkdtempSync(join(tmpdir(), 'bridge-run-'));
  const parts = { mask: <Value>(value: Value) => value, calls: [] };
  const nothing = {
    open: async () => [],
    ask: async () => Promise.reject(new Error('asked')),
    forget: async () => undefined,
  };
  const questions = { ...nothing, answer: async () => false, answerTo: async () => undefined };
  const rights = { acceptedAt: '', source: '', tools: [] };
  const open = () =>
    new Unattended({
      schedule: 'morning',
      id: 'a',
      dueText: '07:00',
      folder,
      rights,
      mostCalls: undefined,
      questions,
      stop: () => undefined,
      onAlways: () => undefined,
    }).open(parts);
  const call: ToolCall = {
    server: { name: 'ledger', alias: 'ledger', description: '' },
    tool: { name: 'record', alias: 'record', inputSchema: {} },
    arguments: {},
    context: {
      session: 'default',
      generation: 1,
      cell: 1,
      call: 1,
      loaded: new Set(),
      signal: new AbortController().signal,
    },
  };
  try {
    const { sent: first } = await open();
    await new Promise<void>((resolve) => {
      void first(call, () => {
        resolve();
        return new Promise(() => undefined);
      });
    });
    const { sent: second } = await open();
    const outcome = await second(call, async () => succeeded('sent twice'));
    return outcome.ok ? String(outcome.result) : renderError(toBridgeError(outcome.error));
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
