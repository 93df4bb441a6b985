import { expect, it } from 'vitest';
import { childEnvironment, INHERITED_NAMES, INHERITED_PREFIXES } from '../../../src/edges/upstream/child-env.ts';

function server(env: Readonly<Record<string, string>> = {}, command = 'server') {
  return { command, env };
}

it('inherits exactly these variables', () => {
  expect([...INHERITED_NAMES].toSorted()).toEqual([
    'ALL_PROXY',
    'APPDATA',
    'ASDF_DATA_DIR',
    'BUN_INSTALL',
    'COMMONPROGRAMFILES',
    'COMPUTERNAME',
    'COMSPEC',
    'COREPACK_HOME',
    'CURL_CA_BUNDLE',
    'DENO_DIR',
    'DISPLAY',
    'FNM_DIR',
    'HOME',
    'HOMEDRIVE',
    'HOMEPATH',
    'HTTPS_PROXY',
    'HTTP_PROXY',
    'LANG',
    'LANGUAGE',
    'LOCALAPPDATA',
    'LOGNAME',
    'MCP_BRIDGE_ALLOW_SELF_SERVER',
    'MISE_DATA_DIR',
    'NODE_EXTRA_CA_CERTS',
    'NO_PROXY',
    'NPM_CONFIG_CACHE',
    'NPM_CONFIG_CAFILE',
    'NPM_CONFIG_HTTPS_PROXY',
    'NPM_CONFIG_PROXY',
    'NPM_CONFIG_REGISTRY',
    'NPM_CONFIG_USERCONFIG',
    'NUMBER_OF_PROCESSORS',
    'NVM_DIR',
    'OS',
    'PATH',
    'PATHEXT',
    'PIPX_DEFAULT_PYTHON',
    'PIPX_HOME',
    'PIP_CERT',
    'PIP_CONFIG_FILE',
    'PIP_EXTRA_INDEX_URL',
    'PIP_FIND_LINKS',
    'PIP_INDEX_URL',
    'PLAYWRIGHT_BROWSERS_PATH',
    'PNPM_HOME',
    'PROCESSOR_ARCHITECTURE',
    'PROGRAMDATA',
    'PROGRAMFILES',
    'PROGRAMFILES(X86)',
    'PROGRAMW6432',
    'PYENV_ROOT',
    'REQUESTS_CA_BUNDLE',
    'SHELL',
    'SSL_CERT_DIR',
    'SSL_CERT_FILE',
    'SYSTEMDRIVE',
    'SYSTEMROOT',
    'TEMP',
    'TERM',
    'TMP',
    'TMPDIR',
    'TZ',
    'USER',
    'USERDOMAIN',
    'USERNAME',
    'USERPROFILE',
    'UV_CACHE_DIR',
    'UV_CONFIG_FILE',
    'UV_DEFAULT_INDEX',
    'UV_EXTRA_INDEX_URL',
    'UV_FIND_LINKS',
    'UV_INDEX',
    'UV_INDEX_URL',
    'UV_PYTHON_DOWNLOADS',
    'UV_PYTHON_INSTALL_DIR',
    'UV_SYSTEM_CERTS',
    'UV_TOOL_DIR',
    'VOLTA_HOME',
    'WAYLAND_DISPLAY',
    'WINDIR',
    'XAUTHORITY',
  ]);
  expect(INHERITED_PREFIXES).toEqual(['LC_', 'XDG_']);
});

it('adds the variables of the entry, which take precedence, and nothing else', () => {
  const env = {
    PATH: '/bin',
    Path: 'C:\\bin',
    LC_CTYPE: 'C.UTF-8',
    npm_config_cache: '/cache',
    HOME: undefined,
    GITHUB_TOKEN: 'hush',
    NODE_OPTIONS: '--require ./evil.js',
    LD_PRELOAD: '/evil.so',
    MCP_BRIDGE_STATE_DIR: '/state',
  };
  expect(childEnvironment(env, server({ PATH: '/opt/bin', TOKEN: 'mine' }))).toEqual({
    PATH: '/opt/bin',
    Path: 'C:\\bin',
    LC_CTYPE: 'C.UTF-8',
    npm_config_cache: '/cache',
    TOKEN: 'mine',
    MCP_BRIDGE_DEPTH: '1',
  });
});

it('replaces a variable on Windows regardless of case', () => {
  const env = { PATH: 'C:\\bin', windir: 'C:\\Windows' };
  expect(childEnvironment(env, server({ Path: 'D:\\mine', WINDIR: 'D:\\w' }), 'win32')).toEqual({
    Path: 'D:\\mine',
    WINDIR: 'D:\\w',
    MCP_BRIDGE_DEPTH: '1',
  });
  expect(childEnvironment(env, server({ Path: '/mine' }), 'linux')).toMatchObject({ PATH: 'C:\\bin', Path: '/mine' });
});

it('does not pass on addresses with a password', () => {
  const env = {
    HTTPS_PROXY: 'http://me:hush@proxy:3128',
    http_proxy: 'http://proxy:3128',
    UV_INDEX_URL: 'https://token@index.example/simple',
    UV_INDEX: 'public=https://a.example own=https://me:hush@b.example',
    PIP_EXTRA_INDEX_URL: 'https://a.example https://me:hush@b.example',
    PIP_FIND_LINKS: 'https://a.example https://b.example/~me@home',
    NO_PROXY: 'localhost,.example',
  };
  expect(childEnvironment(env, server())).toEqual({
    http_proxy: 'http://proxy:3128',
    PIP_FIND_LINKS: 'https://a.example https://b.example/~me@home',
    NO_PROXY: 'localhost,.example',
    MCP_BRIDGE_DEPTH: '1',
  });
});

it('sets the nesting depth of bridges, regardless of the entry', () => {
  expect(childEnvironment({ MCP_BRIDGE_DEPTH: '2' }, server({ MCP_BRIDGE_DEPTH: '0' }))).toEqual({
    MCP_BRIDGE_DEPTH: '3',
  });
});

// A server in a container on another machine, or behind another socket, could not be started.
it.each([
  ['docker', ['DOCKER_CONFIG', 'DOCKER_CONTEXT', 'DOCKER_HOST', 'CONTAINER_HOST']],
  ['/usr/local/bin/docker', ['DOCKER_CONFIG', 'DOCKER_CONTEXT', 'DOCKER_HOST', 'CONTAINER_HOST']],
  ['podman', ['DOCKER_CONFIG', 'DOCKER_CONTEXT', 'DOCKER_HOST', 'CONTAINER_HOST']],
  ['npx', []],
])('tells only docker and podman where their daemon is: %s', (command, names) => {
  const env = {
    DOCKER_CONFIG: '/home/me/.docker',
    DOCKER_CONTEXT: 'build',
    DOCKER_HOST: 'ssh://me@build',
    DOCKER_AUTH_CONFIG: '{"auths": {}}',
    CONTAINER_HOST: 'unix:///run/podman.sock',
  };
  const given = Object.keys(childEnvironment(env, server({}, command)));
  expect(given.filter((name) => name in env)).toEqual(names);
  expect(childEnvironment({ DOCKER_HOST: 'tcp://me:pw@build' }, server({}, command))).not.toHaveProperty('DOCKER_HOST');
});
