/**
 * The environment of an upstream server: named safe variables of the bridge, the entry's own `env`, and nothing else,
 * so that tokens in the user's shell do not reach every server. What a server needs beyond that stands in its entry.
 */
import { bridgeDepth, DEPTH_VARIABLE } from '../base/bridge-depth.ts';

/** Who the user is, where programs and files are, and in which language to speak. */
const BASIC = 'PATH HOME USER LOGNAME SHELL TERM LANG LANGUAGE TZ TMPDIR TEMP TMP';
/** Windows programs do not start, or do not find their files, without these. */
const WINDOWS =
  'APPDATA LOCALAPPDATA PROGRAMDATA PROGRAMFILES PROGRAMFILES(X86) PROGRAMW6432 COMMONPROGRAMFILES COMSPEC PATHEXT ' +
  'SYSTEMROOT SYSTEMDRIVE WINDIR USERPROFILE USERNAME USERDOMAIN HOMEDRIVE HOMEPATH COMPUTERNAME OS ' +
  'PROCESSOR_ARCHITECTURE NUMBER_OF_PROCESSORS';
/** Files of certificates: without them nothing that speaks TLS works behind a company's own authority. They are no secrets. */
const CERTIFICATES = 'NODE_EXTRA_CA_CERTS SSL_CERT_FILE SSL_CERT_DIR REQUESTS_CA_BUNDLE CURL_CA_BUNDLE PIP_CERT';
/** Where npx, uvx and version managers keep and find packages; moved by people whose home is small or shared. */
const PACKAGES =
  'NPM_CONFIG_CACHE NPM_CONFIG_USERCONFIG NPM_CONFIG_REGISTRY NPM_CONFIG_CAFILE COREPACK_HOME PNPM_HOME BUN_INSTALL ' +
  'DENO_DIR UV_CACHE_DIR UV_TOOL_DIR UV_PYTHON_INSTALL_DIR UV_DEFAULT_INDEX UV_INDEX_URL PIP_INDEX_URL ' +
  'NVM_DIR VOLTA_HOME FNM_DIR ASDF_DATA_DIR MISE_DATA_DIR PYENV_ROOT PLAYWRIGHT_BROWSERS_PATH';
/** Servers that open a browser window need the display; any program of the user can find it anyway. */
const DISPLAY = 'DISPLAY WAYLAND_DISPLAY XAUTHORITY';
/** The way to the network in a company. */
const PROXIES = 'HTTP_PROXY HTTPS_PROXY ALL_PROXY NO_PROXY NPM_CONFIG_PROXY NPM_CONFIG_HTTPS_PROXY';

/** Names that every server inherits, in upper case; they are compared without regard to case. */
export const INHERITED_NAMES: ReadonlySet<string> = new Set(
  [BASIC, WINDOWS, CERTIFICATES, PACKAGES, DISPLAY, PROXIES].join(' ').split(' '),
);
/** Prefixes of names that every server inherits. */
export const INHERITED_PREFIXES = ['LC_', 'XDG_'] as const;

/**
 * The environment for a server whose entry has `entryEnv`. Of inherited variables, addresses that hold a password
 * (`http://user:password@proxy`) are left out: give such an address in the entry of the server that may know it.
 */
export function childEnvironment(
  env: Readonly<Record<string, string | undefined>>,
  entryEnv: Readonly<Record<string, string>>,
  platform: NodeJS.Platform = process.platform,
): Record<string, string> {
  const child = new Map<string, string>();
  for (const [name, value] of Object.entries(env)) {
    if (value !== undefined && isInherited(name.toUpperCase()) && !holdsPassword(value)) {
      child.set(name, value);
    }
  }
  for (const [name, value] of Object.entries(entryEnv)) {
    if (platform === 'win32') {
      // Names have no case there: of `Path` and `PATH`, Node would pass on the one that sorts first.
      [...child.keys()].filter((key) => key.toUpperCase() === name.toUpperCase()).forEach((key) => child.delete(key));
    }
    child.set(name, value);
  }
  child.set(DEPTH_VARIABLE, String(bridgeDepth(env) + 1));
  return Object.fromEntries(child);
}

function isInherited(name: string): boolean {
  return INHERITED_NAMES.has(name) || INHERITED_PREFIXES.some((prefix) => name.startsWith(prefix));
}

function holdsPassword(value: string): boolean {
  return /^[a-z][a-z0-9+.-]*:\/\/[^/?#\s]*@/i.test(value);
}
