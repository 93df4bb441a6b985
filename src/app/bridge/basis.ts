/** What every part of a bridge is made from. */
import type { Logger } from '../../core/base/log.ts';
import { COMMAND_LINE, type SessionUser } from '../../core/session/checkpoint-store.ts';
import type { Engine } from '../../core/session/engine.ts';
import { detectEngine } from '../../edges/engines/detect.ts';
import { engineOptions } from '../../edges/settings/engine-options.ts';
import type { Settings } from '../../edges/settings/settings.ts';
import type { BridgeOptions } from '../../edges/terminal/command.ts';
import type { Replay } from '../../record/recordings/index.ts';
import { openTelemetry, type Telemetry, withMeasure, withTraceIds } from '../../record/telemetry/index.ts';

export interface CreateOptions extends BridgeOptions {
  /** Answers all calls, instead of servers. Nothing is recorded or kept. */
  readonly replay?: Replay;
}

export interface Basis {
  /** As the operator made them; what sessions leave is in `folder`, not in `stateDir`. */
  readonly settings: Settings;
  readonly options: CreateOptions;
  /** In the labels of sandboxes and the names of records. */
  readonly instanceId: string;
  readonly logger: Logger;
  /** The logger of the process, which the bridges of all principals share. */
  readonly sharedLog: Logger;
  /** Undefined if nothing asks for it. */
  readonly telemetry: Telemetry | undefined;
  readonly engine: Engine;
  /** Where what sessions leave is: of the principal, or the state directory. What the operator decides, such as the policy, is shared. */
  readonly folder: string;
  /** Who uses it, so that what is learned of them is theirs. */
  readonly user: () => SessionUser;
}

/** Rejects with `ENGINE_UNAVAILABLE` if no engine is installed. */
export async function createBasis(settings: Settings, sharedLog: Logger, options: CreateOptions): Promise<Basis> {
  const { client, measure, principal } = options;
  const opened = await openTelemetry(process.env, settings, sharedLog);
  const telemetry = measure === undefined ? opened : withMeasure(opened, measure);
  const logger = withTraceIds(sharedLog, telemetry?.tracing, settings.logLevel);
  const folder = principal?.folder ?? settings.stateDir;
  const forEngine = engineOptions(settings, logger, folder);
  return {
    settings,
    options,
    instanceId: forEngine.instanceId,
    logger,
    sharedLog,
    telemetry,
    engine: detectEngine(forEngine),
    folder,
    // The folder in which the client started the bridge is usually that of a project; over HTTP, clients have started nothing.
    user: () => ({ folder: principal?.folder ?? process.cwd(), client: client?.() ?? COMMAND_LINE }),
  };
}
