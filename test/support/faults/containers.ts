/** Containers of a bridge, as a person at the machine would list and end them. */
import { PID_LABEL, SESSION_LABEL } from '../../../src/edges/engines/container/labels.ts';
import type { TestEngine } from '../engines.ts';
import { findProcesses } from '../sandbox.ts';
import { ATTACKED } from './call-checks.ts';

/** Names of the containers of one session of a bridge. */
export async function containersOfSession(
  engine: TestEngine,
  bridgePid: number,
  session = ATTACKED,
): Promise<string[]> {
  const filters = [`--filter=label=${PID_LABEL}=${bridgePid}`, `--filter=label=${SESSION_LABEL}=${session}`];
  const { stdout } = await engine.run('ps', '--all', ...filters, '--format={{.Names}}');
  return stdout.split('\n').filter((name) => name !== '');
}

/** Processes of the engine's command that pipe to a container. */
export function clientsOfContainer(name: string): number[] {
  return findProcesses(`--name=${name} `);
}
