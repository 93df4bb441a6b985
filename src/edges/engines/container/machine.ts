/**
 * The Podman machine, the virtual machine in which podman runs on macOS and Windows. The bridge starts it if needed, but never
 * changes or stops it, because it belongs to the user and may run other containers.
 */
import { BridgeError } from '../../../core/base/errors.ts';
import type { PrepareProgress } from '../../../core/session/engine.ts';
import { type EngineCommand, runEngineCommand } from '../client.ts';
import type { Environment } from '../client-env.ts';
import { NO_ERROR_OUTPUT, summarizeStderr } from '../failed-process.ts';

export type MachineDecision =
  | { readonly action: 'start'; readonly machine: string }
  | { readonly action: 'refuse'; readonly reason: string };

const LIST_TIMEOUT_MS = 10_000;

/** Whether the podman command is only a client of a service, in a virtual machine or on another host. */
export function isRemote(platform: NodeJS.Platform, env: Environment): boolean {
  return platform !== 'linux' || namesService(env);
}

/** Whether that service runs in a Podman machine on this computer. */
export function hasPodmanMachine(platform: NodeJS.Platform, env: Environment): boolean {
  return platform !== 'linux' && !namesService(env);
}

function namesService(env: Environment): boolean {
  return Boolean(env['CONTAINER_HOST']) || Boolean(env['CONTAINER_CONNECTION']);
}

/** The machine that podman uses, or why there is none. */
export type ChosenMachine =
  | { readonly name: string; readonly isRunning: boolean; readonly isStarting: boolean }
  | { readonly reason: string; readonly isMissing: boolean };

/** Reads `podman machine list --format json`. Chooses the default machine, or the only one. */
export function chooseMachine(listing: string): ChosenMachine {
  let machines: { Name?: string; Default?: boolean; Running?: boolean; Starting?: boolean }[];
  try {
    machines = JSON.parse(listing) as typeof machines;
  } catch {
    return { reason: 'the list of Podman machines could not be read', isMissing: false };
  }
  const machine = machines.find((each) => each.Default === true) ?? (machines.length === 1 ? machines[0] : undefined);
  if (machine?.Name === undefined) {
    const isMissing = machines.length === 0;
    return {
      reason: isMissing ? 'there is no Podman machine' : 'none of the Podman machines is the default',
      isMissing,
    };
  }
  // Older versions mark the default machine with an asterisk.
  const name = machine.Name.replace(/\*$/, '');
  return { name, isRunning: machine.Running === true, isStarting: machine.Starting === true };
}

/** What to do if podman does not answer. */
export function decideMachine(listing: string): MachineDecision {
  const machine = chooseMachine(listing);
  if ('reason' in machine) {
    return { action: 'refuse', reason: machine.reason };
  }
  const { isRunning, isStarting, name } = machine;
  if (isStarting) {
    return { action: 'refuse', reason: `the Podman machine ${name} is still starting` };
  }
  return isRunning
    ? { action: 'refuse', reason: `the Podman machine ${name} is running but does not answer` }
    : { action: 'start', machine: name };
}

/** Starts the default machine. Rejects with `ENGINE_UNAVAILABLE` if it is not stopped or does not start. */
export async function startPodmanMachine(
  command: EngineCommand,
  onProgress: (progress: PrepareProgress) => void,
): Promise<void> {
  const listing = await runEngineCommand(command, ['machine', 'list', '--format', 'json'], {
    timeoutMs: LIST_TIMEOUT_MS,
  });
  const decision = decideMachine(listing.stdout);
  if (decision.action === 'refuse') {
    throw unavailable(
      decision.reason,
      'Check: podman machine list. To create a machine, run: podman machine init --now',
    );
  }
  onProgress({ message: `starting the Podman machine ${decision.machine}` });
  const result = await runEngineCommand(command, ['machine', 'start', decision.machine]);
  if (result.exitCode !== 0 && !/already running/i.test(result.stderr)) {
    throw unavailable(
      `the Podman machine ${decision.machine} did not start: ${summarizeStderr(result.stderr) || NO_ERROR_OUTPUT}`,
      `Run: podman machine start ${decision.machine}`,
    );
  }
}

function unavailable(message: string, hint: string): BridgeError {
  return new BridgeError('ENGINE_UNAVAILABLE', message, { hint, data: { engine: 'podman' } });
}
