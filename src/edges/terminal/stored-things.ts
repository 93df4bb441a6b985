/** The contract of things that features store, for commands that list and remove them whatever they are. */
import { relative } from 'node:path';
import { type StateFolder, stateFolders } from '../../core/state/principals.ts';

export interface StoredThing {
  /** Names it when it is removed. */
  readonly id: string;
  readonly name: string;
  readonly bytes: number;
  /** When it was stored or used last. */
  readonly at?: Date | undefined;
  /** More about it, on one line. */
  readonly detail?: string | undefined;
  readonly mimeType?: string | undefined;
  /** Why it cannot be removed now, in one sentence. */
  readonly whyKept?: string | undefined;
}

export interface StoredThings {
  /** Rejects with a `BridgeError` if what is stored is not known. */
  list(): Promise<readonly StoredThing[]>;
  /** Resolves with whether there was one. Rejects with a `BridgeError` if it is in use. */
  remove(id: string): Promise<boolean>;
}

/** The things of the user, of all principals over HTTP and of the profiles that clients choose, which have folders of their own. */
export function inEveryFolder(
  stateDir: string,
  open: (folder: string) => StoredThings,
): StoredThings & { readonly folderOf: (id: string) => Promise<{ folder: string; id: string } | undefined> } {
  const folders = async () =>
    (await stateFolders(stateDir)).map((folder) => ({ ...folder, key: relative(stateDir, folder.path) }));
  const find = async (id: string) => {
    const [, key = '', own = ''] = /^([^:]*):(.*)$/s.exec(id) ?? [];
    const found = (await folders()).find((each) => each.key === key);
    return found && { folder: found.path, id: own };
  };
  return {
    folderOf: find,
    async list() {
      const lists = (await folders()).map(async ({ key, ...folder }) => {
        const whose = ownersOf(folder);
        return (await open(folder.path).list()).map((thing) => ({
          ...thing,
          id: `${key}:${thing.id}`,
          detail: [thing.detail, ...whose].filter((part) => part !== undefined && part !== '').join(', '),
        }));
      });
      return (await Promise.all(lists)).flat();
    },
    async remove(id) {
      const found = await find(id);
      return found === undefined ? false : open(found.folder).remove(found.id);
    },
  };
}

function ownersOf({ principal, profile }: StateFolder): string[] {
  return [
    ...(principal === undefined ? [] : [`of the principal ${principal.slice('of-'.length)}`]),
    ...(profile === undefined ? [] : [`of the profile ${profile}`]),
  ];
}
