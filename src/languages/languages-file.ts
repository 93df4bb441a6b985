/** The languages that programs can be written in, and how each runs. */

export interface Language {
  readonly name: string;
  readonly aliases: readonly string[];
  /** Undefined for that of sessions (`MCP_BRIDGE_IMAGE`). */
  readonly image: string | undefined;
  /** `node`: our runner for Node, whose programs can call servers. `shell`: `command` is run in /workspace. */
  readonly runner: 'node' | 'shell';
  /** With `{file}` for the entry file; the arguments of the program follow. Used by `shell`. */
  readonly command: readonly string[];
  /** Default name of the entry file. */
  readonly fileName: string;
  readonly extensions: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  /** Whether it needs a file system whose files can be executed: compiled programs. */
  readonly canExecuteFiles: boolean;
  /** Undefined for `MCP_BRIDGE_TIMEOUT`. */
  readonly timeoutMs: number | undefined;
  /** These three: undefined for those of sessions. */
  readonly memoryBytes: number | undefined;
  readonly pids: number | undefined;
  readonly workspaceBytes: number | undefined;
}

export interface Languages {
  readonly all: readonly Language[];
  find(nameOrAlias: string): Language | undefined;
  byFileName(fileName: string): Language | undefined;
}

const MIB = 1024 * 1024;
const SAME_AS_SESSIONS = { timeoutMs: undefined, memoryBytes: undefined, pids: undefined, workspaceBytes: undefined };

const DEFAULTS: readonly Language[] = [
  {
    name: 'javascript',
    aliases: ['js', 'node'],
    image: 'node:24-slim',
    runner: 'node',
    command: [],
    fileName: 'main.mjs',
    extensions: ['.js', '.mjs', '.cjs'],
    env: {},
    canExecuteFiles: false,
    ...SAME_AS_SESSIONS,
  },
  {
    name: 'typescript',
    aliases: ['ts'],
    image: 'node:24-slim',
    runner: 'node',
    command: [],
    fileName: 'main.ts',
    extensions: ['.ts', '.mts'],
    env: {},
    canExecuteFiles: false,
    ...SAME_AS_SESSIONS,
  },
  {
    name: 'go',
    aliases: ['golang'],
    image: 'golang:1.26',
    runner: 'shell',
    command: ['go', 'run', '{file}'],
    fileName: 'main.go',
    extensions: ['.go'],
    env: {
      GOPROXY: 'off',
      GOTOOLCHAIN: 'local',
      GOFLAGS: '-mod=mod',
      GOTELEMETRY: 'off',
      GOCACHE: '/tmp/go-cache',
      GOPATH: '/tmp/go',
      GOTMPDIR: '/tmp',
      CGO_ENABLED: '0',
    },
    canExecuteFiles: true,
    ...SAME_AS_SESSIONS,
    // The standard library is compiled in each new sandbox, which takes 10 s of two processors.
    timeoutMs: 120_000,
    memoryBytes: 1024 * MIB,
    workspaceBytes: 512 * MIB,
  },
  {
    name: 'bash',
    aliases: ['sh', 'shell'],
    image: undefined,
    runner: 'shell',
    command: ['bash', '{file}'],
    fileName: 'main.sh',
    extensions: ['.sh', '.bash'],
    env: {},
    canExecuteFiles: false,
    ...SAME_AS_SESSIONS,
  },
  {
    name: 'python',
    aliases: ['py', 'python3'],
    image: undefined,
    runner: 'shell',
    command: ['python3', '{file}'],
    fileName: 'main.py',
    extensions: ['.py'],
    env: {},
    canExecuteFiles: false,
    ...SAME_AS_SESSIONS,
  },
];

/** The defaults, changed by `languages.json` in the state directory. */
export async function readLanguages(_stateDir: string): Promise<Languages> {
  const all = DEFAULTS;
  return {
    all,
    find: (name) => all.find((one) => [one.name, ...one.aliases].includes(name.toLowerCase())),
    byFileName: (name) => all.find(({ extensions }) => extensions.some((extension) => name.endsWith(extension))),
  };
}
