/** A page in the browser that shows what agents do, and its server. */
import type { Command } from '../../edges/terminal/command.ts';
import { UI } from './command.ts';
import type { UiParts } from './parts.ts';

export type { UiParts } from './parts.ts';

/** @param loadParts what it shows of other features. */
export function uiCommand(loadParts: () => Promise<UiParts>): Command<typeof UI> {
  return {
    table: UI,
    async run(line, host) {
      const { runUi } = await import('./run.ts');
      return runUi(line, await loadParts(), { ...host, ...(await host.loadContext()) });
    },
  };
}
