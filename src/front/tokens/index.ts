/** Tokens with which clients come over HTTP, and the principals that they belong to. */
import type { Command } from '../../edges/terminal/command.ts';
import { TOKENS } from './command.ts';

export { createIdentify } from './identify.ts';
export { TokenFile } from './token-file.ts';

export const tokensCommand: Command<typeof TOKENS> = {
  table: TOKENS,
  async run(line, host) {
    const { manageTokens } = await import('./run.ts');
    return manageTokens(line, { ...host, ...(await host.loadContext()) });
  },
};
