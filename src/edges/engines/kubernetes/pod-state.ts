/** What the status of a Pod says about its start, and how to wait for it. */
import { type ChildProcess, spawn } from 'node:child_process';
import { endTree, LEADS_GROUP } from '../../../core/base/process-tree.ts';
import { CLIENT_DIRECTORY } from '../client.ts';
import type { Kubectl } from './kubectl.ts';
import { CONTAINER } from './pod.ts';

/** The parts of a status (Kubernetes API v1, PodStatus) that are read here. */
interface PodStatus {
  readonly phase?: string;
  readonly reason?: string;
  readonly message?: string;
  readonly conditions?: readonly { type?: string; status?: string; reason?: string; message?: string }[];
  readonly containerStatuses?: readonly {
    readonly name?: string;
    readonly state?: {
      readonly running?: object;
      readonly waiting?: { reason?: string; message?: string };
      readonly terminated?: { reason?: string; message?: string; exitCode?: number };
    };
  }[];
}

/** Why a Pod does not run. */
export interface PodTrouble {
  readonly kind: 'image' | 'unschedulable' | 'start' | 'ended' | 'slow';
  readonly detail: string;
}

export type PodState =
  | { readonly is: 'running' }
  | { readonly is: 'failed'; readonly trouble: PodTrouble }
  /** `trouble` is what keeps it waiting, if it says so. */
  | { readonly is: 'waiting'; readonly trouble: PodTrouble };

const IMAGE_REASONS = new Set([
  'ErrImagePull',
  'ImagePullBackOff',
  'ErrImageNeverPull',
  'InvalidImageName',
  'ImageInspectError',
  'RegistryUnavailable',
]);
const START_REASONS = new Set([
  'CreateContainerConfigError',
  'CreateContainerError',
  'RunContainerError',
  'CreatePodSandboxError',
  'PreCreateHookError',
  'CrashLoopBackOff',
]);

/** What there is of the parts of a reason. */
export function joined(...parts: (string | undefined)[]): string {
  return parts.filter(Boolean).join(': ');
}

/** Judges one status, as JSON. */
export function judgeStatus(text: string): PodState {
  const status = JSON.parse(text) as PodStatus;
  const state = status.containerStatuses?.find(({ name }) => name === CONTAINER)?.state;
  const failed = (kind: PodTrouble['kind'], detail: string): PodState => ({ is: 'failed', trouble: { kind, detail } });
  if (state?.running !== undefined) {
    return { is: 'running' };
  }
  if (state?.terminated !== undefined) {
    const { exitCode, message, reason } = state.terminated;
    return failed('ended', joined(reason, message, `exit code ${exitCode}`));
  }
  if (status.phase === 'Failed' || status.phase === 'Succeeded') {
    return failed('ended', joined(status.reason, status.message) || `it is ${status.phase}`);
  }
  const { message, reason = '' } = state?.waiting ?? {};
  if (IMAGE_REASONS.has(reason)) {
    return failed('image', joined(reason, message));
  }
  if (START_REASONS.has(reason)) {
    return failed('start', joined(reason, message));
  }
  const scheduled = status.conditions?.find(({ type }) => type === 'PodScheduled');
  if (scheduled?.status === 'False') {
    return { is: 'waiting', trouble: { kind: 'unschedulable', detail: joined(scheduled.reason, scheduled.message) } };
  }
  const detail = joined(reason, message) || 'no node has reported about it';
  return { is: 'waiting', trouble: { kind: 'slow', detail } };
}

/** How long a start may take: a client gives up after 60 s. */
const START_MS = 50_000;
/** A cluster that adds nodes needs minutes, and no client waits that long. Chosen. */
const UNSCHEDULABLE_MS = 15_000;

/** Watches the status of one Pod, or of what becomes one, from before it is created. */
export class StatusWatch {
  readonly #child: ChildProcess;
  #rest = '';
  #stderr = '';
  #last: PodTrouble = { kind: 'slow', detail: 'the cluster has not reported about it' };
  readonly #settled: Promise<PodTrouble | undefined>;
  #settle: (trouble: PodTrouble | undefined) => void = () => undefined;
  #timers: NodeJS.Timeout[] = [];
  readonly #judge: (status: string) => PodState;

  constructor(kubectl: Kubectl, resource: string, name: string, judge: (status: string) => PodState) {
    this.#judge = judge;
    this.#settled = new Promise((resolve) => {
      this.#settle = resolve;
    });
    // Each status on a line of its own.
    const watch = ['get', resource, `--field-selector=metadata.name=${name}`, '--watch'];
    const words = kubectl.argumentsOf(...watch, '--output=jsonpath={.status}{"\\n"}');
    this.#child = spawn(kubectl.command.executable, words, {
      ...(CLIENT_DIRECTORY === undefined ? {} : { cwd: CLIENT_DIRECTORY }),
      detached: LEADS_GROUP,
      windowsHide: true,
      env: { ...kubectl.command.env },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    this.#child.stdout?.setEncoding('utf8').on('data', (text: string) => this.#read(text));
    this.#child.stderr?.setEncoding('utf8').on('data', (text: string) => {
      this.#stderr = `${this.#stderr}${text}`.slice(-2_000);
    });
    const ended = (): void => {
      const detail = this.#stderr.trim() || 'kubectl stopped watching it';
      this.#settle({ kind: 'slow', detail });
    };
    this.#child.once('error', ended).once('close', ended);
  }

  /** Resolves when the container runs, with undefined, or cannot run. Call it when the Pod exists. */
  wait(): Promise<PodTrouble | undefined> {
    const giveUp = (ms: number, applies: () => boolean): void => {
      const check = () => (applies() ? this.#settle(this.#last) : undefined);
      this.#timers.push(setTimeout(check, ms));
    };
    giveUp(UNSCHEDULABLE_MS, () => this.#last.kind === 'unschedulable');
    giveUp(START_MS, () => true);
    return this.#settled.finally(() => this.end());
  }

  end(): void {
    this.#timers.forEach((timer) => clearTimeout(timer));
    endTree(this.#child, 'SIGKILL');
  }

  #read(text: string): void {
    const lines = `${this.#rest}${text}`.split('\n');
    this.#rest = lines.pop() ?? '';
    for (const line of lines.filter((each) => each.startsWith('{'))) {
      const state = this.#judge(line);
      if (state.is === 'running') {
        this.#settle(undefined);
      } else if (state.is === 'failed') {
        this.#settle(state.trouble);
      } else {
        this.#last = state.trouble;
      }
    }
  }
}
