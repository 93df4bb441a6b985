/**
 * What serves a client: the tools and the resources, and what is prepared before the first cell. Over stdio it is loaded after the
 * opening, when it is first needed or while the client is idle; over HTTP there is one for each principal.
 */

import { messageOf } from '../../core/base/errors.ts';
import { KeptTasks } from '../../core/session/kept-tasks.ts';
import type { LazyBridge } from '../../core/session/lazy-bridge.ts';
import { patienceOf } from '../../edges/clients/patience.ts';
import type { Settings } from '../../edges/settings/settings.ts';
import type { CommandContext } from '../../edges/terminal/command.ts';
import { artifactResources, createArtifacts } from '../../features/artifacts/index.ts';
import { createFrontTools } from '../../front/extra-tools/index.ts';
import type { ObserveCall } from '../../front/server/call-observer.ts';
import type { ConnectServer } from '../../front/server/front-connection.ts';
import type { FrontTool } from '../../front/server/front-tool.ts';
import { joinProviders, type ResourceProvider } from '../../front/server/resources.ts';
import type { CellObserver } from '../../front/server/run-python.ts';
import { type FrontOptions, serveClient } from '../../front/server/server.ts';
import { cellViewResources } from '../../record/chat-view/index.ts';
import { openTelemetry } from '../../record/telemetry/index.ts';
import { logStartFailures } from './start-failures.ts';
import { WarmUp, type WarmUpTask } from './warm-up.ts';

export interface FrontParts {
  readonly bridge: LazyBridge;
  /** Undefined for the usual ones. */
  readonly tools?: readonly FrontTool[] | undefined;
  /** See `CellRequest`. */
  readonly untilRoom?: FrontOptions['untilRoom'];
  /** Folder of what sessions leave; by default the state directory. */
  readonly folder?: string | undefined;
  /** By default one for this front alone. */
  readonly observer?: CellObserver | undefined;
  /** Watches the calls of the client. */
  readonly observeCall?: ObserveCall | undefined;
}

export interface Front {
  /** Serves one client over a transport. */
  readonly connect: ConnectServer;
  /** What a server needs, besides the introduction. */
  readonly options: Omit<FrontOptions, 'version' | 'onClient' | 'onToolsListed' | 'tools'> & {
    readonly tools: readonly FrontTool[];
  };
  /** Loads what the first cell needs. Starts nothing; logs a failure. */
  preload(): Promise<void>;
  readonly warmUp: WarmUp;
}

export function createFront(context: CommandContext, { bridge, tools, ...parts }: FrontParts): Front {
  const { settings, logger } = context;
  const observer = parts.observer ?? logStartFailures(settings.stateDir, logger);
  const folder = parts.folder ?? settings.stateDir;
  const options = {
    bridge,
    observer,
    resources: joinProviders([
      ...(!settings.apps ? [] : [cellViewResources()]),
      artifactResources(createArtifacts(folder)),
      createSnippetResources(context),
    ]),
    tools: tools ?? createFrontTools(settings.tools, { ...settings, bridge, logger }),
    outputMode: settings.outputMode,
    maxOutputChars: settings.maxOutputChars,
    defaultTimeoutSeconds: settings.timeoutSeconds,
    maxTimeoutSeconds: settings.maxTimeoutSeconds,
    keptTasks: new KeptTasks(folder),
    patienceOf: (...client: [string | undefined, boolean]) => patienceOf(settings.answerWithin, ...client),
    logger,
    untilRoom: parts.untilRoom,
    observeCall: parts.observeCall,
  };
  return {
    warmUp: new WarmUp(warmUpTasks(bridge, settings), logger),
    options,
    connect: (transport, introduction) => serveClient(transport, { ...introduction, ...options }),
    async preload() {
      try {
        await (await bridge.get()).preload();
      } catch (error) {
        // The first cell tries again and reports the failure to the client.
        observer.cellFailed(error);
        logger.debug(`Preloading failed: ${messageOf(error)}`);
      }
    },
  };
}

/** The same with what watches calls, if the environment asks for that. */
export async function createTracedFront(context: CommandContext, parts: FrontParts): Promise<Front> {
  const telemetry = await openTelemetry(process.env, context.settings, context.logger);
  return createFront(context, { ...parts, observeCall: telemetry?.observeCall });
}

/** What is ready before the first cell. */
function warmUpTasks(bridge: LazyBridge, { prestart, prewarm }: Settings): WarmUpTask[] {
  const sandboxes: WarmUpTask = { name: 'sandboxes', run: async () => (await bridge.get()).startSandboxesAhead() };
  const servers: WarmUpTask = {
    name: 'servers',
    run: async (person) => (await bridge.get()).startServersAhead(person),
  };
  return [...(prewarm === 0 ? [] : [sandboxes]), ...(prestart === 'off' ? [] : [servers])];
}

/** Loaded with the first request for resources: with it come commands, which serving does not need. */
function createSnippetResources({ logger, settings }: CommandContext): ResourceProvider {
  const load = async (): Promise<ResourceProvider> => {
    const { readLanguages, Snippets, snippetResources } = await import('../../features/languages/index.ts');
    return snippetResources(new Snippets(settings.stateDir, () => readLanguages(settings.stateDir)), logger);
  };
  return { list: async () => (await load()).list(), read: async (uri) => (await load()).read(uri) };
}
