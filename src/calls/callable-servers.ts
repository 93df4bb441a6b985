/** Which servers code may call: those loaded in its session, or, where the operator allows it, every configured one. */
import type { CatalogServer } from '../catalog/known.ts';
import type { ServerDirectory } from '../directory/server-directory.ts';
import type { CallContext } from '../session/dispatch.ts';

/** The server that a call names. Rejects as `ServerDirectory.findLoaded`. */
export type FindCallable = (wanted: string, context: CallContext) => Promise<CatalogServer>;

/** With `autoload` a server that is not loaded is loaded by its first call, which the answer of the cell tells. */
export function createFindCallable(directory: ServerDirectory, autoload: boolean): FindCallable {
  return async (wanted, { loaded, load }) => {
    if (!autoload) {
      return directory.findLoaded(wanted, loaded);
    }
    const server = await directory.find(wanted);
    load?.(server.name);
    return server;
  };
}
