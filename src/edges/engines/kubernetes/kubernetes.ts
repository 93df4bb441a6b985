/**
 * The kubernetes engine: each sandbox is a Pod, and `kubectl exec` is the pipe to it. Attaching to the container instead would write
 * every frame to the log of the node. A Pod is created, watched until it runs, and claimed; what then happens in it is described in
 * `sandbox-runtime/pod/holder.py`.
 */
import { readFile } from 'node:fs/promises';
import { PassThrough, type Readable } from 'node:stream';
import { BridgeError, messageOf } from '../../../core/base/errors.ts';
import { currentOwner } from '../../../core/base/owner.ts';
import { PACKAGE_ROOT } from '../../../core/base/package.ts';
import {
  type Engine,
  type EngineFact,
  type ListedSandbox,
  PROVIDED_BY_IMAGE,
  type Sandbox,
  type SandboxExit,
  type StartRequest,
  type SweepOptions,
} from '../../../core/session/engine.ts';
import { openPipe, type PipeProcess } from '../client.ts';
import { checkOptions } from '../container/argv.ts';
import type { ContainerEngineOptions } from '../container/container-engine.ts';
import { writeLabels } from '../container/labels.ts';
import { isOrphan } from '../container/sweep.ts';
import { createSandbox } from '../sandbox.ts';
import { examineCluster } from './examine.ts';
import { Kubectl, type Placement } from './kubectl.ts';
import { packetsInto } from './packets.ts';
import { CONTAINER, networkPolicy, POLICY_NAME, podManifest, type Sockets } from './pod.ts';
import { judgeStatus, StatusWatch } from './pod-state.ts';
import { deletion, listPods, PodRemover, type SandboxKind } from './pods.ts';
import { CLAIM_RIGHTS, POD_RIGHTS } from './rights.ts';
import { commandError, noFolders, noKubectl, podError } from './start-failure.ts';
import { ClaimWatch, claimManifest } from './warm-pool.ts';

export interface KubernetesOptions extends ContainerEngineOptions {
  readonly placement?: Placement | undefined;
}

/** How long a removed Pod may take to be gone: the kubelet needs a second or two. */
const GONE_MS = 30_000;
const NETWORK_REPORT = /^\{"report":"network","reached":"([^"]*)"\}\n/m;
/**
 * For how long sandboxes close their sockets after one has found no policy in force, before the policy is created and tried again;
 * and for how long a policy that was created is not created again. Chosen.
 */
const POLICY_MS = 10 * 60_000;
/** A login plugin or a service mesh may print this much before. Chosen. */
const MAX_BEFORE_REPORT_CHARS = 16 * 1024;

const NO_SOCKETS =
  'Network sockets, also those to 127.0.0.1: the cluster does not enforce network policies, so the sandbox refuses them.';

/** Creates the engine. Throws `CONFIG_INVALID` if an option is invalid. */
export function createKubernetesEngine(options: KubernetesOptions): Engine {
  checkOptions(options);
  return new KubernetesEngine(options);
}

class KubernetesEngine implements Engine {
  readonly name = 'kubernetes';
  readonly #options: KubernetesOptions;
  readonly #placement: Placement;
  readonly #kubectl: Kubectl;
  readonly #kind: SandboxKind;
  readonly #remover: PodRemover;
  readonly #owner = currentOwner();
  #programs: Promise<readonly [string, string]> | undefined;
  /** What the last Pod that tried has found; undefined before the first. */
  #isEnforced: boolean | undefined;
  /** In ms of `performance.now()`. Until then, sandboxes close their sockets without trying. */
  #closedUntil = 0;
  #policy: Promise<BridgeError | undefined> | undefined;
  #policyUntil = 0;
  #startedCount = 0;

  constructor(options: KubernetesOptions) {
    this.#options = options;
    this.#placement = inOneNamespace({
      imagePullPolicy: options.pullPolicy === 'never' ? 'Never' : 'IfNotPresent',
      ...options.placement,
    });
    this.#kubectl = new Kubectl(options.executable ?? 'kubectl', options.env, this.#placement);
    this.#kind = this.#placement.warmPool === undefined ? 'Pod' : 'SandboxClaim';
    this.#remover = new PodRemover(this.#kubectl, this.#kind);
  }

  get description(): string {
    const { context, namespace } = this.#placement;
    const where = [
      context === undefined ? 'the current context of kubectl' : `the context ${context}`,
      ...(namespace === undefined ? [] : [`the namespace ${namespace}`]),
    ];
    return `Pods of Kubernetes in ${where.join(', ')}`;
  }

  get isolation(): string {
    if (this.#isEnforced === undefined) {
      return 'a Pod of Kubernetes';
    }
    return this.#isEnforced
      ? 'a Pod of Kubernetes whose network policy is in force'
      : 'a Pod of Kubernetes; no network policy is in force, so the sandbox itself refuses network sockets';
  }

  /**
   * Each Pod tries for itself, and closes its sockets if anything answers: nodes may differ, and a policy may be deleted while the
   * bridge lives.
   */
  get #sockets(): Sockets {
    return performance.now() < this.#closedUntil ? 'closed' : 'try';
  }

  readonly provides = PROVIDED_BY_IMAGE;

  get missing(): string | undefined {
    return this.#isEnforced === false ? NO_SOCKETS : undefined;
  }

  async prepare(): Promise<void> {
    // The node pulls the image, as a part of the start.
  }

  async start(request: StartRequest): Promise<Sandbox> {
    if ((this.#options.mounts ?? []).length > 0) {
      throw noFolders();
    }
    this.#startedCount += 1;
    const name = `mcp-bridge-${this.#options.instanceId}-${this.#startedCount}`;
    this.#programs ??= readPrograms();
    const [holder, door] = await this.#programs;
    // Pods of a pool always try.
    const sockets = this.#kind === 'Pod' ? this.#sockets : 'try';
    try {
      const [pod] = await Promise.all([this.#runPod(name, request, holder), this.#ensurePolicy()]);
      const mode = request.isSupervised === true ? 'supervised' : 'plain';
      // The policy may have been refused meanwhile.
      const exec = ['exec', '--stdin', `--container=${CONTAINER}`, pod, '--'];
      const words = [...exec, 'python3', '-I', '-S', '-c', door, mode, this.#sockets, ...request.command];
      const child = await openPipe(this.#kubectl.command, this.#kubectl.argumentsOf(...words));
      return this.#watch(name, child, sockets);
    } catch (error) {
      void this.#remove(name);
      throw error;
    }
  }

  explainStartFailure(_sandbox: Sandbox, exit: SandboxExit, stderrTail: string): BridgeError {
    return commandError('starting Python in the Pod', stderrTail, exit);
  }

  async sweep(options: SweepOptions = {}): Promise<number> {
    const { instanceId, logger } = this.#options;
    if (options.own === true && this.#startedCount === 0) {
      return 0;
    }
    try {
      const now = new Date();
      const pods = await listPods(this.#kubectl, this.#kind);
      const leftovers = pods.filter((pod) =>
        pod.labels.instanceId === instanceId
          ? options.own === true
          : options.keepsOthers !== true && isOrphan(pod, now),
      );
      if (leftovers.length > 0) {
        await this.#remover.remove(...leftovers.map(({ id }) => id));
        logger.info(`kubernetes: removed ${leftovers.length} leftover Pod(s)`);
      }
      return leftovers.length;
    } catch (error) {
      logger.debug(`kubernetes: removing leftover Pods failed: ${messageOf(error)}`);
      return 0;
    }
  }

  async list(): Promise<ListedSandbox[]> {
    const now = new Date();
    const pods = await listPods(this.#kubectl, this.#kind);
    return pods.map(({ id, isRunning, labels }) => ({
      id,
      session: labels.session,
      createdAt: labels.createdAt,
      isRunning,
      bridgePid: labels.owner.pid,
      isLeftover: isOrphan({ id, isRunning, labels }, now),
    }));
  }

  async remove(id: string): Promise<void> {
    const words = [...deletion(this.#kind), `--timeout=${GONE_MS / 1000}s`, id];
    const { exitCode, stderr } = await this.#kubectl.run(words, undefined, GONE_MS + 5_000);
    if (exitCode !== 0) {
      throw new Error(stderr.trim() || `exit code ${exitCode}`);
    }
  }

  examine(): Promise<EngineFact[]> {
    return examineCluster(this.#kubectl, this.#kind === 'Pod' ? POD_RIGHTS : CLAIM_RIGHTS);
  }

  /** Creates the Pod or its claim, and resolves with the name of the Pod when it runs. Rejects with the reason if it cannot. */
  async #runPod(name: string, { session }: StartRequest, holder: string): Promise<string> {
    const { image, instanceId, limits, user } = this.#options;
    const labels = writeLabels({ instanceId, owner: this.#owner, session, createdAt: new Date() });
    const placement = this.#placement;
    if (this.#kind === 'SandboxClaim') {
      // Begins before there is anything: starting kubectl takes as long as creating it.
      const watch = new ClaimWatch(this.#kubectl, name);
      await this.#create('the claim', claimManifest({ name, labels, placement }, new Date()), watch);
      return watch.podName();
    }
    const manifest = podManifest({ name, labels, image, limits, user, placement, holder, sockets: this.#sockets });
    await this.#create('the Pod', manifest, new StatusWatch(this.#kubectl, 'pods', name, judgeStatus));
    return name;
  }

  async #create(what: string, manifest: object, watch: Pick<StatusWatch, 'wait' | 'end'>): Promise<void> {
    const created = await this.#kubectl.create(manifest);
    if (created.exitCode !== 0) {
      watch.end();
      throw created.exitCode === undefined && !created.isTimedOut
        ? noKubectl(this.#kubectl.command.executable, created.stderr)
        : commandError(`creating ${what}`, created.isTimedOut ? 'i/o timeout' : created.stderr);
    }
    const trouble = await watch.wait();
    if (trouble !== undefined) {
      throw podError(trouble, this.#options.image);
    }
  }

  #watch(name: string, child: PipeProcess, sockets: Sockets): Sandbox {
    const stderr = sockets === 'try' ? this.#readNetworkReport(child.stderr) : child.stderr;
    const base = createSandbox(name, child, () => this.#remove(name));
    // A Pod that has ended stays listed until someone removes it.
    const removed = base.exited.then(() => this.#remove(name));
    return {
      ...base,
      stdin: packetsInto(child.stdin),
      stderr,
      kill: async () => {
        await base.kill();
        await removed;
      },
    };
  }

  /** Takes out the line in which the first process says whether anything answered it. */
  #readNetworkReport(stderr: Readable): Readable {
    const rest = new PassThrough();
    let text: string | undefined = '';
    stderr.on('data', (chunk: Buffer) => {
      if (text === undefined) {
        rest.write(chunk);
        return;
      }
      text += chunk.toString('utf8');
      const reached = NETWORK_REPORT.exec(text)?.[1];
      if (reached !== undefined || text.length > MAX_BEFORE_REPORT_CHARS) {
        rest.write(text.replace(NETWORK_REPORT, ''));
        text = undefined;
        this.#learnNetwork(reached);
      }
    });
    stderr.once('close', () => rest.end(text));
    return rest;
  }

  #learnNetwork(reached: string | undefined): void {
    if (reached !== '') {
      const why = reached === undefined ? 'it could not be tried' : `a Pod reached ${reached}`;
      this.#closeSockets(`the cluster does not enforce the network policy (${why})`);
    } else if (this.#sockets === 'try') {
      this.#isEnforced = true;
    }
  }

  /** Created again after a while, for someone may have deleted it. Without the policy, sandboxes close their sockets, so this never rejects. */
  async #ensurePolicy(): Promise<void> {
    if (this.#sockets === 'closed') {
      return;
    }
    if (this.#policy === undefined || performance.now() >= this.#policyUntil) {
      this.#policyUntil = performance.now() + POLICY_MS;
      this.#policy = this.#createPolicy();
    }
    const error = await this.#policy;
    if (error !== undefined) {
      this.#closeSockets(`the network policy could not be created: ${error.message}`);
    }
  }

  #closeSockets(why: string): void {
    if (this.#sockets === 'closed') {
      return;
    }
    this.#isEnforced = false;
    this.#closedUntil = performance.now() + POLICY_MS;
    // When Pods try again, the policy is created before.
    this.#policyUntil = 0;
    this.#options.logger.daily(`kubernetes: ${why}; sandboxes refuse network sockets instead`);
  }

  async #createPolicy(): Promise<BridgeError | undefined> {
    const { exitCode, stderr } = await this.#kubectl.create(networkPolicy());
    if (exitCode === 0 || /AlreadyExists/.test(stderr)) {
      return undefined;
    }
    // Someone who may do more may have created it.
    const found = await this.#kubectl.run(['get', 'networkpolicy', POLICY_NAME, '--output=name']);
    return found.exitCode === 0 ? undefined : commandError('creating it', stderr);
  }

  /** Never rejects: the next removal or sweep finds what is left. */
  async #remove(name: string): Promise<void> {
    try {
      await this.#remover.remove(name);
    } catch (error) {
      this.#options.logger.debug(`kubernetes: ${name} could not be removed yet: ${messageOf(error)}`);
    }
  }
}

/** The sandboxes of a bridge in a Pod are beside it, unless that is not wanted. */
function inOneNamespace(placement: Placement): Placement {
  const { owner } = placement;
  const namespace = placement.namespace ?? owner?.namespace;
  if (owner !== undefined && namespace !== owner.namespace) {
    const text = `the owner of sandboxes is in the namespace ${owner.namespace}, but they are in ${namespace}`;
    throw new BridgeError('CONFIG_INVALID', `${text}, where the cluster would delete them at once`, {
      hint: 'Unset MCP_BRIDGE_KUBERNETES_OWNER, or run the bridge in the namespace of MCP_BRIDGE_KUBERNETES_NAMESPACE.',
    });
  }
  return { ...placement, namespace };
}

/** The first process of a Pod, and what `kubectl exec` runs. */
function readPrograms(): Promise<readonly [string, string]> {
  const read = (file: string) => readFile(new URL(`sandbox-runtime/pod/${file}`, PACKAGE_ROOT), 'utf8');
  return Promise.all([read('holder.py'), read('door.py')]);
}
