import { expect, it } from 'vitest';
import { clientEnvironment, isOverNetwork, withoutPassword } from '../../../src/edges/engines/client-env.ts';

const env = {
  PATH: '/usr/bin',
  HOME: '/home/user',
  XDG_RUNTIME_DIR: '/run/user/1000',
  DBUS_SESSION_BUS_ADDRESS: 'unix:path=/run/user/1000/bus',
  SSH_AUTH_SOCK: '/tmp/agent',
  CONTAINER_HOST: 'ssh://core@host',
  CONTAINERS_STORAGE_CONF: '/etc/storage.conf',
  DOCKER_HOST: 'ssh://user@host',
  DOCKER_CONTEXT: 'work',
  Path: 'C:\\Windows',
  HTTP_PROXY: 'http://user:password@proxy',
  https_proxy: 'http://user:password@proxy',
  SSL_CERT_FILE: '/etc/ssl/company.pem',
  GITHUB_TOKEN: 'secret',
  NODE_OPTIONS: '--inspect',
  LD_PRELOAD: '/tmp/evil.so',
  EMPTY: undefined,
};
const NEVER = ['GITHUB_TOKEN', 'NODE_OPTIONS', 'LD_PRELOAD', 'EMPTY'];
const FOR_PULLS = ['HTTP_PROXY', 'https_proxy', 'SSL_CERT_FILE'];

it('passes on what the engine needs to find its service, and nothing else', () => {
  const expected = Object.keys(env).filter((name) => ![...NEVER, ...FOR_PULLS].includes(name));
  expect(Object.keys(clientEnvironment(env))).toEqual(expected);
});

it('passes proxies and certificates only to pulls', () => {
  const expected = Object.keys(env).filter((name) => !NEVER.includes(name));
  expect(Object.keys(clientEnvironment(env, true))).toEqual(expected);
});

it.each([
  ['ssh://core@host:22/run/podman.sock', 'ssh://core@host:22/run/podman.sock'],
  ['ssh://core:secret@host/run', 'ssh://core@host/run'],
  ['tcp://user:p:a:ss@host:2375', 'tcp://user@host:2375'],
  ['unix:///run/podman.sock', 'unix:///run/podman.sock'],
  ['tcp://127.0.0.1:2375', 'tcp://127.0.0.1:2375'],
])('shows the address %s as %s', (address, shown) => {
  expect(withoutPassword(address)).toBe(shown);
});

it.each([
  [{ DOCKER_HOST: 'ssh://user@host' }, true],
  [{ CONTAINER_HOST: 'tcp://10.0.0.2:2375' }, true],
  [{ CONTAINER_CONNECTION: 'work' }, true],
  [{ DOCKER_CONTEXT: 'work' }, true],
  [{ DOCKER_HOST: 'unix:///run/docker.sock' }, false],
  [{ CONTAINER_HOST: '', DOCKER_CONTEXT: '' }, false],
  [{}, false],
])('knows whether %j may lead to another machine', (variables, expected) => {
  expect(isOverNetwork(variables)).toBe(expected);
});
