/**
 * The environment of an MCP server: named safe variables of the bridge, the entry's own `env`, and nothing else, so that
 * tokens in the user's shell do not reach every server. Anything else that a server needs must be in its entry.
 */
import { ALLOW_NESTED_VARIABLE, bridgeDepth, DEPTH_VARIABLE } from '../../core/base/bridge-depth.ts';
import type { ProcessDefinition } from '../../core/base/server-definition.ts';
import { containerProgram } from './explain-docker.ts';

/** The user, the locations of programs and files, and the language. */
const BASIC = 'PATH HOME USER LOGNAME SHELL TERM LANG LANGUAGE TZ TMPDIR TEMP TMP';
/** Without these, Windows programs do not start or do not find their files. */
const WINDOWS =
  'APPDATA LOCALAPPDATA PROGRAMDATA PROGRAMFILES PROGRAMFILES(X86) PROGRAMW6432 COMMONPROGRAMFILES COMSPEC PATHEXT ' +
  'SYSTEMROOT SYSTEMDRIVE WINDIR USERPROFILE USERNAME USERDOMAIN HOMEDRIVE HOMEPATH COMPUTERNAME OS ' +
  'PROCESSOR_ARCHITECTURE NUMBER_OF_PROCESSORS';
/** Certificate files. Without them, TLS fails behind a company's own certificate authority. They are not secret. */
const CERTIFICATES = 'NODE_EXTRA_CA_CERTS SSL_CERT_FILE SSL_CERT_DIR REQUESTS_CA_BUNDLE CURL_CA_BUNDLE PIP_CERT';
/**
 * Where npx, uvx and version managers keep packages, for people who moved them out of a small or shared home folder, and where
 * they find packages: a private index that is left out would give another package of the same name.
 */
const PACKAGES =
  'NPM_CONFIG_CACHE NPM_CONFIG_USERCONFIG NPM_CONFIG_REGISTRY NPM_CONFIG_CAFILE COREPACK_HOME PNPM_HOME BUN_INSTALL ' +
  'DENO_DIR UV_CACHE_DIR UV_TOOL_DIR UV_PYTHON_INSTALL_DIR UV_DEFAULT_INDEX UV_INDEX_URL UV_INDEX UV_EXTRA_INDEX_URL ' +
  'UV_FIND_LINKS UV_CONFIG_FILE UV_PYTHON_DOWNLOADS UV_SYSTEM_CERTS PIP_INDEX_URL PIP_EXTRA_INDEX_URL PIP_FIND_LINKS ' +
  'PIP_CONFIG_FILE PIPX_HOME PIPX_DEFAULT_PYTHON ' +
  'NVM_DIR VOLTA_HOME FNM_DIR ASDF_DATA_DIR MISE_DATA_DIR PYENV_ROOT PLAYWRIGHT_BROWSERS_PATH';
/** Servers that open a browser window need the display. Any program of the user can find it anyway. */
const DISPLAY = 'DISPLAY WAYLAND_DISPLAY XAUTHORITY';
/** Proxies to the network. */
const PROXIES = 'HTTP_PROXY HTTPS_PROXY ALL_PROXY NO_PROXY NPM_CONFIG_PROXY NPM_CONFIG_HTTPS_PROXY';
/** Which daemon or machine the command `docker` or `podman` uses. Only these two get them. */
const CONTAINERS: ReadonlySet<string> = new Set(
  (
    'DOCKER_HOST DOCKER_CONTEXT DOCKER_CONFIG DOCKER_CERT_PATH DOCKER_TLS_VERIFY ' +
    'CONTAINER_HOST CONTAINER_CONNECTION CONTAINER_SSHKEY'
  ).split(' '),
);

/** Names that every server inherits, in upper case; they are compared case-insensitively. */
export const INHERITED_NAMES: ReadonlySet<string> = new Set(
  [BASIC, WINDOWS, CERTIFICATES, PACKAGES, DISPLAY, PROXIES, ALLOW_NESTED_VARIABLE].join(' ').split(' '),
);
/** Prefixes of names that every server inherits. */
export const INHERITED_PREFIXES = ['LC_', 'XDG_'] as const;

/**
 * The environment for a server, from that of the bridge and that of its entry. Inherited variables whose value is an address
 * with a password (`http://user:password@proxy`) are left out; write such an address into the entry of the server that may know it.
 */
export function childEnvironment(
  env: Readonly<Record<string, string | undefined>>,
  definition: Pick<ProcessDefinition, 'command' | 'env'>,
  platform: NodeJS.Platform = process.platform,
): Record<string, string> {
  const child = new Map<string, string>();
  const isContainer = containerProgram(definition) !== undefined;
  for (const [name, value] of Object.entries(env)) {
    if (value !== undefined && isPassedOn(name.toUpperCase(), value, isContainer)) {
      child.set(name, value);
    }
  }
  for (const [name, value] of Object.entries(definition.env)) {
    if (platform === 'win32') {
      // Names are case-insensitive there: of `Path` and `PATH`, Node passes on the one that sorts first.
      [...child.keys()].filter((key) => key.toUpperCase() === name.toUpperCase()).forEach((key) => child.delete(key));
    }
    child.set(name, value);
  }
  child.set(DEPTH_VARIABLE, String(bridgeDepth(env) + 1));
  return Object.fromEntries(child);
}

function isPassedOn(name: string, value: string, isContainer: boolean): boolean {
  if (isContainer && CONTAINERS.has(name)) {
    // `ssh://user@host` names only an account; the user in the address of a proxy may be a token.
    return !/^[a-z]+:\/\/[^/@\s]*:[^/\s]*@/i.test(value);
  }
  return isInherited(name) && !holdsPassword(value);
}

function isInherited(name: string): boolean {
  return INHERITED_NAMES.has(name) || INHERITED_PREFIXES.some((prefix) => name.startsWith(prefix));
}

/** The value may be a list of addresses, or have a name before them, as in `UV_INDEX`. */
function holdsPassword(value: string): boolean {
  return /[a-z][a-z0-9+.-]*:\/\/[^/?#\s]*@/i.test(value);
}
