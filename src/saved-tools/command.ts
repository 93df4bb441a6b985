/** The command `tools`. */
import type { Command } from '../terminal/command.ts';
import { defineTools, type ToolsCommand } from './command-line.ts';

export const toolsCommand: Command<ToolsCommand> = {
  names: ['tools'],
  defaultActions: { tools: 'list' },
  define: defineTools,
  async run(line, host) {
    if (line.action === 'list' || line.action === 'show' || line.action === 'diff') {
      host.endWhenUnread();
    }
    const { tools } = await import('./run.ts');
    return tools(line, { ...host, ...(await host.loadContext()) });
  },
};
