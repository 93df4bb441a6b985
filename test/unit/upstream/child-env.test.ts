import { expect, it } from 'vitest';
import { childEnvironment, INHERITED_NAMES, INHERITED_PREFIXES } from '../../../src/upstream/child-env.ts';

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
    'PIP_CERT',
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
    'UV_DEFAULT_INDEX',
    'UV_INDEX_URL',
    'UV_PYTHON_INSTALL_DIR',
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
  expect(childEnvironment(env, { PATH: '/opt/bin', TOKEN: 'mine' })).toEqual({
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
  expect(childEnvironment(env, { Path: 'D:\\mine', WINDIR: 'D:\\w' }, 'win32')).toEqual({
    Path: 'D:\\mine',
    WINDIR: 'D:\\w',
    MCP_BRIDGE_DEPTH: '1',
  });
  expect(childEnvironment(env, { Path: '/mine' }, 'linux')).toMatchObject({ PATH: 'C:\\bin', Path: '/mine' });
});

it('does not pass on addresses with a password', () => {
  const env = {
    HTTPS_PROXY: 'http://me:hush@proxy:3128',
    http_proxy: 'http://proxy:3128',
    UV_INDEX_URL: 'https://token@index.example/simple',
    NO_PROXY: 'localhost,.example',
  };
  expect(childEnvironment(env, {})).toEqual({
    http_proxy: 'http://proxy:3128',
    NO_PROXY: 'localhost,.example',
    MCP_BRIDGE_DEPTH: '1',
  });
});

it('sets the nesting depth of bridges, regardless of the entry', () => {
  expect(childEnvironment({ MCP_BRIDGE_DEPTH: '2' }, { MCP_BRIDGE_DEPTH: '0' })).toEqual({ MCP_BRIDGE_DEPTH: '3' });
});
