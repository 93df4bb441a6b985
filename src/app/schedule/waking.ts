/** What wakes `schedule tick` on this machine: installed with the first schedule, and removed with the last one. */
import { homedir } from 'node:os';
import { COMMAND } from '../../core/base/package.ts';
import { quoteShellWord } from '../../core/base/shell-words.ts';
import { findSystemScheduler } from './system/find.ts';
import type { SystemScheduler } from './system/scheduler.ts';
import { tickCommand } from './wake.ts';

/** Where engines are, as the shell says it. */
const ENGINE_VARIABLES = ['CONTAINER_HOST', 'DOCKER_CONTEXT', 'DOCKER_HOST', 'KUBECONFIG'];
const IS_SECRET = /TOKEN|SECRET|KEY|PASSWORD/i;

/** With the settings of this shell, but for those that may be secret. */
export async function findWaker(stateDir: string): Promise<SystemScheduler | { readonly why: string }> {
  const passed = Object.entries(process.env).filter(
    ([name]) => (name.startsWith('MCP_BRIDGE_') && !IS_SECRET.test(name)) || ENGINE_VARIABLES.includes(name),
  );
  const env = {
    ...Object.fromEntries(passed.map(([name, value]) => [name, value ?? ''])),
    MCP_BRIDGE_STATE_DIR: stateDir,
  };
  return findSystemScheduler({ command: tickCommand(), env, stateDir, home: homedir() });
}

/** Why no run begins by itself, and what to do; undefined if runs do. */
export async function whyNotWoken(stateDir: string): Promise<string | undefined> {
  const found = await findWaker(stateDir);
  if ('why' in found) {
    return `Nothing here looks for what is due: ${found.why}. A bridge that serves HTTP does, or a line in crontab: ${cronLine(stateDir)}`;
  }
  const missing = await found.missingProgram();
  if (missing !== undefined) {
    return `${found.name} looks for what is due with ${missing}, which is gone. Run: ${COMMAND} schedule system install`;
  }
  return (await found.isInstalled())
    ? undefined
    : `Nothing looks for what is due. Run: ${COMMAND} schedule system install`;
}

/** `%` ends the command in crontab(5). */
function cronLine(stateDir: string): string {
  const variables = { MCP_BRIDGE_STATE_DIR: stateDir, PATH: process.env['PATH'] ?? '' };
  const set = Object.entries(variables).map(([name, value]) => `${name}=${quoteShellWord(value)}`);
  const words = tickCommand().map((word) => quoteShellWord(word));
  return `* * * * * ${[...set, ...words].join(' ').replaceAll('%', '\\%')}`;
}
