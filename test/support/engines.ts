/**
 * The engines of this machine, for tests that start real sandboxes. `MCP_BRIDGE_TEST_ENGINES` names some of them (separated by
 * commas), or is `first` for the one that a bridge would use; by default, every usable one is tested. `MCP_BRIDGE_TEST_REQUIRE_ENGINES=1` makes a missing one fail.
 */
import { randomUUID } from 'node:crypto';
import { basename, delimiter, join } from 'node:path';
import { messageOf } from '../../src/core/base/errors.ts';
import { silentLogger } from '../../src/core/base/log.ts';
import {
  CONTAINER_ENGINE_NAMES,
  type Engine,
  type EngineName,
  type SandboxLimits,
} from '../../src/core/session/engine.ts';
import { createBubblewrapEngine } from '../../src/edges/engines/bubblewrap/bubblewrap.ts';
import { type CommandResult, type EngineCommand, runEngineCommand } from '../../src/edges/engines/client.ts';
import { clientEnvironment } from '../../src/edges/engines/client-env.ts';
import type { ContainerEngineOptions } from '../../src/edges/engines/container/container-engine.ts';
import { createDockerEngine } from '../../src/edges/engines/container/docker.ts';
import { createPodmanEngine } from '../../src/edges/engines/container/podman.ts';
import { createEmbeddedEngine, hasEmbeddedFiles } from '../../src/edges/engines/embedded/embedded.ts';
import { findExecutable } from '../../src/edges/engines/executable.ts';
import { createKubernetesEngine } from '../../src/edges/engines/kubernetes/kubernetes.ts';
import { type Capability, EMBEDDED_LACKS } from './capabilities.ts';
import { PATIENCE } from './patience.ts';

const MIB = 1024 * 1024;

/** The default limits of the product. */
export const TEST_LIMITS: SandboxLimits = {
  memoryBytes: 512 * MIB,
  pids: 128,
  tmpBytes: 64 * MIB,
  workspaceBytes: 128 * MIB,
};

export const TEST_IMAGES = {
  /** Without compiled files, like the official image; the product's default. */
  slim: 'python:3.14-slim',
  /** With compiled files. */
  compiled: 'localhost/bridge-python:3.14-pyc',
  /** With numpy, pandas, matplotlib and Pillow. */
  datascience: 'localhost/bridge-datascience:3.14',
} as const;

export interface TestEngine {
  /** Name in test titles and in `MCP_BRIDGE_TEST_ENGINES`. */
  readonly label: string;
  readonly name: EngineName;
  /** Environment for a bridge started as a child process, with `MCP_BRIDGE_RUNTIME` and a PATH that finds the engine. */
  readonly env: Readonly<Record<string, string>>;
  /** Whether cgroups enforce the limits of memory and processes; otherwise the supervisor's rlimits do. */
  readonly hasCgroupLimits: boolean;
  /** Whether it runs containers from images; otherwise only processes can be listed, named or removed. */
  readonly isContainer: boolean;
  /** Whether it runs the program it is given; otherwise its sandboxes contain the kernel and get nothing but frames. */
  readonly runsCommands: boolean;
  /** What Python lacks there. */
  readonly lacks: readonly Capability[];
  /** A new engine with its own instance id. */
  create(options?: Partial<ContainerEngineOptions>): Engine;
  /** Runs the engine's command, as a person would. */
  run(...commandArguments: string[]): Promise<CommandResult>;
}

interface Candidate {
  readonly label: string;
  readonly name: EngineName;
  /** Prepended to PATH. */
  readonly folder?: string;
  readonly ociRuntime?: string;
  /** Tested only if requested by name. */
  readonly isExtra?: boolean;
}

/** Rootful and rootless Podman; root can run both. */
const PODMANS: readonly Candidate[] =
  process.platform === 'linux' && process.getuid?.() !== 0
    ? [{ label: 'podman-rootless', name: 'podman' }]
    : [
        { label: 'podman', name: 'podman' },
        {
          label: 'podman-rootless',
          name: 'podman',
          folder: join(import.meta.dirname, '..', 'fixtures', 'engines', 'rootless'),
          isExtra: true,
        },
      ];
const CANDIDATES: readonly Candidate[] = [
  ...PODMANS,
  {
    label: 'podman-gvisor',
    name: 'podman',
    ociRuntime: join(import.meta.dirname, '..', 'fixtures', 'engines', 'gvisor', 'runsc'),
    isExtra: true,
  },
  { label: 'docker', name: 'docker' },
  { label: 'bubblewrap', name: 'bubblewrap' },
  { label: 'embedded', name: 'embedded' },
  // The cluster that KUBECONFIG names. `.ci/kubernetes.sh` starts one.
  { label: 'kubernetes', name: 'kubernetes', isExtra: true },
];
export const CREATORS = {
  podman: createPodmanEngine,
  docker: createDockerEngine,
  bubblewrap: createBubblewrapEngine,
  embedded: createEmbeddedEngine,
  kubernetes: createKubernetesEngine,
} as const;
/** The command of each engine. The embedded one has only this Node. */
export const COMMANDS = {
  podman: 'podman',
  docker: 'docker',
  bubblewrap: 'bwrap',
  embedded: 'node',
  kubernetes: 'kubectl',
} as const;
const USABLE_TIMEOUT_MS = 10_000;
/** The slowest command is a pull. */
const RUN_TIMEOUT_MS = 600_000;

/**
 * The engines to test, and why other requested ones are missing. If a working engine lacks the image, it is pulled. Throws if a
 * required engine is missing.
 */
export async function findTestEngines(
  image: string = TEST_IMAGES.slim,
): Promise<{ engines: TestEngine[]; missing: string[] }> {
  const asked = process.env['MCP_BRIDGE_TEST_ENGINES']?.split(',').map((label) => label.trim());
  if (asked?.join() === 'first') {
    return findFirst(image);
  }
  const candidates = CANDIDATES.filter(({ label, isExtra }) =>
    asked === undefined ? isExtra !== true : asked.includes(label),
  );
  const unknown = asked?.filter((label) => !CANDIDATES.some((candidate) => candidate.label === label)) ?? [];
  const results = await Promise.all(candidates.map((candidate) => tryPatiently(candidate, image)));
  const engines = results.filter((result) => typeof result !== 'string');
  const missing = [
    ...results.filter((result) => typeof result === 'string'),
    ...unknown.map((label) => `${label}: unknown`),
  ];
  if (missing.length > 0 && process.env['MCP_BRIDGE_TEST_REQUIRE_ENGINES'] === '1') {
    throw new Error(`engines are missing: ${missing.join('; ')}`);
  }
  return { engines, missing };
}

/** The first usable one, in the order in which a bridge tries them; if there is none, why. */
async function findFirst(image: string): Promise<{ engines: TestEngine[]; missing: string[] }> {
  const missing: string[] = [];
  for (const candidate of CANDIDATES.filter(({ isExtra }) => isExtra !== true)) {
    const result = await tryCandidate(candidate, image);
    if (typeof result !== 'string') {
      return { engines: [result], missing: [] };
    }
    missing.push(result);
  }
  return { engines: [], missing };
}

/** An engine that `env` selects (a PATH, a CONTAINER_HOST, a DOCKER_CONTEXT …). */
export function testEngine(
  label: string,
  name: EngineName,
  env: Record<string, string>,
  hasCgroupLimits: boolean,
): TestEngine {
  const executable = findExecutable(COMMANDS[name], env) ?? COMMANDS[name];
  const isKubernetes = name === 'kubernetes';
  const command: EngineCommand = { executable, env: isKubernetes ? env : clientEnvironment(env) };
  const create = CREATORS[name];
  return {
    label,
    name,
    // Nodes of a test have no registry.
    env: { ...env, MCP_BRIDGE_RUNTIME: name, ...(isKubernetes && { MCP_BRIDGE_PULL: 'never' }) },
    hasCgroupLimits,
    isContainer: (CONTAINER_ENGINE_NAMES as readonly EngineName[]).includes(name),
    runsCommands: name !== 'embedded',
    // See `probes/exceptions.ts`.
    lacks: name === 'embedded' ? EMBEDDED_LACKS : label === 'podman-gvisor' ? ['shared memory'] : [],
    create: (options = {}) =>
      create({
        image: TEST_IMAGES.slim,
        limits: TEST_LIMITS,
        user: '65534:65534',
        pullPolicy: 'never',
        instanceId: `test-${randomUUID().slice(0, 8)}`,
        executable,
        env,
        logger: silentLogger,
        ...options,
      }),
    run: (...commandArguments) => runEngineCommand(command, commandArguments, { timeoutMs: RUN_TIMEOUT_MS }),
  };
}

/** The environment of this process. */
export function processEnvironment(): Record<string, string> {
  return Object.fromEntries(
    Object.entries(process.env).filter((entry): entry is [string, string] => entry[1] !== undefined),
  );
}

/** Like a test that failed, an engine that did is tried once more on a machine that runs several suites. */
async function tryPatiently(candidate: Candidate, image: string): Promise<TestEngine | string> {
  const result = await tryCandidate(candidate, image);
  if (typeof result !== 'string' || PATIENCE <= 1) {
    return result;
  }
  const second = await tryCandidate(candidate, image);
  if (typeof second !== 'string') {
    console.log(`Passed when run again: ${result}`);
  }
  return second;
}

/** The engine, or why it cannot be tested. */
async function tryCandidate(
  { label, name, folder, ociRuntime }: Candidate,
  image: string,
): Promise<TestEngine | string> {
  const env = processEnvironment();
  if (folder !== undefined) {
    env['PATH'] = `${folder}${delimiter}${env['PATH'] ?? ''}`;
  }
  if (name === 'embedded' && !hasEmbeddedFiles()) {
    return `${label}: dist/embedded is missing: run "npm run build"`;
  }
  const commands = ociRuntime === undefined ? [COMMANDS[name]] : [COMMANDS[name], basename(ociRuntime)];
  const absent = commands.find((command) => findExecutable(command, env) === undefined);
  if (absent !== undefined) {
    return `${label}: there is no command "${absent}"`;
  }
  // The kubelet limits memory; the supervisor stands in for a limit of processes.
  const probe = testEngine(label, name, env, name === 'kubernetes');
  if (!probe.isContainer) {
    return (await whyNotStarted(probe)) ?? probe;
  }
  const inspected = await Promise.race([
    probe.run('image', 'inspect', image),
    new Promise<undefined>((resolve) => {
      // oxlint-disable-next-line eslint/no-restricted-globals -- a time limit.
      setTimeout(resolve, USABLE_TIMEOUT_MS, undefined).unref();
    }),
  ]);
  if (inspected === undefined) {
    return `${label}: no answer within ${USABLE_TIMEOUT_MS} ms`;
  }
  const refusal = inspected.exitCode === 0 ? undefined : await pullImage(probe, image);
  if (refusal !== undefined) {
    return `${label}: ${refusal}`;
  }
  const engine = testEngine(label, name, env, await enforcesLimits(probe));
  return ociRuntime === undefined ? engine : withRuntime(engine, ociRuntime);
}

/** gVisor's own threads count as well, about 60 for a few processes. With a lower limit it exits with code 2. */
const GVISOR_PIDS_FACTOR = 8;

/** The engine with gVisor as its OCI runtime. Programs see no cgroup there, so the supervisor enforces the limits, too. */
function withRuntime(engine: TestEngine, ociRuntime: string): TestEngine {
  return {
    ...engine,
    env: { ...engine.env, MCP_BRIDGE_OCI_RUNTIME: ociRuntime },
    hasCgroupLimits: false,
    create({ limits = TEST_LIMITS, ...options } = {}) {
      return engine.create({ ociRuntime, ...options, limits: { ...limits, pids: limits.pids * GVISOR_PIDS_FACTOR } });
    },
  };
}

/** Tries to start a sandbox, because only that shows what prevents it. */
async function whyNotStarted(engine: TestEngine): Promise<string | undefined> {
  const tried = engine.create();
  try {
    const sandbox = await tried.start({ command: ['python3', '-c', 'pass'], session: 'try' });
    // A preloaded kernel exits when its input ends.
    sandbox.stdin.end();
    let stderr = '';
    sandbox.stdout.resume();
    sandbox.stderr.on('data', (chunk: Buffer) => {
      stderr += chunk.toString('utf8');
    });
    const exit = await sandbox.exited;
    return exit.exitCode === 0
      ? undefined
      : `${engine.label}: ${tried.explainStartFailure(sandbox, exit, stderr).message}`;
  } catch (error) {
    return `${engine.label}: ${messageOf(error)}`;
  }
}

/** Pulls the image for a working engine, as a user's machine does. Returns why that failed, if it did. */
async function pullImage(engine: TestEngine, image: string): Promise<string | undefined> {
  const version = await engine.run('version');
  if (version.exitCode !== 0) {
    return version.stderr.trim();
  }
  const isShort = engine.name === 'podman' && image === TEST_IMAGES.slim;
  const name = isShort ? `docker.io/library/${image}` : image;
  console.log(`${engine.label}: pulling ${name}`);
  const { exitCode, stderr } = await engine.run('pull', '--quiet', name);
  return exitCode === 0 ? undefined : `${name} could not be pulled: ${stderr.trim().split('\n').at(-1)}`;
}

/** podman reports which controllers it may use. Docker's daemon runs as root here and may use all of them. */
async function enforcesLimits(engine: TestEngine): Promise<boolean> {
  if (engine.name === 'docker') {
    return true;
  }
  const info = await engine.run('info', '--format', '{{json .Host.CgroupControllers}}');
  return info.stdout.includes('memory') && info.stdout.includes('pids');
}
