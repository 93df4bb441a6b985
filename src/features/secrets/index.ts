/** The secrets of server entries: stored, or read from files and commands, when a server starts, and masked wherever text leaves the host. */
import type { Command } from '../../edges/terminal/command.ts';
import { SECRETS } from './command.ts';

export { createKnownSecrets, createSecretMask } from './known-secrets.ts';
export { SecretFile } from './secret-file.ts';

export const secretsCommand: Command<typeof SECRETS> = {
  table: SECRETS,
  async run(line, host) {
    const { manageSecrets } = await import('./run.ts');
    return manageSecrets(line, { ...host, ...(await host.loadContext()) });
  },
};
