/** The contract of things that features store, for commands that list and remove them whatever they are. */
import { basename } from 'node:path';
import { principalFolders } from '../state/principals.ts';

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

/** The things of the user and of all principals over HTTP, who have folders of their own. */
export function inEveryFolder(
  stateDir: string,
  open: (folder: string) => StoredThings,
): StoredThings & { readonly folderOf: (id: string) => Promise<{ folder: string; id: string } | undefined> } {
  const folders = async () => [
    { key: '', folder: stateDir },
    ...(await principalFolders(stateDir)).map((folder) => ({ key: basename(folder), folder })),
  ];
  const find = async (id: string) => {
    const [, key = '', own = ''] = /^([^:]*):(.*)$/s.exec(id) ?? [];
    const found = (await folders()).find((each) => each.key === key);
    return found && { folder: found.folder, id: own };
  };
  return {
    folderOf: find,
    async list() {
      const lists = (await folders()).map(async ({ folder, key }) => {
        const whose = key === '' ? [] : [`of the principal ${key.slice('of-'.length)}`];
        return (await open(folder).list()).map((thing) => ({
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
