/**
 * The environment of the engine's command: an allowlist, so the command cannot pass secrets from the user's shell to a container.
 * Only pulls get the proxy settings.
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
  // Where the engines find ssh keys for remote hosts, registry logins and rootless storage.
  'SSH_AUTH_SOCK',
  'REGISTRY_AUTH_FILE',
  'STORAGE_DRIVER',
  'STORAGE_OPTS',
  // Rootless podman uses it to get a cgroup from the user's systemd. Without it, limits have no effect.
  'DBUS_SESSION_BUS_ADDRESS',
  // Programs on Windows need these to find their files.
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

/** The variables of `env` that the engine's command gets. `forPull` adds proxies and certificate stores. */
export function clientEnvironment(env: Environment, forPull = false): Record<string, string> {
  const allowed: Record<string, string> = {};
  for (const [name, value] of Object.entries(env)) {
    if (value !== undefined && isAllowed(name.toUpperCase(), forPull)) {
      allowed[name] = value;
    }
  }
  return allowed;
}

/** Whether the engine is on another machine, or may be: a docker context or a podman connection does not show that. */
export function isOverNetwork(env: Environment): boolean {
  const addresses = [env['CONTAINER_HOST'], env['DOCKER_HOST']];
  return (
    addresses.some((address) => /^(ssh|tcp|https?):/.test(address ?? '')) ||
    Boolean(env['CONTAINER_CONNECTION']) ||
    Boolean(env['DOCKER_CONTEXT'])
  );
}

/** An address for logs and people, without the password before `@`. */
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
