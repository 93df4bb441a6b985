/** Artifacts as things that are listed and removed. */
import type { StoredThings } from '../../edges/terminal/stored-things.ts';
import { createArtifacts } from './artifacts.ts';
import { mimeTypeOf } from './resources.ts';

/** Their ids are `SESSION/NAME`. */
export function storedArtifacts(folder: string): StoredThings {
  const artifacts = createArtifacts(folder);
  return {
    async list() {
      return (await artifacts.list()).map(({ modified, name, session, sizeBytes }) => ({
        id: `${session}/${name}`,
        name,
        bytes: sizeBytes,
        at: modified,
        detail: `saved in session ${session}`,
        mimeType: mimeTypeOf(name),
      }));
    },
    async remove(id) {
      const [session, name] = partsOf(id);
      return artifacts.remove(session, name);
    },
  };
}

/** The content of an artifact, to be closed; undefined if there is none. */
export async function readStoredArtifact(folder: string, id: string) {
  const artifacts = createArtifacts(folder);
  const [session, name] = partsOf(id);
  const found = (await artifacts.list()).find((each) => each.session === session && each.name === name);
  if (found === undefined) {
    return undefined;
  }
  return { name, mimeType: mimeTypeOf(name), ...(await artifacts.open(session, name)) };
}

function partsOf(id: string): readonly [session: string, name: string] {
  const at = id.indexOf('/');
  return [id.slice(0, Math.max(0, at)), id.slice(at + 1)];
}
