/** The accepted tool definitions of each server, and what happens when a server changes them. */
import type { Command } from '../../edges/terminal/command.ts';
import { ACCEPT } from './command.ts';

export { createPinGate } from './gate.ts';
export { createToolPins } from './pinned-tools.ts';
export { createToolPinStore } from './tool-pins.ts';

export const acceptCommand: Command<typeof ACCEPT> = {
  table: ACCEPT,
  async run(line, host) {
    const { acceptTools } = await import('./run.ts');
    return acceptTools(line, { ...host, ...(await host.loadContext()) });
  },
};
