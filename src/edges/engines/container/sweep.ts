/**
 * Lists and removes our containers on one engine: those left by bridges that are gone, or one by name. Containers of another live
 * bridge are never touched.
 */
import { setTimeout } from 'node:timers/promises';
import { isOwnerGone } from '../../../core/base/owner.ts';
import type { EngineName } from '../../../core/session/engine.ts';
import { type CommandResult, type EngineCommand, runEngineCommand } from '../client.ts';
import { INSTANCE_LABEL, readLabels, type SandboxLabels } from './labels.ts';

export interface ListedContainer {
  readonly id: string;
  readonly isRunning: boolean;
  readonly labels: SandboxLabels;
}

/** How long a short command may take. A busy machine needs seconds. If the engine hangs, the next sweep tries again. */
const COMMAND_TIMEOUT_MS = 5_000;
/** Attempts to kill, remove and check. One was nearly always enough (measured); a start or removal in progress needs more. */
const REMOVE_ATTEMPTS = 5;
const RETRY_PAUSE_MS = 300;
/** A sandbox that is stopped and this old is abandoned, whatever machine its owner was on: a start takes only seconds. */
const ABANDONED_AFTER_MS = 60 * 60 * 1000;

/** Containers with our labels, in any state. If the engine fails or does not answer, rejects with its message. */
export async function listContainers(engine: EngineName, command: EngineCommand): Promise<ListedContainer[]> {
  const format = engine === 'podman' ? 'json' : '{{json .}}';
  const result = await ask(command, [
    'ps',
    '--all',
    '--no-trunc',
    `--filter=label=${INSTANCE_LABEL}`,
    `--format=${format}`,
  ]);
  if (result.exitCode !== 0) {
    throw new Error(describeFailure(result));
  }
  return parseListing(result.stdout);
}

/** podman prints one JSON array with label objects, docker one object per line with labels as `a=b,c=d`. */
export function parseListing(text: string): ListedContainer[] {
  const entries = text.startsWith('[')
    ? (JSON.parse(text) as unknown[])
    : text
        .split('\n')
        .filter((line) => line !== '')
        .map((line) => JSON.parse(line) as unknown);
  return entries.flatMap((entry) => {
    const { Id, ID, State, Labels } = (entry ?? {}) as { Id?: string; ID?: string; State?: string; Labels?: unknown };
    const id = Id ?? ID;
    const labels = readLabels(labelsOf(Labels));
    return id === undefined || labels === undefined ? [] : [{ id, isRunning: State === 'running', labels }];
  });
}

/** Whether the owner of `container` is certainly gone. */
export function isOrphan(container: ListedContainer, now: Date): boolean {
  const ageMs = now.getTime() - container.labels.createdAt.getTime();
  return isOwnerGone(container.labels.owner) || (!container.isRunning && ageMs > ABANDONED_AFTER_MS);
}

/**
 * Removes a container by id or name, in any state. Resolves if there is none. Rejects with the engine's message if the container
 * still exists after all attempts, or as soon as the engine does not answer.
 */
export async function removeContainer(command: EngineCommand, id: string, attempts = REMOVE_ATTEMPTS): Promise<void> {
  // Killed first: `podman rm -f` in state "Stopping" deletes the record but leaves the process (4.3.1).
  await ask(command, ['kill', '--signal=KILL', id]);
  const removed = await ask(command, ['rm', '--force', id]);
  // Checked, because `docker rm --force` reports success while `--rm` is still removing the container.
  const found = await ask(command, ['container', 'inspect', id]);
  if (found.exitCode !== 0 && /no such (container|object)/i.test(found.stderr)) {
    return;
  }
  if (attempts <= 1) {
    throw new Error(describeFailure(removed));
  }
  await setTimeout(RETRY_PAUSE_MS);
  await removeContainer(command, id, attempts - 1);
}

/** Rejects if there is no answer in time. */
async function ask(command: EngineCommand, commandArguments: readonly string[]): Promise<CommandResult> {
  // A removal may continue when the bridge ends; a question may not.
  const endsWithProcess = commandArguments[0] === 'ps';
  const result = await runEngineCommand(command, commandArguments, { timeoutMs: COMMAND_TIMEOUT_MS, endsWithProcess });
  if (result.isTimedOut) {
    throw new Error(`no answer to "${commandArguments[0]}" within ${COMMAND_TIMEOUT_MS} ms`);
  }
  return result;
}

function labelsOf(labels: unknown): Record<string, string> {
  if (typeof labels === 'string') {
    return Object.fromEntries(
      labels.split(',').map((pair) => [pair.split('=', 1)[0] ?? '', pair.slice(pair.indexOf('=') + 1)]),
    );
  }
  return typeof labels === 'object' && labels !== null ? (labels as Record<string, string>) : {};
}

function describeFailure(result: CommandResult): string {
  return result.stderr.trim() || `exit code ${result.exitCode}`;
}
