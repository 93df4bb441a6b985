/** A bridge that is made when it is first needed: `initialize` and `tools/list` answer before any of it is loaded. */
import type { Bridge } from './cell-runner.ts';

/** A bridge around `create`, which is called at most once at a time; after a failure the next use tries again. */
export function createLazyBridge(create: () => Promise<Bridge>): Bridge {
  let created: Promise<Bridge> | undefined;
  let isClosed = false;

  function get(): Promise<Bridge> {
    if (isClosed) {
      return Promise.reject(new Error('The bridge is shutting down.'));
    }
    created ??= create().catch((error: unknown) => {
      created = undefined;
      throw error;
    });
    return created;
  }

  return {
    runCell: async (request) => (await get()).runCell(request),
    knownServers: async () => (await get()).knownServers(),
    whyDisabled: async (name) => (await get()).whyDisabled?.(name),
    serverFileProblems: async () => (await (await get()).serverFileProblems?.()) ?? [],
    describeEngine: async () => (await created?.catch(() => undefined))?.describeEngine(),
    preload: async () => (await get()).preload(),
    async close() {
      isClosed = true;
      // A bridge that could not be made has nothing to close.
      const bridge = await created?.catch(() => undefined);
      await bridge?.close();
    },
  };
}
