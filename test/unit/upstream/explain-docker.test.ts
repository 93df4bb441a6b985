import { describe, expect, it } from 'vitest';
import type { ProcessDefinition } from '../../../src/core/base/server-definition.ts';
import { hintForDocker, hintForGateway, noticesForTools } from '../../../src/edges/upstream/explain-docker.ts';

function server(command: string, ...args: string[]): ProcessDefinition {
  return {
    name: 's',
    command,
    args,
    env: {},
    cwd: undefined,
    timeoutMs: undefined,
    definitionHash: '',
    file: 'f.json',
  };
}

const RUN = server('docker', 'run', '-i', '--rm', 'mcp/fetch');
const GATEWAY = server('/usr/local/bin/docker', 'mcp', 'gateway', 'run');
const HELP = "\n\nRun 'docker run --help' for more information";

/** Stderr of docker 28.2.2 and 29, podman 4.3.1 and the gateway. The last ones are from issues of docker/mcp-gateway and docker/for-win. */
describe('a recognized failure', () => {
  it.each([
    [GATEWAY, "docker: unknown command: docker mcp\n\nRun 'docker --help' for more information", 'no MCP Toolkit'],
    [GATEWAY, "docker: 'mcp' is not a docker command.\nSee 'docker --help'", 'no MCP Toolkit'],
    [
      RUN,
      `docker: Cannot connect to the Docker daemon at unix:///var/run/docker.sock. Is the docker daemon running?${HELP}`,
      'sudo systemctl start docker',
    ],
    [
      RUN,
      'permission denied while trying to connect to the Docker daemon socket at unix:///var/run/docker.sock: Get "http://…"',
      'usermod -aG docker',
    ],
    [RUN, 'the input device is not a TTY', 'Remove -t'],
    [RUN, `docker: Error response from daemon: No such image: nosuch:1${HELP}`, 'docker pull nosuch:1'],
    [
      RUN,
      'Unable to find image \'nosuch/image:latest\' locally\ndocker: Error response from daemon: Get "https://registry-1.docker.io/v2/": dial tcp: lookup registry-1.docker.io: no such host',
      'docker pull nosuch/image:latest',
    ],
    [
      RUN,
      "Unable to find image 'x/y:latest' locally\ndocker: Error response from daemon: pull access denied for x/y, repository does not exist or may require 'docker login'",
      'docker login',
    ],
    [
      RUN,
      `docker: Error response from daemon: invalid mount config for type "bind": bind source path does not exist: /nonexist${HELP}`,
      'does not exist: /nonexist',
    ],
    [server('podman', 'run', '-i', 'nosuch:1'), 'Error: nosuch:1: image not known', 'podman pull nosuch:1'],
    [RUN, 'exec /usr/local/bin/python: exec format error', '--platform linux/amd64'],
    [
      GATEWAY,
      "- Reading secrets [github.personal_access_token]\ncouldn't read secret github.personal_access_token: reading secrets exit status 1: Error: open /.s0: file does not exist",
      'docker mcp secret set github.personal_access_token=',
    ],
    [
      GATEWAY,
      '- duckduckgo: exec /sbin/docker-init: no such file or directory\n  > Can\'t start duckduckgo: failed to connect: calling "initialize": EOF',
      'docker mcp gateway run --servers duckduckgo --verbose',
    ],
    [GATEWAY, 'failed to connect: calling "initialize": EOF', 'docker mcp gateway run --verbose'],
    [
      GATEWAY,
      '- No server is enabled\n- Listing MCP tools...\n> 0 tools listed in 8.041µs',
      'docker mcp server enable NAME',
    ],
    [
      RUN,
      'docker: permission denied while trying to connect to the docker API at unix:///var/run/docker.sock',
      'usermod -aG docker',
    ],
    [
      RUN,
      'failed to connect to the docker API at npipe:////./pipe/docker_engine; check if the path is correct and if the daemon is running: open //./pipe/docker_engine: The system cannot find the file specified.',
      'Start Docker Desktop, or the service',
    ],
    [GATEWAY, 'Docker Desktop is not running', 'In WSL, use "docker.exe"'],
    [
      GATEWAY,
      "finding secrets [brave.api_key]: fetching secrets exit status 125: docker: Error response from daemon: Pull failed due to an unauthenticated request. Enforced sign-in is enabled, which requires pulls to be authenticated. Run `docker login`, or contact your administrators if this is unexpected.\n\nRun 'docker run --help' for more information",
      'docker login',
    ],
    [
      GATEWAY,
      "Warning: Secret 'brave.api_key' not found for server 'brave', setting BRAVE_API_KEY=<UNKNOWN>",
      'docker mcp secret set brave.api_key=',
    ],
    [
      GATEWAY,
      'Post "http://localhost/secrets": dial unix /root/.docker/desktop/jfs.sock: connect: no such file or directory',
      'Use a file of NAME=VALUE lines',
    ],
    [
      GATEWAY,
      '- playwright: /sbin/docker-init: /lib/x86_64-linux-gnu/libc.so.6: version `GLIBC_2.38\' not found (required by /sbin/docker-init)\n  > Can\'t start playwright: failed to connect: calling "initialize": EOF',
      'docker mcp gateway run --servers playwright --verbose',
    ],
    [server('docker.exe', 'run', '--rm', 'mcp/fetch'), '', 'Add -i'],
  ])('%j: %s', (definition, stderr, hint) => {
    expect(hintForDocker(definition, stderr)).toContain(hint);
  });

  it('there is none for other programs, other messages, and containers without a problem', () => {
    expect(hintForDocker(server('npx', 'docker'), 'the input device is not a TTY')).toBeUndefined();
    expect(hintForDocker(RUN, 'Traceback (most recent call last):')).toBeUndefined();
    expect(hintForDocker(server('docker', 'run', '-it', 'x'), '')).toBeUndefined();
    expect(hintForDocker(server('docker', 'run', '--interactive', 'x'), '')).toBeUndefined();
  });
});

describe('a gateway', () => {
  const own = ['mcp-find', 'mcp-add', 'mcp-remove', 'mcp-config-set', 'mcp-exec', 'code-mode'].map((name) => ({
    name,
  }));

  it('that lists only its own tools, or none, gets a notice with the command', () => {
    expect(noticesForTools(GATEWAY, own)[0]).toContain('docker mcp server enable NAME');
    expect(noticesForTools(GATEWAY, [])[0]).toContain("only the gateway's own tools");
  });

  it('with servers gets no notice, and neither does another server', () => {
    expect(noticesForTools(GATEWAY, [...own, { name: 'search' }])).toEqual([]);
    expect(noticesForTools(RUN, own)).toEqual([]);
  });
});

it('explains what the gateway answers to a call if the container of the server exits', () => {
  const literal = 'failed to connect: calling "initialize": EOF';
  expect(hintForGateway(GATEWAY, literal)).toMatch(
    /^A container of the gateway exited .* docker mcp gateway run --verbose$/,
  );
  expect(hintForGateway(GATEWAY, 'authentication required')).toBeUndefined();
  expect(hintForGateway(RUN, literal)).toBeUndefined();
});
