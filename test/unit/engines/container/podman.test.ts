import { describe, expect, it } from 'vitest';
import { describeDocker, dockerHints } from '../../../../src/edges/engines/container/docker.ts';
import { decideMachine, hasPodmanMachine } from '../../../../src/edges/engines/container/machine.ts';
import { describePodman, qualifyImage } from '../../../../src/edges/engines/container/podman.ts';

describe('the name under which podman pulls an image', () => {
  it.each([
    ['python:3.14-slim', 'docker.io/library/python:3.14-slim'],
    ['user/image', 'docker.io/user/image'],
    ['quay.io/user/image:1', 'quay.io/user/image:1'],
    ['localhost/image:1', 'localhost/image:1'],
    ['localhost:5000/image', 'localhost:5000/image'],
    ['python@sha256:0123', 'docker.io/library/python@sha256:0123'],
  ])('%s → %s', (image, qualified) => {
    expect(qualifyImage(image)).toBe(qualified);
  });
});

describe('a Podman machine', () => {
  it('is there on macOS and Windows, unless another service is named', () => {
    expect(hasPodmanMachine('linux', {})).toBe(false);
    expect(hasPodmanMachine('darwin', {})).toBe(true);
    expect(hasPodmanMachine('win32', {})).toBe(true);
    expect(hasPodmanMachine('darwin', { CONTAINER_HOST: 'ssh://host' })).toBe(false);
    expect(hasPodmanMachine('darwin', { CONTAINER_CONNECTION: 'work' })).toBe(false);
  });

  const stopped = { Name: 'podman-machine-default', Default: true, Running: false, Starting: false };

  it('is started if it is stopped', () => {
    expect(decideMachine(JSON.stringify([stopped]))).toEqual({ action: 'start', machine: 'podman-machine-default' });
  });

  it('is the default of several', () => {
    const machines = [{ ...stopped, Name: 'other', Default: false, Running: true }, stopped];
    expect(decideMachine(JSON.stringify(machines))).toEqual({ action: 'start', machine: 'podman-machine-default' });
  });

  it('is the only one if none is marked as default; older versions mark it with an asterisk', () => {
    expect(decideMachine(JSON.stringify([{ Name: 'mine*' }]))).toEqual({ action: 'start', machine: 'mine' });
  });

  it.each([
    ['there is none', '[]', 'there is no Podman machine'],
    [
      'none of several is the default',
      JSON.stringify([{ Name: 'a' }, { Name: 'b' }]),
      'none of the Podman machines is the default',
    ],
    [
      'it runs already',
      JSON.stringify([{ ...stopped, Running: true }]),
      'the Podman machine podman-machine-default is running but does not answer',
    ],
    [
      'it is starting',
      JSON.stringify([{ ...stopped, Starting: true }]),
      'the Podman machine podman-machine-default is still starting',
    ],
    ['the list is no JSON', 'Error: boom', 'the list of Podman machines could not be read'],
  ])('is left alone when %s', (_case, listing, reason) => {
    expect(decideMachine(listing)).toEqual({ action: 'refuse', reason });
  });
});

it('the next step with docker depends on the platform', () => {
  expect(dockerHints('linux').unreachableHint).toContain('systemctl');
  expect(dockerHints('linux').forbiddenHint).toContain('usermod');
  for (const platform of ['darwin', 'win32'] as const) {
    expect(dockerHints(platform).unreachableHint).toBe('Start Docker Desktop, or set MCP_BRIDGE_RUNTIME=podman.');
    expect(dockerHints(platform).forbiddenHint).toContain('docker-users');
  }
});

it('an engine describes where it runs', () => {
  expect([
    describePodman('linux', {}, 0),
    describePodman('linux', {}, 1000),
    describePodman('darwin', {}, 501),
    describePodman('linux', { CONTAINER_HOST: 'ssh://core:secret@host/run' }, 1000),
    describeDocker({}),
    describeDocker({ DOCKER_CONTEXT: 'work' }),
    describeDocker({ DOCKER_HOST: 'ssh://me:secret@host', DOCKER_CONTEXT: 'work' }),
  ]).toEqual([
    'podman as root',
    'podman, rootless',
    'podman in its machine',
    'podman at ssh://core@host/run',
    'docker',
    'docker, context work',
    'docker at ssh://me@host',
  ]);
});
