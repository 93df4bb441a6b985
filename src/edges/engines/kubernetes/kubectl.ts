/**
 * Runs `kubectl`. It knows every way to log in to a cluster, through the user's KUBECONFIG and its plugins, so the bridge needs to
 * know none of them.
 */
import { delimiter, resolve } from 'node:path';
import { type CommandResult, type EngineCommand, runEngineCommand } from '../client.ts';
import type { Environment } from '../client-env.ts';

/** Where Pods run, and what the cluster needs to run them. */
export interface Placement {
  /** Path of `kubectl`; by default it is looked up on PATH. */
  readonly kubectl?: string | undefined;
  /** By default the current context of the configuration. */
  readonly context?: string | undefined;
  /** By default that of the context. */
  readonly namespace?: string | undefined;
  readonly imagePullPolicy?: 'Always' | 'IfNotPresent' | 'Never' | undefined;
  /** Names of Secrets. */
  readonly imagePullSecrets?: readonly string[] | undefined;
  readonly nodeSelector?: Readonly<Record<string, string>> | undefined;
  readonly tolerations?: readonly Toleration[] | undefined;
  readonly runtimeClass?: string | undefined;
  readonly annotations?: Readonly<Record<string, string>> | undefined;
  /** The Pod in which the bridge runs, if it does. */
  readonly owner?: PodOwner | undefined;
  /** A SandboxWarmPool of agent-sandbox from which Pods come. Most of the above is then up to its template. */
  readonly warmPool?: string | undefined;
}

/** A Pod with which sandboxes are deleted. It must be in their namespace; otherwise the cluster deletes them at once. */
export interface PodOwner {
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
}

export interface Toleration {
  readonly key: string;
  /** Any value if undefined. */
  readonly value?: string | undefined;
  /** Any effect if undefined. */
  readonly effect?: string | undefined;
}

/** A cluster that hangs is reported within this time; one far away needs seconds. Chosen. */
const TIMEOUT_MS = 20_000;

export class Kubectl {
  readonly command: EngineCommand;
  readonly #flags: readonly string[];

  constructor(executable: string, env: Environment, { context, namespace }: Placement) {
    this.command = { executable, env: environmentOf(env) };
    this.#flags = [
      ...(context === undefined ? [] : [`--context=${context}`]),
      ...(namespace === undefined ? [] : [`--namespace=${namespace}`]),
    ];
  }

  /** The arguments of a command, with those for the cluster. */
  argumentsOf(...words: readonly string[]): string[] {
    return [...this.#flags, ...words];
  }

  /** Runs a short command. Never rejects. */
  run(words: readonly string[], input?: string, timeoutMs: number = TIMEOUT_MS): Promise<CommandResult> {
    return runEngineCommand(this.command, this.argumentsOf(...words), {
      timeoutMs,
      ...(input === undefined ? {} : { input }),
    });
  }

  /** Creates what the manifest says. */
  create(manifest: object, timeoutMs?: number): Promise<CommandResult> {
    // Without validation, which would first fetch the schemas of everything that the cluster knows.
    const words = ['create', '--validate=false', '--output=name', '--filename=-'];
    return this.run(words, JSON.stringify(manifest), timeoutMs);
  }
}

/**
 * All variables but the bridge's own. Unlike the commands of container engines, `kubectl` passes none of them on to a Pod, and
 * which of them a login plugin needs is for nobody to know.
 */
function environmentOf(env: Environment): Record<string, string> {
  const others = Object.entries(env).filter((entry): entry is [string, string] => {
    return entry[1] !== undefined && !entry[0].toUpperCase().startsWith('MCP_BRIDGE_');
  });
  // It runs in another folder.
  const files = env['KUBECONFIG']?.split(delimiter).map((path) => (path === '' ? '' : resolve(path)));
  return { ...Object.fromEntries(others), ...(files === undefined ? {} : { KUBECONFIG: files.join(delimiter) }) };
}
