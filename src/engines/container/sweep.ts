/**
 * Finds and removes containers of ours on one engine: those of bridges that are gone, or one by name. Containers of a
 * living second bridge are never touched.
 */
import { setTimeout } from 'node:timers/promises';
import { type CommandResult, type EngineCommand, runEngineCommand } from '../client.ts';
import type { EngineName } from '../engine.ts';
import { isOwnerGone } from '../owner.ts';
import { INSTANCE_LABEL, readLabels, type SandboxLabels } from './labels.ts';

export interface ListedContainer {
  readonly id: string;
  readonly isRunning: boolean;
  readonly labels: SandboxLabels;
}

/** How long one short command may take. A loaded machine needs seconds; a hanging engine is left to the next sweep. */
const COMMAND_TIMEOUT_MS = 5_000;
/** Rounds of kill, remove and look; one sufficed in nearly every measurement; a start or a removal under way needs more. */
const REMOVE_ROUNDS = 5;
const ROUND_PAUSE_MS = 300;
/** A sandbox that is not running and this old belongs to nobody, wherever its owner was: a start takes seconds. */
const ABANDONED_AFTER_MS = 60 * 60 * 1000;

/** Containers with our labels in any state. Rejects with the engine's words when it cannot be asked. */
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

/** Podman prints one JSON array with label objects, docker one object per line with labels as `a=b,c=d`. */
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

/** Whether the owner of `container` is gone for certain at `now`. */
export function isOrphan(container: ListedContainer, now: Date): boolean {
  const ageMs = now.getTime() - container.labels.createdAt.getTime();
  return isOwnerGone(container.labels.owner) || (!container.isRunning && ageMs > ABANDONED_AFTER_MS);
}

/**
 * Removes a container by id or name, whatever its state; that there is none is success. Rejects with the engine's words
 * when it is still there after some rounds, and as soon as the engine does not answer.
 */
export async function removeContainer(command: EngineCommand, id: string, rounds = REMOVE_ROUNDS): Promise<void> {
  // Killed first: `podman rm -f` in state "Stopping" drops the record and leaves the process (4.3.1).
  await ask(command, ['kill', '--signal=KILL', id]);
  const removed = await ask(command, ['rm', '--force', id]);
  // Asked, because `docker rm --force` reports success while `--rm` is still removing the container.
  const found = await ask(command, ['container', 'inspect', id]);
  if (found.exitCode !== 0 && /no such (container|object)/i.test(found.stderr)) {
    return;
  }
  if (rounds <= 1) {
    throw new Error(describeFailure(removed));
  }
  await setTimeout(ROUND_PAUSE_MS);
  await removeContainer(command, id, rounds - 1);
}

/** Rejects when there is no answer in time. */
async function ask(command: EngineCommand, commandArguments: readonly string[]): Promise<CommandResult> {
  const result = await runEngineCommand(command, commandArguments, { timeoutMs: COMMAND_TIMEOUT_MS });
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
