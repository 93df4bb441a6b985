/** The secrets of server entries: stored, or read from files and commands, when a server starts, and masked wherever text leaves the host. */
export { secretsCommand } from './command.ts';
export { createKnownSecrets, createSecretMask } from './known-secrets.ts';
export { SecretFile } from './secret-file.ts';
