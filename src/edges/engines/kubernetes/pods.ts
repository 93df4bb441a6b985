/** Lists and removes our Pods, or the claims that stand for them. Those of another live bridge are never touched. */

import { INSTANCE_LABEL, readLabels } from '../container/labels.ts';
import { type ListedContainer } from '../container/sweep.ts';
import type { Kubectl } from './kubectl.ts';
import { CLAIMS } from './warm-pool.ts';

/** Of a Pod its phase, of a claim whether it has finished. */
const STATES = { Pod: '{.status.phase}', SandboxClaim: '{.status.conditions[?(@.type=="Finished")].status}' } as const;
const ENDED: ReadonlySet<string> = new Set(['Succeeded', 'Failed', 'True']);
const RESOURCES = { Pod: 'pods', SandboxClaim: CLAIMS } as const;
/** What stands for a sandbox in the cluster. */
export type SandboxKind = keyof typeof STATES;

/** Those with our labels, in any state. Rejects with what `kubectl` says. */
export async function listPods(kubectl: Kubectl, kind: SandboxKind): Promise<ListedContainer[]> {
  // `kubectl` prints maps as JSON. One object is one line.
  const fields = ['{.metadata.name}', STATES[kind], '{.metadata.labels}', '{.metadata.annotations}'];
  const format = `--output=jsonpath={range .items[*]}${fields.join('{"\\t"}')}{"\\n"}{end}`;
  const { exitCode, stderr, stdout } = await kubectl.run([
    'get',
    RESOURCES[kind],
    `--selector=${INSTANCE_LABEL}`,
    format,
  ]);
  if (exitCode !== 0) {
    throw new Error(stderr.trim() || `exit code ${exitCode}`);
  }
  return parsePods(stdout);
}

export function parsePods(text: string): ListedContainer[] {
  return text.split('\n').flatMap((line) => {
    const [id = '', state = '', ...maps] = line.split('\t');
    const labels = readLabels(Object.assign({}, ...maps.map(readMap)) as Record<string, string>);
    return labels === undefined ? [] : [{ id, isRunning: !ENDED.has(state), labels }];
  });
}

function readMap(text: string): object {
  return text === '' ? {} : (JSON.parse(text) as object);
}

/** Removes them, several with one command. What could not be removed is tried again with the next. */
export class PodRemover {
  readonly #kubectl: Kubectl;
  readonly #kind: SandboxKind;
  readonly #waiting = new Set<string>();
  #running: Promise<void> | undefined;

  constructor(kubectl: Kubectl, kind: SandboxKind) {
    this.#kubectl = kubectl;
    this.#kind = kind;
  }

  /** Resolves when the cluster has accepted it. Rejects if it has not. */
  async remove(...names: readonly string[]): Promise<void> {
    names.forEach((name) => this.#waiting.add(name));
    while (names.some((name) => this.#waiting.has(name))) {
      this.#running ??= this.#removeWaiting().finally(() => {
        this.#running = undefined;
      });
      await this.#running;
    }
  }

  async #removeWaiting(): Promise<void> {
    const names = [...this.#waiting];
    const words = [...deletion(this.#kind), '--wait=false', ...names];
    const { exitCode, stderr } = await this.#kubectl.run(words);
    if (exitCode !== 0) {
      throw new Error(stderr.trim() || `exit code ${exitCode}`);
    }
    names.forEach((name) => this.#waiting.delete(name));
  }
}

/** The command that deletes, without names. A claim takes its Pod along, which then has the grace of its template. */
export function deletion(kind: SandboxKind): string[] {
  const grace = kind === 'Pod' ? ['--grace-period=1'] : [];
  return ['delete', RESOURCES[kind], '--ignore-not-found', ...grace];
}
