/** The command `image`. */
import type { Command } from '../terminal/command.ts';
import { defineImage, type ImageCommand } from './command-line.ts';

export const imageCommand: Command<ImageCommand> = {
  names: ['image'],
  defaultActions: { image: 'list' },
  define: defineImage,
  async run(line, host) {
    const { image } = await import('./run.ts');
    return image(line, { ...host, ...(await host.loadContext()) });
  },
};
