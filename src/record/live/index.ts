/** What a bridge does now, for programs of the same user on this machine: a local API, and `top`, which shows it. */
import type { Command } from '../../edges/terminal/command.ts';
import { TOP } from './top-command.ts';

export { LiveHub } from './hub.ts';
export { WatchedBridge } from './watched-bridge.ts';

export const topCommand: Command<typeof TOP> = {
  table: TOP,
  async run(line, host) {
    host.endWhenUnread();
    const { top } = await import('./top.ts');
    return top(line, { ...host, ...(await host.loadContext()) });
  },
};
