/** The kernel settings that restrict user namespaces, which bubblewrap and `unshare` need if they do not run as root. */
import { existsSync, readFileSync } from 'node:fs';

/** Values are undefined if this kernel does not have the setting. */
export interface NamespaceSettings {
  readonly unprivilegedClone?: string | undefined;
  readonly appArmorRestricts?: string | undefined;
  readonly maxNamespaces?: string | undefined;
  /** Whether the bridge itself runs in a container. */
  readonly isInContainer: boolean;
}

/** The settings of this machine. */
export function readNamespaceSettings(): NamespaceSettings {
  return {
    unprivilegedClone: readWord('/proc/sys/kernel/unprivileged_userns_clone'),
    appArmorRestricts: readWord('/proc/sys/kernel/apparmor_restrict_unprivileged_userns'),
    maxNamespaces: readWord('/proc/sys/user/max_user_namespaces'),
    isInContainer: existsSync('/.dockerenv') || existsSync('/run/.containerenv'),
  };
}

/** The setting that prevents ordinary users from creating namespaces, as a clause; undefined if there is none. */
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
    // This kernel does not have the setting.
    return undefined;
  }
}
