/** Sets of packages as things that are listed and removed. Only a sandbox sees the store, so both take as long as one starts. */
import { BridgeError } from '../../core/base/errors.ts';
import type { Logger } from '../../core/base/log.ts';
import { detectEngine } from '../../edges/engines/detect.ts';
import { engineOptions } from '../../edges/settings/engine-options.ts';
import type { Settings } from '../../edges/settings/settings.ts';
import type { StoredThings } from '../../edges/terminal/stored-things.ts';
import type { BuilderOptions } from './build.ts';
import { readBuilderProgram } from './builder-program.ts';
import { createPackageLocks } from './locks.ts';
import { knownSets } from './set-list.ts';
import { listStore, removeSets } from './store.ts';

const MAX_NAMED = 6;
const IN_USE = 'A session uses it.';

export function storedPackages(settings: Settings, logger: Logger): StoredThings {
  const locks = createPackageLocks(settings.stateDir);
  const builder = async (): Promise<BuilderOptions> => ({
    // The store may hold something even if sessions may not install anything now.
    engine: detectEngine(
      engineOptions({ ...settings, packages: settings.packages === 'off' ? 'common' : settings.packages }, logger),
    ),
    program: await readBuilderProgram(),
  });
  return {
    async list() {
      const { sets } = await listStore(await builder());
      return knownSets(sets, await locks.all()).map(({ bytes, id, in_use: isInUse, packages, python, usedAt }) => {
        const names = packages.map(({ name, version }) => `${name} ${version}`);
        const more = names.length > MAX_NAMED ? ` and ${names.length - MAX_NAMED} more` : '';
        return {
          id,
          name: `${names.slice(0, MAX_NAMED).join(', ')}${more}`,
          bytes,
          at: usedAt,
          detail: `for Python ${python}, set ${id.slice(0, 12)}`,
          ...(isInUse && { whyKept: IN_USE }),
        };
      });
    },
    async remove(id) {
      const options = await builder();
      if ((await listStore(options)).sets.every((set) => set.id !== id)) {
        return false;
      }
      const { sets } = await removeSets([id], options);
      if (!sets.includes(id)) {
        throw new BridgeError('CALL_REFUSED', 'a session uses these packages', {
          hint: 'Remove them when it has ended.',
        });
      }
      await locks.forget(new Set(sets));
      return true;
    },
  };
}
