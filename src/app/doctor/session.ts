/** Starts an empty session on the engine in use, and reports what was measured inside it. */
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { toBridgeError } from '../../core/base/errors.ts';
import { silentLogger } from '../../core/base/log.ts';
import { COMMAND, PACKAGE_ROOT } from '../../core/base/package.ts';
import { readKernelSources } from '../../core/session/boot.ts';
import { createCodePackStore } from '../../core/session/code-packs.ts';
import type { KernelConnection } from '../../core/session/connection.ts';
import { CONTAINER_ENGINE_NAMES, type Engine } from '../../core/session/engine.ts';
import { type Kernel, startKernel } from '../../core/session/kernel.ts';
import type { StartedReport } from '../../core/session/supervisor.ts';
import { limitsOf } from '../../edges/settings/engine-options.ts';
import type { Settings } from '../../edges/settings/settings.ts';
import { type Finding, noCellRuns } from '../../edges/terminal/finding.ts';

/** Time for a sandbox to become ready. */
const START_TIMEOUT_MS = 60_000;
/** The supervisor's report arrives within a few ms of the kernel's greeting, on a separate pipe. */
const REPORT_WAIT_MS = 500;

/** Starts a session, runs no cell, and ends it again. */
export async function examineSession(engine: Engine, settings: Settings): Promise<Finding[]> {
  let kernel: Kernel | undefined;
  const startedAt = performance.now();
  try {
    kernel = await startKernel(await kernelOptions(engine, settings));
    const { platform, python_version: python } = kernel.ready;
    const startMs = Math.round(performance.now() - startedAt);
    const place = hasImage(engine) ? ` from the image ${settings.image}` : '';
    const text = `a session starts on ${engine.name} in ${startMs} ms${place}: Python ${python}, ${platform}`;
    return [{ section: 'engines', level: 'ok', text }, ...(await describeBounds(kernel.connection, engine))];
  } catch (error) {
    return [noCellRuns(toBridgeError(error))];
  } finally {
    await kernel?.connection.kill('doctor is done');
  }
}

function hasImage({ name }: Engine): boolean {
  return (CONTAINER_ENGINE_NAMES as readonly string[]).includes(name);
}

async function kernelOptions(engine: Engine, settings: Settings) {
  return {
    engine,
    limits: limitsOf(settings),
    sources: await readKernelSources(fileURLToPath(new URL('sandbox-runtime/bridge_kernel', PACKAGE_ROOT))),
    packs: createCodePackStore(join(settings.stateDir, '.cache', 'python'), silentLogger),
    packKey: settings.image,
    startTimeoutMs: START_TIMEOUT_MS,
    session: 'doctor',
    generation: 1,
    hello: { saved_tools: [], autoload: false },
    manual: () => '',
    loaded: new Set<string>(),
    load: () => undefined,
    handleCall: () => Promise.reject(new Error('doctor runs no code')),
    logger: silentLogger,
    onProgress: () => undefined,
  };
}

/** What the supervisor in the sandbox measured. Engines with limits of their own describe them in their isolation. */
async function describeBounds(kernel: KernelConnection, engine: Engine): Promise<Finding[]> {
  const until = performance.now() + REPORT_WAIT_MS;
  while (kernel.measured === undefined && performance.now() < until) {
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
  const { measured } = kernel;
  if (measured === undefined || engine.missing !== undefined) {
    return [];
  }
  return judgeBounds(measured);
}

export const NO_LIMITS_MEASURED = 'the engine enforces no memory or process limit';

/** The limits and the filter that the supervisor in the sandbox found. */
export function judgeBounds({ memory_limit_bytes: memoryBytes, pids_limit: pids, seccomp }: StartedReport): Finding[] {
  const hasBounds = memoryBytes !== null && pids !== null;
  const bounds = hasBounds
    ? {
        level: 'ok' as const,
        text: `limits measured inside the sandbox: ${memoryBytes / 1024 / 1024} MiB of memory, ${pids} processes`,
      }
    : {
        level: 'warning' as const,
        text: `${NO_LIMITS_MEASURED}; the supervisor in the sandbox does instead (see: ${COMMAND} help sandboxes without-cgroup-limits)`,
      };
  const filter = seccomp
    ? { level: 'ok' as const, text: 'the system-call filter (seccomp) is active' }
    : { level: 'warning' as const, text: 'the bridge has no system-call filter (seccomp) for this CPU architecture' };
  return [bounds, filter].map((finding) => ({ section: 'engines', ...finding }));
}
