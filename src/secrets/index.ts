/** The secrets of server entries: read from files and commands when a server starts, masked wherever text leaves the host. */
export { createKnownSecrets } from './known-secrets.ts';
export { createSecretMask } from './secret-mask.ts';
