/** The authority whose certificates sandboxes trust, opened once for all bridges of a process. */
import { join } from 'node:path';
import { CappedMap } from '../../core/base/capped-map.ts';
import type { EgressAuthority } from '../../edges/egress-proxy/authority.ts';

/** A process has one; tests have several. */
const MAX_FOLDERS = 16;
/** By state directory. */
const authorities = new CappedMap<string, Promise<EgressAuthority>>(MAX_FOLDERS);

/** Loads it once. Rejects if it cannot be read or made; the next call then tries again. */
export function openEgressAuthority(stateDir: string): Promise<EgressAuthority> {
  const known = authorities.get(stateDir);
  if (known !== undefined) {
    return known;
  }
  const opened = import('../../edges/egress-proxy/authority.ts').then(({ openAuthority }) =>
    openAuthority(join(stateDir, '.egress')),
  );
  authorities.set(stateDir, opened);
  opened.catch(() => authorities.delete(stateDir));
  return opened;
}
