/** `run`: serves MCP over stdio until the client disconnects or a signal arrives. */
import type { Readable, Writable } from 'node:stream';
import { VERSION } from '../../core/base/version.ts';
import { LazyBridge } from '../../core/session/lazy-bridge.ts';
import type { CommandContext } from '../../edges/terminal/command.ts';
import { closeInTime, watchProcess } from '../../edges/terminal/lifecycle.ts';
import { type ClientFacts, personBehind } from '../../front/server/client-facts.ts';
import { FrontConnection } from '../../front/server/front-connection.ts';
import type { FrontTool } from '../../front/server/front-tool.ts';
import type { Introduction } from '../../front/server/introduction.ts';
import { StdioServerTransport } from '../../front/server/stdio-transport.ts';
import { showRunPython, TOOL_NAME } from '../../front/server/tool-definition.ts';
import type { Front } from './front.ts';
import type { WarmUp } from './warm-up.ts';

export interface ServeOptions extends CommandContext {
  readonly input: Readable;
  readonly output: Writable;
}

/** MCP requires a name, but a client may give an empty one. */
const UNNAMED_CLIENT = 'unnamed';
/** Wait between the first `tools/list` and loading the rest, so that requests sent right after it are not delayed. */
const IDLE_DELAY_MS = 200;

/** Serves until the end. Resolves with the exit code when all sessions and servers have ended. */
export async function serve(options: ServeOptions): Promise<number> {
  const { settings, logger } = options;
  const lifecycle = watchProcess(logger);
  let client = UNNAMED_CLIENT;
  const bridge = new LazyBridge(() => options.createBridge({ client: () => client, listedTools }));
  const listedTools = () => introduction.tools.map(({ definition }) => definition);
  const transport = new StdioServerTransport(options.input, options.output, () => {
    lifecycle.end({ reason: 'the client closed the connection', exitCode: 0 });
  });
  const tools = await loadUnusualTools(options, bridge);
  const loadFront = once(async (): Promise<Front> => {
    const { createTracedFront } = await import('./front.ts');
    return createTracedFront(options, { bridge, tools, untilRoom: () => transport.untilRoom() });
  });
  const introduction: Introduction = {
    version: VERSION,
    tools: tools ?? [showRunPython({ ...settings, defaultTimeoutSeconds: settings.timeoutSeconds })],
    onClient: (name) => {
      client = name || UNNAMED_CLIENT;
    },
    onToolsListed: (facts) => {
      setTimeout(() => void loadRest(facts), IDLE_DELAY_MS).unref();
    },
  };
  const connection = new FrontConnection(transport, {
    introduction,
    loadServer: async () => (await loadFront()).connect,
    onerror: (error) => logger.debug(`MCP: ${error.message}`),
  });
  let warmUp: WarmUp | undefined;
  async function loadRest({ modes }: ClientFacts): Promise<void> {
    await connection.prepare();
    const front = await loadFront();
    await front.preload();
    logger.debug('Loaded what the first call needs.');
    warmUp = front.warmUp;
    warmUp.toolsListed(personBehind(modes));
  }
  await connection.start();
  const stopPreinstall = await startPreinstall(bridge, options);

  const { reason, exitCode } = await lifecycle.ended;
  stopPreinstall();
  warmUp?.close();
  logger.info(`Shutting down: ${reason}.`);
  await closeInTime(() => end(bridge, connection, options.output), logger);
  return exitCode;
}

async function end(bridge: LazyBridge, connection: FrontConnection, output: Writable): Promise<void> {
  // Sessions first: running cells are answered while the connection is still open.
  await bridge.close();
  await nextTurn();
  await connection.close();
  await flushed(output);
}

/** The tools of `MCP_BRIDGE_TOOLS`; undefined if they are the usual ones, which are shown before they are loaded. */
async function loadUnusualTools(
  { logger, settings }: CommandContext,
  bridge: LazyBridge,
): Promise<readonly FrontTool[] | undefined> {
  if (settings.tools.join() === TOOL_NAME) {
    return undefined;
  }
  const { createFrontTools } = await import('../../front/extra-tools/index.ts');
  return createFrontTools(settings.tools, { ...settings, bridge, logger });
}

async function startPreinstall(bridge: LazyBridge, { logger, settings }: CommandContext): Promise<() => void> {
  return settings.preinstall === undefined
    ? () => undefined
    : (await import('./preinstall.ts')).startPreinstall(bridge, settings.preinstall, logger);
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

/** The same promise for every call. */
function once<Value>(load: () => Promise<Value>): () => Promise<Value> {
  let loaded: Promise<Value> | undefined;
  return () => {
    loaded ??= load();
    return loaded;
  };
}
