/** What the kernel of this machine says of user namespaces, which bubblewrap and `unshare` need when they are not root. */
import { existsSync, readFileSync } from 'node:fs';

/** What decides whether a user may make namespaces; undefined where the kernel has no such switch. */
export interface NamespaceSettings {
  readonly unprivilegedClone?: string | undefined;
  readonly appArmorRestricts?: string | undefined;
  readonly maxNamespaces?: string | undefined;
  /** Whether this process runs in a container itself. */
  readonly isInContainer: boolean;
}

/** The switches of this machine. */
export function readNamespaceSettings(): NamespaceSettings {
  return {
    unprivilegedClone: readWord('/proc/sys/kernel/unprivileged_userns_clone'),
    appArmorRestricts: readWord('/proc/sys/kernel/apparmor_restrict_unprivileged_userns'),
    maxNamespaces: readWord('/proc/sys/user/max_user_namespaces'),
    isInContainer: existsSync('/.dockerenv') || existsSync('/run/.containerenv'),
  };
}

/** The setting that keeps ordinary users from making namespaces, as a clause; undefined where none does. */
export function findRestriction(settings: NamespaceSettings): string | undefined {
  if (settings.maxNamespaces === '0') {
    return 'user.max_user_namespaces is 0';
  }
  if (settings.unprivilegedClone === '0') {
    return 'kernel.unprivileged_userns_clone is 0';
  }
  return settings.appArmorRestricts === '1' ? 'kernel.apparmor_restrict_unprivileged_userns is 1' : undefined;
}

function readWord(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8').trim();
  } catch {
    // This kernel has no such switch.
    return undefined;
  }
}
