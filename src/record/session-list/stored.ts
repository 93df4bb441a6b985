/** Saved sessions as things that are listed and removed. */
import { createHash } from 'node:crypto';
import type { Logger } from '../../core/base/log.ts';
import { counted } from '../../core/base/units.ts';
import type { StoredThings } from '../../edges/terminal/stored-things.ts';
import { savedSessions, whileClaimed } from './saved.ts';

/** @param folder the state directory, or that of a principal. */
export function storedCheckpoints(folder: string, logger: Logger): StoredThings {
  const all = async () => {
    const found = await savedSessions(folder, logger);
    return found.map((saved) => ({ ...saved, id: idOf([saved.folder, saved.client, saved.session]) }));
  };
  return {
    async list() {
      return (await all()).map(
        ({ bytes, client, files, folder: project, heldBy, id, savedAt, session, variables }) => ({
          id,
          name: session,
          bytes,
          at: new Date(savedAt),
          detail: `${counted(variables, 'variable')} and ${counted(files, 'file')} of ${client} in ${project}`,
          ...(heldBy !== null && { whyKept: `Bridge ${heldBy} has this session and would save it again.` }),
        }),
      );
    },
    async remove(id) {
      const found = (await all()).find((saved) => saved.id === id);
      if (found === undefined) {
        return false;
      }
      const { session, store } = found;
      await whileClaimed(store, session, () => store.removeAll(session));
      return true;
    },
  };
}

/** Names and paths may contain anything. */
function idOf(parts: readonly string[]): string {
  return createHash('sha256').update(JSON.stringify(parts)).digest('hex').slice(0, 32);
}
