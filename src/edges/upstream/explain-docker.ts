/**
 * The usual failures of servers in containers and behind Docker's MCP gateway, with the command that fixes each. Pure. The
 * phrases are those of docker 28 and 29, podman 4.3, and issues of docker/mcp-gateway up to 2026.
 */
import type { ProcessDefinition, UpstreamDefinition } from '../../core/base/server-definition.ts';

/** The gateway's own tools. With a server enabled, it lists others too. */
const GATEWAY_TOOLS: ReadonlySet<string> = new Set(
  'mcp-find mcp-add mcp-remove mcp-config-set mcp-exec code-mode mcp-create-profile mcp-activate-profile'.split(' '),
);

interface Rule {
  readonly words: RegExp;
  /** `match` is the match of `words`, `program` is docker or podman. */
  readonly hint: (match: RegExpExecArray, program: string) => string;
}

const EXITED_IN_GATEWAY: Rule = {
  words: /(?:Can't start ([\w.-]+): )?failed to connect: calling "initialize": EOF/,
  hint: (match) => {
    const server = match[1];
    const which = server === undefined ? 'A container of the gateway' : `The container of '${server}'`;
    const only = server === undefined ? '' : ` --servers ${server}`;
    return `${which} exited before it answered. 'docker mcp server ls' shows whether it lacks a secret, a configuration or a login. To see its output, run: docker mcp gateway run${only} --verbose`;
  },
};

const RULES: readonly Rule[] = [
  {
    words: /'mcp' is not a docker command|unknown command: docker mcp/,
    hint: () =>
      "This docker has no MCP Toolkit. Update Docker Desktop and enable its MCP Toolkit, or install the plugin from https://github.com/docker/mcp-gateway. 'docker mcp version' shows whether it works.",
  },
  {
    words: /permission denied while trying to connect to the docker (?:daemon|API)/i,
    hint: () =>
      'This user may not use Docker. On Linux: sudo usermod -aG docker "$USER", then log in again (members of that group have root access).',
  },
  {
    words: /^Docker Desktop is not running/m,
    hint: () =>
      'Start Docker Desktop. In WSL, use "docker.exe" as the "command". For an engine without Docker Desktop, set DOCKER_MCP_IN_CONTAINER=1 in "env".',
  },
  {
    words:
      /Cannot connect to the Docker daemon|docker daemon is not running|error during connect|failed to connect to the docker API|Cannot connect to Podman/i,
    hint: (_match, program) =>
      program === 'podman'
        ? 'Start the machine: podman machine start'
        : "Start Docker Desktop, or the service (sudo systemctl start docker). 'docker info' shows when it is ready.",
  },
  {
    words: /the input device is not a TTY/i,
    hint: () => 'Remove -t (or --tty) from "args", and keep -i: an MCP server uses a pipe, not a terminal.',
  },
  {
    words:
      /pull access denied|unauthorized: |authentication required|unauthenticated request|requires 'docker login'|denied: requested access/i,
    hint: (_match, program) =>
      `The registry requires a login, or the image does not exist. Run ${program} login (with the registry's name unless it is Docker Hub), then pull the image once.`,
  },
  {
    words: /No such image: (\S+)|Unable to find image '([^']+)'|Error: (\S+): image not known/,
    hint: (match, program) => {
      const image = match[1] ?? match[2] ?? match[3] ?? 'IMAGE';
      return `The image is not on this machine and could not be pulled. To see why, run: ${program} pull ${image}`;
    },
  },
  {
    words: /bind source path does not exist: (\S+)|[Mm]ounts denied/,
    hint: (match) =>
      `A folder of -v or --mount ${match[1] === undefined ? 'does not exist, or is not shared with Docker Desktop' : `does not exist: ${match[1]}`}. Correct it in "args".`,
  },
  {
    words: /exec format error|does not match the detected host platform/i,
    hint: () =>
      'The image is for another processor architecture. Add --platform linux/amd64 (or linux/arm64) to "args", before the image.',
  },
  {
    words:
      /couldn't read secret ([\w.-]+)|[Ss]ecret (?:not found|missing)[: ]+([\w.-]+)|Warning: Secret '([\w.-]+)' not found/,
    hint: (match) => {
      const name = match[1] ?? match[2] ?? match[3] ?? 'NAME';
      return `The gateway has no value for the secret ${name}. Run: docker mcp secret set ${name}=…`;
    },
  },
  {
    words: /docker[\\/]desktop[\\/]jfs\.sock/,
    hint: () =>
      'Docker Desktop, which keeps the secrets of the gateway, is not running. Use a file of NAME=VALUE lines instead: add "--secrets=/path/to/file" to "args", after run.',
  },
  EXITED_IN_GATEWAY,
  { words: /No server is enabled/, hint: () => ENABLE_SERVERS },
];

const ENABLE_SERVERS =
  "Enable servers in the gateway: docker mcp server enable NAME. 'docker mcp server ls' shows which of them still need a secret (docker mcp secret set), a configuration or a login (docker mcp oauth authorize).";

/** The next step for a server in a container that failed with this stderr; undefined if no rule matches. */
export function hintForDocker(definition: ProcessDefinition, stderrTail: string): string | undefined {
  const program = containerProgram(definition);
  if (program === undefined) {
    return undefined;
  }
  for (const { words, hint } of RULES) {
    const match = words.exec(stderrTail);
    if (match !== null) {
      return hint(match, program);
    }
  }
  return lacksInteractive(definition)
    ? `Add -i to "args", after run: without it, the server in the container gets no input.`
    : undefined;
}

/** The next step if the gateway answers a call with the failure of one of its containers; undefined for any other error. */
export function hintForGateway(definition: UpstreamDefinition, message: string): string | undefined {
  const match = isGateway(definition) ? EXITED_IN_GATEWAY.words.exec(message) : null;
  return match === null ? undefined : EXITED_IN_GATEWAY.hint(match, 'docker');
}

/** Notices for a tool list: one if it is the list of a gateway without servers. */
export function noticesForTools(definition: UpstreamDefinition, tools: readonly { readonly name: string }[]): string[] {
  return isGateway(definition) && tools.every(({ name }) => GATEWAY_TOOLS.has(name))
    ? [`only the gateway's own tools are listed. ${ENABLE_SERVERS}`]
    : [];
}

function isGateway(definition: UpstreamDefinition): boolean {
  return (
    definition.url === undefined &&
    containerProgram(definition) === 'docker' &&
    /\bmcp gateway run\b/.test(definition.args.join(' '))
  );
}

/** Which of the two the command of a server is; undefined for any other. */
export function containerProgram({ command }: Pick<ProcessDefinition, 'command'>): 'docker' | 'podman' | undefined {
  const name = /([^\\/]+?)(?:\.exe)?$/i.exec(command)?.[1]?.toLowerCase();
  return name === 'docker' || name === 'podman' ? name : undefined;
}

/** Whether the arguments of `run` have no -i, neither alone nor combined as in -it. */
function lacksInteractive({ args }: ProcessDefinition): boolean {
  return args[0] === 'run' && !args.some((argument) => /^(?:--interactive(?:=true)?|-[a-z]*i[a-z]*)$/i.test(argument));
}
