/** The images of sandboxes: list, pull, build, prune. */
import type { Command } from '../../edges/terminal/command.ts';
import { IMAGE } from './command.ts';

export const imageCommand: Command<typeof IMAGE> = {
  table: IMAGE,
  async run(line, host) {
    const { image } = await import('./run.ts');
    return image(line, { ...host, ...(await host.loadContext()) });
  },
};
