/** `node:path` for the paths of the sandbox, and where relative paths start. */
import path from 'path-browserify';

export const WORKSPACE = '/workspace';

const { resolve } = path;

export const guestPath = Object.assign(path, { resolve: (...paths: string[]) => resolve(WORKSPACE, ...paths) });
