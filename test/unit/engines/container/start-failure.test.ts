import { describe, expect, it } from 'vitest';
import { OMITTABLE_FLAGS } from '../../../../src/edges/engines/container/argv.ts';
import {
  classifyStartFailure,
  type StartFailure,
  startError,
} from '../../../../src/edges/engines/container/start-failure.ts';

/** Recorded output of podman 4.3.1 and 5 and of docker 20.10, 28 and Desktop, with its meaning. */
const SAID: readonly [StartFailure['kind'], number, string][] = [
  ['image-missing', 125, 'Error: nope:1: image not known\n'],
  [
    'image-missing',
    125,
    "docker: Error response from daemon: No such image: nope:1\n\nRun 'docker run --help' for more information\n",
  ],
  [
    'image-missing',
    125,
    "Unable to find image 'nope:1' locally\ndocker: Error response from daemon: pull access denied.\n",
  ],
  [
    'image-missing',
    125,
    'Error: short-name "nope:1" did not resolve to an alias and no unqualified-search registries are defined\n',
  ],
  [
    'python-missing',
    127,
    'Error: runc: runc create failed: unable to start container process: exec: "python3": executable file not found in $PATH: OCI runtime attempted to invoke a command that was not found\n',
  ],
  [
    'python-missing',
    127,
    'Error: crun: executable file `python3` not found in $PATH: No such file or directory: OCI runtime attempted to invoke a command that was not found\n',
  ],
  [
    'python-missing',
    127,
    'docker: Error response from daemon: failed to create task for container: exec: "python3": executable file not found in $PATH: unknown\n',
  ],
  [
    'helper-missing',
    127,
    'Error: could not find slirp4netns, the network namespace can\'t be configured: exec: "slirp4netns": executable file not found in $PATH\n',
  ],
  [
    'helper-missing',
    127,
    'Error: setting up Pasta: could not find pasta, the network namespace can\'t be configured: exec: "pasta": executable file not found in $PATH\n',
  ],
  [
    'helper-missing',
    127,
    'Error: command required for rootless mode with multiple IDs: exec: "newuidmap": executable file not found in $PATH\n',
  ],
  [
    'helper-missing',
    125,
    'Error: could not find "netavark" in one of [/usr/local/libexec/podman /usr/lib/podman].  To resolve this error, set the helper_binaries_dir key in the `[engine]` section of containers.conf\n',
  ],
  ['helper-missing', 125, 'Error: default OCI runtime "crun" not found: invalid argument\n'],
  [
    'helper-missing',
    125,
    'Error: could not find a working conmon binary (configured options: [/usr/libexec/podman/conmon]): invalid argument\n',
  ],
  [
    'helper-missing',
    126,
    'Error: plugin type="bridge" failed (add): failed to find plugin "bridge" in path [/usr/lib/cni]\n',
  ],
  [
    'helper-missing',
    125,
    'docker: Error response from daemon: failed to create task for container: failed to start shim: exec: "runc": executable file not found in $PATH: unknown.\n',
  ],
  [
    'network-failed',
    126,
    'Error: /usr/bin/slirp4netns failed: "open(\\"/dev/net/tun\\"): Permission denied\\nWARNING: Support for seccomp is experimental\\nchild failed(1)\\n"\n',
  ],
  [
    'network-failed',
    126,
    'Error: setting up Pasta: pasta failed with exit code 1:\nFailed to open() /dev/net/tun: No such file or directory\nFailed to set up tap device in namespace\n',
  ],
  ['network-failed', 126, 'Error: netavark: code: 3, msg: modprobe: ERROR: could not insert ip_tables\n'],
  ['network-failed', 126, 'Error: plugin type="bridge" failed (add): failed to list chains: iptables\n'],
  [
    'network-failed',
    125,
    'docker: Error response from daemon: failed to create endpoint a on network bridge: operation not supported.\n',
  ],
  [
    'unreachable',
    125,
    'docker: Cannot connect to the Docker daemon at unix:///var/run/docker.sock. Is the docker daemon running?\n',
  ],
  [
    'unreachable',
    1,
    'failed to connect to the docker API at unix:///var/run/docker.sock; check if the path is correct\n',
  ],
  [
    'unreachable',
    125,
    'Cannot connect to Podman. Please verify your connection to the Linux system using `podman system connection list`\nError: unable to connect to Podman socket: Get "http://d/v4.3.1/libpod/_ping": dial unix /p.sock: connect: no such file or directory\n',
  ],
  ['unreachable', 1, 'error during connect: Get "http://host:2375/v1.41/info": dial tcp: lookup host: no such host\n'],
  [
    'unreachable',
    1,
    'docker: error during connect: Head "http://%2F%2F.%2Fpipe%2FdockerDesktopLinuxEngine/_ping": open //./pipe/dockerDesktopLinuxEngine: The system cannot find the file specified.\n',
  ],
  [
    'unreachable',
    125,
    'docker: Cannot connect to the Docker daemon at unix:///Users/u/.docker/run/docker.sock. Is the docker daemon running?\n',
  ],
  [
    'forbidden',
    1,
    'docker: error during connect: Head "http://%2F%2F.%2Fpipe%2FdockerDesktopLinuxEngine/_ping": open //./pipe/dockerDesktopLinuxEngine: Access is denied.\n',
  ],
  [
    'forbidden',
    126,
    'docker: permission denied while trying to connect to the Docker daemon socket at unix:///var/run/docker.sock: Head "http://x/_ping": dial unix /var/run/docker.sock: connect: permission denied\n',
  ],
  ['flags-refused', 125, "Error: unknown flag: --umask\nSee 'podman run --help'\n"],
  ['flags-refused', 125, 'unknown flag: --cgroupns\n\nUsage:  docker run [OPTIONS] IMAGE [COMMAND] [ARG...]\n'],
  ['flags-refused', 126, 'Error: OCI runtime error: crun: the requested cgroup controller `cpu` is not available\n'],
  ['flags-refused', 125, '"--cgroupns" requires API version 1.41, but the Docker daemon API version is 1.40\n'],
  ['other', 125, "Error: unknown flag: --cap-drop\nSee 'podman run --help'\n"],
  ['other', 125, 'docker: Error response from daemon: Unknown runtime specified nope\n'],
  ['other', 0, ''],
];

describe('the output of a failed start', () => {
  it.each(SAID)('%s (exit code %i): %s', (kind, exitCode, stderr) => {
    expect(classifyStartFailure({ exitCode, signal: undefined }, stderr).kind).toBe(kind);
  });

  it('omits all omittable flags except limits after one unknown flag', () => {
    const failure = classifyStartFailure({ exitCode: 125, signal: undefined }, 'Error: unknown flag: --umask\n');
    const limits = ['--memory', '--memory-swap', '--cpus', '--pids-limit'];
    expect(failure).toMatchObject({ flags: Object.keys(OMITTABLE_FLAGS).filter((flag) => !limits.includes(flag)) });
  });

  it.each([
    "Error: unknown flag: --preserve-fds\nSee 'podman run --help'\n",
    'Error: file descriptor 3 is not available - the preserve-fds option requires that file descriptors must be passed\n',
    'flag provided but not defined: -preserve-fds\nUsage: runsc <flags>\n',
    'descriptor 3 was not passed on\n',
  ])('omits only the descriptor after %s', (stderr) => {
    expect(classifyStartFailure({ exitCode: 125, signal: undefined }, stderr)).toMatchObject({
      flags: ['--preserve-fds'],
    });
  });

  it('looks at the flag that is unknown, not at the list of all flags', () => {
    const stderr =
      'Error: unknown flag: --umask\nUsage:\n  podman run\n\nFlags:\n      --preserve-fds uint   Pass descriptors\n';
    expect(classifyStartFailure({ exitCode: 125, signal: undefined }, stderr)).toMatchObject({
      flags: expect.arrayContaining(['--umask']),
    });
  });

  it('omits only the limits of a controller that is not delegated', () => {
    const stderr = 'Error: crun: the requested cgroup controller `memory` is not available: OCI runtime error\n';
    expect(classifyStartFailure({ exitCode: 126, signal: undefined }, stderr)).toMatchObject({
      flags: ['--memory', '--memory-swap'],
    });
  });

  it('tells a program that the image lacks from one that the engine lacks', () => {
    const exit = { exitCode: 127, signal: undefined };
    const said = (name: string) => `Error: runc: exec: "${name}": executable file not found in $PATH\n`;
    expect(classifyStartFailure(exit, said('node'), 'node').kind).toBe('python-missing');
    expect(classifyStartFailure(exit, said('slirp4netns'), 'node')).toMatchObject({
      kind: 'helper-missing',
      helper: 'slirp4netns',
    });
  });

  it('keeps the end of a long text', () => {
    const { detail } = classifyStartFailure({ exitCode: 125, signal: undefined }, `${'x'.repeat(5000)}\nthe reason\n`);
    expect(detail).toHaveLength(601);
    expect(detail).toMatch(/^…x+ the reason$/);
  });
});

describe('the error of a failed start', () => {
  const context = {
    engine: 'podman',
    image: 'python:3.14-slim',
    pullCommand: 'podman pull docker.io/library/python:3.14-slim',
    unreachableHint: 'start it',
    forbiddenHint: 'ask for it',
    retryNow: false,
  } as const;
  const exit = { exitCode: 125, signal: undefined };

  it('has a code and a next step for each kind', () => {
    const errors = (['image-missing', 'python-missing', 'unreachable', 'forbidden', 'other'] as const).map((kind) => {
      const { code, hint } = startError({ kind, detail: 'said so' }, exit, context);
      return [kind, code, hint];
    });
    expect(errors).toEqual([
      ['image-missing', 'IMAGE_MISSING', 'Run: podman pull docker.io/library/python:3.14-slim'],
      [
        'python-missing',
        'IMAGE_UNSUITABLE',
        'Set MCP_BRIDGE_IMAGE to an image with Python 3.10 or newer, for example python:3.14-slim.',
      ],
      ['unreachable', 'ENGINE_UNAVAILABLE', 'start it'],
      ['forbidden', 'ENGINE_UNAVAILABLE', 'ask for it'],
      ['other', 'ENGINE_FAILED', 'Check that this works: podman run --rm python:3.14-slim python3 --version'],
    ]);
  });

  it.each([
    [
      'slirp4netns',
      'Install the package slirp4netns (sudo apt install slirp4netns), or set MCP_BRIDGE_PACKAGES_NETWORK=host.',
    ],
    ['pasta', 'Install the package passt (sudo apt install passt), or set MCP_BRIDGE_PACKAGES_NETWORK=host.'],
    ['newuidmap', 'Install the package uidmap (sudo apt install uidmap).'],
    ['/opt/bin/kata-runtime', 'Install kata-runtime.'],
  ])('names what to install if the engine needs %s', (helper, hint) => {
    const stderr = `Error: could not start: exec: "${helper}": executable file not found in $PATH\n`;
    const failed = { exitCode: 127, signal: undefined };
    expect(startError(classifyStartFailure(failed, stderr), failed, context)).toMatchObject({
      code: 'ENGINE_FAILED',
      message: expect.stringMatching(/^podman needs [a-z0-9-]+, which this machine lacks: could not start/),
      hint,
    });
  });

  // It once named a command that works, because it needs no network: `podman run … python3 --version`.
  it.each([
    [
      '/usr/bin/slirp4netns failed: "open(\\"/dev/net/tun\\"): Permission denied',
      'Set MCP_BRIDGE_PACKAGES_NETWORK=host, so that it uses the network of this machine, or let this user open /dev/net/tun (sudo modprobe tun; sudo chmod 666 /dev/net/tun).',
    ],
    [
      'netavark: code: 3, msg: iptables',
      'Set MCP_BRIDGE_PACKAGES_NETWORK=host, so that it uses the network of this machine.',
    ],
  ])('names the network that works after %s', (said, hint) => {
    expect(startError(classifyStartFailure(exit, `Error: ${said}\n`), exit, context)).toMatchObject({
      code: 'ENGINE_FAILED',
      message: `podman cannot give the sandbox that fetches packages a network of its own: ${said}`,
      hint,
    });
  });

  it('says how the client ended if the engine printed nothing', () => {
    const failure = classifyStartFailure({ exitCode: undefined, signal: 'SIGKILL' }, '');
    const error = startError(failure, { exitCode: undefined, signal: 'SIGKILL' }, context);
    expect(error.message).toBe('podman did not start the sandbox (signal SIGKILL): no error output');
  });
});
