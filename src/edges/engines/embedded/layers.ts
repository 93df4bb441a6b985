/**
 * Chooses the sandbox of the operating system in which the child runs. Each layer is tried before the first start, with the command
 * line of a real start but `node --version` as the program. Layers that fail are recorded with the reason.
 */

import { realpathSync } from 'node:fs';
import { BridgeError, messageOf } from '../../../core/base/errors.ts';
import { type CommandResult, runEngineCommand } from '../client.ts';
import type { Environment } from '../client-env.ts';
import { findExecutable, findSetpriv } from '../executable.ts';
import { systemCallFilter } from '../filter.ts';
import { findRestriction, readNamespaceSettings } from '../namespace-settings.ts';
import { buildBubblewrapLayer } from './bubblewrap-layer.ts';
import { type HostMachine, LAYER_NAMES, type LayerName, type LayerRefusal, type Surroundings } from './layer.ts';
import { buildSeatbeltLayer } from './seatbelt-layer.ts';
import { buildUnshareLayer } from './unshare-layer.ts';

/**
 * Long enough that a slow machine does not lose the layer, and short enough that a probe that hangs does not block the session. A
 * probe takes 5 to 25 ms, and 250 ms on a machine with six times more work than processors (measured).
 */
const PROBE_LIMIT_MS = 10_000;
const PLATFORMS: Readonly<Record<LayerName, NodeJS.Platform>> = {
  bubblewrap: 'linux',
  unshare: 'linux',
  seatbelt: 'darwin',
};
const MAX_QUOTED_CHARS = 200;

/** Describes this machine and this Node; takes 4 ms (measured). Throws `ENGINE_UNAVAILABLE` if the Node binary no longer exists. */
export function readMachine(folder: string, env: Environment): HostMachine {
  return {
    platform: process.platform,
    arch: process.arch,
    env,
    node: findNode(),
    folder: folder.replace(/[\\/]$/, ''),
    sharedObjects: process.platform === 'linux' ? readSharedObjects() : [],
  };
}

/** The strongest layer that works here, except those in `refused`. Adds the layers that do not work to `refused`. */
export async function chooseSurroundings(machine: HostMachine, refused: LayerRefusal[]): Promise<Surroundings> {
  for (const layer of LAYER_NAMES.filter((name) => PLATFORMS[name] === machine.platform)) {
    if (!refused.some((refusal) => refusal.layer === layer)) {
      const built = buildLayer(layer, machine);
      const reason = typeof built === 'string' ? built : await whyNot(built);
      if (typeof built !== 'string' && reason === undefined) {
        return built;
      }
      refused.push({ layer, reason: reason ?? '' });
    }
  }
  return plainSurroundings(machine);
}

/** The child as an ordinary process. */
function plainSurroundings({ folder, node }: HostMachine): Surroundings {
  return {
    description: 'without an operating-system sandbox around it',
    folder,
    launch: (nodeArguments) => ({ executable: node, arguments: nodeArguments }),
  };
}

/** The layer, or why this machine does not have it. */
function buildLayer(layer: LayerName, machine: HostMachine): Surroundings | string {
  const command = (name: string): string | undefined => findExecutable(name, machine.env);
  switch (layer) {
    case 'bubblewrap': {
      const bwrap = command('bwrap');
      return bwrap === undefined
        ? 'bwrap is not on PATH'
        : buildBubblewrapLayer(machine, bwrap, systemCallFilter(machine.arch));
    }
    case 'unshare': {
      const unshare = command('unshare');
      return unshare === undefined
        ? 'unshare is not on PATH'
        : buildUnshareLayer(machine, unshare, findSetpriv(machine.env));
    }
    case 'seatbelt':
      return buildSeatbeltLayer(machine);
  }
}

/** Runs `node --version` in the layer. Returns why that failed, or undefined. */
async function whyNot({ launch }: Surroundings): Promise<string | undefined> {
  const { arguments: argv, executable, input } = launch(['--version']);
  const options = { extraInput: input, timeoutMs: PROBE_LIMIT_MS };
  const result = await runEngineCommand({ executable, env: {} }, argv, options);
  return result.exitCode === 0 ? undefined : explainFailure(result);
}

/** The first line of stderr (the rest is advice, such as to read dmesg), and the kernel setting that may be the reason. */
function explainFailure({ exitCode, isTimedOut, stderr }: CommandResult): string {
  const [line = ''] = stderr.slice(0, MAX_QUOTED_CHARS).trim().split('\n');
  const message = line.replace(/^(?:bwrap|unshare): /, '').replace(/\.$/, '');
  const ending = exitCode === undefined ? 'killed by a signal' : `exit code ${exitCode}`;
  const reason = isTimedOut ? `no answer within ${PROBE_LIMIT_MS / 1_000} s` : message || ending;
  return [reason, findRestriction(readNamespaceSettings()) ?? []].flat().join(', and ');
}

/** The path of this Node, with links resolved. Throws `ENGINE_UNAVAILABLE` if it does not exist. */
function findNode(): string {
  try {
    return realpathSync(process.execPath);
  } catch (error) {
    throw new BridgeError('ENGINE_UNAVAILABLE', `the embedded engine cannot find its Node: ${messageOf(error)}`, {
      cause: error,
      data: { engine: 'embedded', retryNow: false },
      hint: 'If Node was updated, restart the bridge. On Linux, check that /proc is mounted.',
    });
  }
}

/** From Node's own report, without the network part, which takes long. */
function readSharedObjects(): string[] {
  const report = process.report as typeof process.report & { excludeNetwork?: boolean };
  const before = report.excludeNetwork;
  report.excludeNetwork = true;
  const { sharedObjects } = report.getReport() as unknown as { sharedObjects: string[] };
  report.excludeNetwork = before === true;
  return sharedObjects.filter((path) => path.startsWith('/') && path !== process.execPath);
}
