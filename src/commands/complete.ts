/** `complete`: the candidates for a shell that asks, one in a line. Starts nothing; says nothing when something is wrong. */

import { silentLogger } from '../log.ts';
import { type CompleteCommand, candidatesFor } from './cli/completion.ts';
import { createProgram } from './cli/program.ts';
import { createConfiguredServers } from './configured-servers.ts';
import type { CommandContext } from './context.ts';

export interface CompleteOptions extends CommandContext {
  readonly writeOut: (text: string) => void;
}

/** Resolves with 0. */
export async function complete({ words }: CompleteCommand, options: CompleteOptions): Promise<number> {
  const { settings, writeOut } = options;
  const configured = await createConfiguredServers(settings, silentLogger);
  const servers = configured.refresh().map(({ name }) => name);
  const program = createProgram({ settle: () => undefined, show: () => undefined });
  writeOut(
    candidatesFor(program, words, servers)
      .map((word) => `${word}\n`)
      .join(''),
  );
  await configured.pool.close();
  await configured.known.close();
  return 0;
}
