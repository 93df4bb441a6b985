/** Pulls an image and reports progress. The command's output is not shown otherwise. */
import { BridgeError } from '../../../core/base/errors.ts';
import { KEPT_STDERR_BYTES } from '../../../core/base/limits.ts';
import type { EngineName, PrepareProgress } from '../../../core/session/engine.ts';
import { type EngineCommand, runEngineCommand } from '../client.ts';
import { NO_ERROR_OUTPUT } from '../failed-process.ts';
import { hintOfImageFailure, lastWordsOf } from './image-failure.ts';

/** Computes progress from the output of `pull`. */
export interface PullProgress {
  /** Takes the next line. Returns the progress if it changed. */
  next(line: string): PrepareProgress | undefined;
}

/** Pulls `reference`. Rejects with `IMAGE_MISSING`, which quotes the engine. */
export async function pullImage(
  engine: EngineName,
  command: EngineCommand,
  reference: string,
  onProgress: (progress: PrepareProgress) => void,
): Promise<void> {
  const progress = createPullProgress(reference);
  onProgress({ message: `pulling ${reference}`, percent: 0 });
  const result = await runEngineCommand(command, ['pull', reference], {
    endsWithProcess: true,
    onLine(line) {
      const changed = progress.next(line);
      if (changed !== undefined) {
        onProgress(changed);
      }
    },
  });
  if (result.exitCode !== 0) {
    const detail = lastWordsOf(result.stderr.slice(-KEPT_STDERR_BYTES)) || NO_ERROR_OUTPUT;
    throw new BridgeError('IMAGE_MISSING', `${engine} could not pull ${reference}: ${detail}`, {
      data: { engine, exitCode: result.exitCode, isPullFailure: true },
      hint: reference.startsWith('localhost/')
        ? hintOfImageFailure('pull', reference, detail)
        : `Check the network, then run: ${engine} pull ${reference}`,
    });
  }
  onProgress({ message: `pulled ${reference}`, percent: 100 });
}

/**
 * Counts layers, because without a terminal neither command prints bytes. docker prints a line when a layer is found, downloaded and
 * unpacked. podman prints one when it starts to copy a layer, and one for the image's configuration at the end.
 */
export function createPullProgress(reference: string): PullProgress {
  const stages = new Map<string, number>();
  let lastPercent = 0;
  return {
    next(line) {
      const step = dockerStep(line) ?? podmanStep(line);
      if (step === undefined) {
        return undefined;
      }
      stages.set(step.layer, Math.max(step.stage, stages.get(step.layer) ?? 0));
      const done = [...stages.values()].reduce((sum, stage) => sum + stage, 0);
      const percent = Math.floor((100 * done) / stages.size);
      if (percent <= lastPercent || percent >= 100) {
        return undefined;
      }
      lastPercent = percent;
      return { message: `pulling ${reference}: ${percent} % of its layers`, percent };
    },
  };
}

interface LayerStep {
  readonly layer: string;
  /** 0 (found) … 1 (complete). */
  readonly stage: number;
}

const DOCKER_STAGES: Readonly<Record<string, number>> = {
  'Pulling fs layer': 0,
  Waiting: 0,
  'Verifying Checksum': 0.5,
  'Download complete': 0.6,
  'Pull complete': 1,
  'Already exists': 1,
};

function dockerStep(line: string): LayerStep | undefined {
  const [, layer, status] = /^([0-9a-f]{12}): (.+)$/.exec(line.trim()) ?? [];
  const stage = status === undefined ? undefined : DOCKER_STAGES[status];
  return layer === undefined || stage === undefined ? undefined : { layer, stage };
}

function podmanStep(line: string): LayerStep | undefined {
  const [, layer, status] = /^Copying (?:blob|config) (?:sha256:)?([0-9a-f]{12,64})(.*)$/.exec(line.trim()) ?? [];
  if (layer === undefined || status === undefined) {
    return undefined;
  }
  return { layer: layer.slice(0, 12), stage: /done|skipped|already exists/.test(status) ? 1 : 0 };
}
