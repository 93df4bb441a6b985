/** `run`: serves MCP over stdio until the client disconnects or a signal arrives. */
import type { Readable, Writable } from 'node:stream';
import { artifactResources, createArtifacts } from '../artifacts/index.ts';
import { messageOf } from '../base/errors.ts';
import { VERSION } from '../base/package.ts';
import { createFrontTools } from '../extra-tools/index.ts';
import { LazyBridge } from '../server/lazy-bridge.ts';
import { joinProviders, type ResourceProvider } from '../server/resources.ts';
import { serveClient } from '../server/server.ts';
import { StdioServerTransport } from '../server/stdio-transport.ts';
import type { CommandContext } from '../terminal/command.ts';
import { closeInTime, watchProcess } from '../terminal/lifecycle.ts';
import { startPreinstall } from './preinstall.ts';
import { logStartFailures } from './start-failures.ts';

export interface ServeOptions extends CommandContext {
  readonly input: Readable;
  readonly output: Writable;
}

/** MCP requires a name, but a client may give an empty one. */
const UNNAMED_CLIENT = 'unnamed';

/** Serves until the end. Resolves with the exit code when all sessions and servers have ended. */
export async function serve(options: ServeOptions): Promise<number> {
  const { settings, logger } = options;
  const lifecycle = watchProcess(logger);
  let client = UNNAMED_CLIENT;
  const bridge = new LazyBridge(() => options.createBridge({ client: () => client }));
  const observer = logStartFailures(settings.stateDir, logger);
  const transport = new StdioServerTransport(options.input, options.output, () => {
    lifecycle.end({ reason: 'the client closed the connection', exitCode: 0 });
  });
  const connection = serveClient(transport, {
    bridge,
    observer,
    resources: joinProviders([artifactResources(createArtifacts(settings.stateDir)), createSnippetResources(options)]),
    version: VERSION,
    tools: createFrontTools(settings.tools, { ...settings, bridge, logger }),
    onClient: (name) => {
      client = name || UNNAMED_CLIENT;
    },
    outputMode: settings.outputMode,
    maxOutputChars: settings.maxOutputChars,
    defaultTimeoutSeconds: settings.timeoutSeconds,
    maxTimeoutSeconds: settings.maxTimeoutSeconds,
    logger,
    untilRoom: () => transport.untilRoom(),
    onIdle: () => {
      preload(bridge).catch((error: unknown) => {
        // The first cell tries again and reports the failure to the client.
        observer.cellFailed(error);
        logger.debug(`Preloading failed: ${messageOf(error)}`);
      });
    },
  });

  const stopPreinstall = startPreinstall(bridge, settings, logger);

  const { reason, exitCode } = await lifecycle.ended;
  stopPreinstall();
  logger.info(`Shutting down: ${reason}.`);
  await closeInTime(async () => {
    // Sessions first: running cells are answered while the connection is still open.
    await bridge.close();
    await nextTurn();
    await connection.close();
    await flushed(options.output);
  }, logger);
  return exitCode;
}

/** Loaded with the first request for resources: with it come commands, which serving does not need. */
function createSnippetResources({ logger, settings }: CommandContext): ResourceProvider {
  const load = async (): Promise<ResourceProvider> => {
    const { readLanguages, Snippets, snippetResources } = await import('../languages/index.ts');
    return snippetResources(new Snippets(settings.stateDir, () => readLanguages(settings.stateDir)), logger);
  };
  return { list: async () => (await load()).list(), read: async (uri) => (await load()).read(uri) };
}

async function preload(bridge: LazyBridge): Promise<void> {
  await (await bridge.get()).preload();
}

/** Lets answers that are ready be written. */
function nextTurn(): Promise<void> {
  return new Promise((resolve) => {
    setImmediate(resolve);
  });
}

/** Resolves when everything written so far was sent, or cannot be sent any more. */
function flushed(output: Writable): Promise<void> {
  return new Promise((resolve) => {
    output.write('', () => resolve());
  });
}
