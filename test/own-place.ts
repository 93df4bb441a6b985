/**
 * Runs once before the tests, which then see nothing of the person who runs them: an empty home, an empty folder for temporary files,
 * none of their settings, and a store of packages of its own. What belongs to the machine stays: commands, engines and their
 * images, registries, proxies and certificates.
 */
import { execFileSync } from 'node:child_process';
import { chmodSync, existsSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { homedir, tmpdir } from 'node:os';
import { dirname, join } from 'node:path';

/** Variables that describe the machine; any other may be a setting of the person. */
const KEPT = [
  /^(?:path|pathext|systemroot|systemdrive|comspec|windir|programdata|programfiles.*|os|number_of_processors|processor_.*)$/,
  /^(?:lang|language|lc_.*|tz|term|colorterm|no_color|force_color|ci|github_actions|user|username|logname|shell|ld_library_path)$/,
  /^(?:(?:https?|no|all)_proxy|ssl_cert_.*|curl_ca_bundle|requests_ca_bundle|node.*|npm_.*|pip_.*|uv_.*|vitest.*|test)$/,
  /^(?:xdg_runtime_dir|dbus_session_bus_address|docker_.*|container_.*|containers_.*|kubeconfig|kube_dir)$/,
  /^(?:mcp_bridge_(?:test|ci)_.*|mcp_conformance_.*|update_.*|profiled_.*)$/,
];
/** Where engines and package managers keep what belongs to the machine, below the home. */
const LINKED = ['.docker', '.config/containers', '.config/pip', '.config/uv', '.pip'];
/** Names the folder, for whatever the tests start. */
const MARK = 'MCP_BRIDGE_TEST_PLACE';
/** Short, because the path of a Unix socket has at most 107 bytes. */
const PREFIX = join(tmpdir(), 'bt-');

/** Vitest calls the function that it returns after the last test. */
export function setup(): () => void {
  // Each project calls this.
  if (process.env[MARK] !== undefined) {
    return () => undefined;
  }
  const folder = mkdtempSync(PREFIX);
  // Sandboxes run as other users.
  chmodSync(folder, 0o755);
  const person = homedir();
  const home = join(folder, 'home');
  const own = { HOME: home, USERPROFILE: home, TMPDIR: join(folder, 'tmp'), ...keptFolders(person, folder) };
  mkdirSync(own.TMPDIR);
  chmodSync(own.TMPDIR, 0o1777);
  for (const path of LINKED.filter((each) => existsSync(join(person, each)))) {
    mkdirSync(dirname(join(home, path)), { recursive: true });
    symlinkSync(join(person, path), join(home, path));
  }
  mkdirSync(home, { recursive: true });
  for (const name of Object.keys(process.env).filter((each) => !KEPT.some((kept) => kept.test(each.toLowerCase())))) {
    delete process.env[name];
  }
  const store = `bridge-test-${folder.slice(PREFIX.length)}`;
  Object.assign(process.env, own, { [MARK]: folder, MCP_BRIDGE_PACKAGES_STORE: store });
  return () => {
    removeStore(store);
    rmSync(folder, { recursive: true, force: true });
  };
}

/** Engines whose volumes are the store of packages; root also tests rootless Podman. */
const ENGINES = ['podman', 'docker', join(import.meta.dirname, 'fixtures/engines/rootless/podman')];

function removeStore(volume: string): void {
  for (const engine of ENGINES) {
    try {
      execFileSync(engine, ['volume', 'rm', volume], { stdio: 'ignore', timeout: 20_000 });
    } catch {
      // There is no such engine, or none of its tests has installed a package.
    }
  }
}

/** Variables for what is found from the home, but belongs to the machine. */
function keptFolders(person: string, folder: string): Record<string, string> {
  const npm = {
    npm_config_userconfig: process.env['npm_config_userconfig'] ?? join(person, '.npmrc'),
    npm_config_cache: process.env['npm_config_cache'] ?? join(person, '.npm'),
  };
  const storage = process.env['CONTAINERS_STORAGE_CONF'] === undefined ? storageOfPodman() : undefined;
  if (storage === undefined) {
    return npm;
  }
  const file = join(folder, 'storage.conf');
  writeFileSync(file, storage);
  return { ...npm, CONTAINERS_STORAGE_CONF: file };
}

/** Where rootless Podman keeps images, as its file of settings says it; undefined for root, whose place does not depend on the home. */
function storageOfPodman(): string | undefined {
  if (process.getuid?.() === 0) {
    return undefined;
  }
  const lines = ['driver = "{{.Store.GraphDriverName}}"', 'graphroot = "{{.Store.GraphRoot}}"'];
  const more = ['runroot = "{{.Store.RunRoot}}"', 'rootless_storage_path = "{{.Store.GraphRoot}}"'];
  try {
    return execFileSync('podman', ['info', '--format', ['[storage]', ...lines, ...more, ''].join('\n')], {
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'ignore'],
    });
  } catch {
    // There is none, or it does not work, which is said where it is looked for.
    return undefined;
  }
}
