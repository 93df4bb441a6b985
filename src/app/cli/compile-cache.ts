/**
 * Node's compile cache: compiled code of this program, so that a start need not compile it again. It is in the state directory,
 * which only its user can write to: whoever writes to the cache decides what the bridge runs. This is the first code that runs,
 * so it imports nothing of the program.
 */
import { existsSync } from 'node:fs';
import * as nodeModule from 'node:module';
import { userInfo } from 'node:os';
import { isAbsolute, join, resolve } from 'node:path';

/** Node 22.1 added it; `@types/node` is of the oldest supported version. */
interface CompileCache {
  readonly enableCompileCache?: (folder: string) => unknown;
}

/**
 * Turns the cache on if Node has one. It reports a folder that it cannot use in its result, and does without a cache. Nothing
 * is written for a user whose bridge has kept nothing yet: clients start bridges and discard them.
 */
export function useCompileCache(env: NodeJS.ProcessEnv = process.env): void {
  const { enableCompileCache } = nodeModule as CompileCache;
  const folder = enableCompileCache === undefined ? undefined : compileCacheFolder(env);
  if (folder !== undefined) {
    enableCompileCache?.(folder);
  }
}

/** A folder in the state directory; undefined if the bridge has no caches there yet. */
export function compileCacheFolder(env: NodeJS.ProcessEnv): string | undefined {
  try {
    const caches = join(stateFolder(env), '.cache');
    return existsSync(caches) ? join(caches, 'compiled') : undefined;
  } catch {
    // No home folder, or no working directory: the settings report it.
    return undefined;
  }
}

/** As `loadSettings` finds it. Throws if there is none. */
function stateFolder(env: NodeJS.ProcessEnv): string {
  const given = env['MCP_BRIDGE_STATE_DIR']?.trim() || '~/MCPs';
  return resolve(/^~(?=$|[/\\])/.test(given) ? join(home(env), given.slice(1)) : given);
}

function home(env: NodeJS.ProcessEnv): string {
  const folder = env[process.platform === 'win32' ? 'USERPROFILE' : 'HOME'] || userInfo().homedir;
  if (!isAbsolute(folder)) {
    throw new Error('the home folder is not an absolute path');
  }
  return folder;
}
