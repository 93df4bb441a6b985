/**
 * The environment of the engine's command: named variables and nothing else. The command decides what reaches a
 * container, so secrets of the user's shell are kept away from it. Proxies are given to pulls alone.
 */

export type Environment = Readonly<Record<string, string | undefined>>;

const ALLOWED_NAMES = new Set([
  'PATH',
  'HOME',
  'USER',
  'LOGNAME',
  'LANG',
  'LC_ALL',
  'TMPDIR',
  // Where ssh keys for remote engines, registry logins and rootless storage are found.
  'SSH_AUTH_SOCK',
  'REGISTRY_AUTH_FILE',
  'STORAGE_DRIVER',
  'STORAGE_OPTS',
  // Rootless podman asks the user's systemd for a cgroup through it; without it limits are lost.
  'DBUS_SESSION_BUS_ADDRESS',
  // What programs need on Windows to find their files.
  'APPDATA',
  'COMSPEC',
  'HOMEDRIVE',
  'HOMEPATH',
  'LOCALAPPDATA',
  'PATHEXT',
  'PROGRAMDATA',
  'PROGRAMFILES',
  'SYSTEMDRIVE',
  'SYSTEMROOT',
  'TEMP',
  'TMP',
  'USERNAME',
  'USERPROFILE',
  'WINDIR',
]);
const ALLOWED_PREFIXES = ['XDG_', 'CONTAINER_', 'CONTAINERS_', 'DOCKER_', 'PODMAN_'];
const PULL_NAMES = new Set(['HTTP_PROXY', 'HTTPS_PROXY', 'ALL_PROXY', 'NO_PROXY', 'SSL_CERT_FILE', 'SSL_CERT_DIR']);

/** Those variables of `env` that the engine's command may see; `forPull` adds proxies and certificate stores. */
export function clientEnvironment(env: Environment, forPull = false): Record<string, string> {
  const allowed: Record<string, string> = {};
  for (const [name, value] of Object.entries(env)) {
    if (value !== undefined && isAllowed(name.toUpperCase(), forPull)) {
      allowed[name] = value;
    }
  }
  return allowed;
}

/** An address for logs and people: what stands before `@`, except a user name, is left out. */
export function withoutPassword(address: string): string {
  return address.replace(/:\/\/([^/:@]*):[^/@]*@/, '://$1@');
}

function isAllowed(name: string, forPull: boolean): boolean {
  return (
    ALLOWED_NAMES.has(name) ||
    ALLOWED_PREFIXES.some((prefix) => name.startsWith(prefix)) ||
    (forPull && PULL_NAMES.has(name))
  );
}
