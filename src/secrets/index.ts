/** The secrets of server entries: read from files and commands when a server starts, and masked wherever text leaves the host. */
export { createKnownSecrets, createSecretMask } from './known-secrets.ts';
