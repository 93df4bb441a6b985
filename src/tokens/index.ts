/** Tokens with which clients come over HTTP, and the principals that they belong to. */
export { tokensCommand } from './command.ts';
export { createIdentify } from './identify.ts';
export { TokenFile } from './token-file.ts';
