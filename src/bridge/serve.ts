/** `run`: serves MCP over stdio until the client goes away or a signal comes. */
import type { Readable, Writable } from 'node:stream';
import { artifactResources, createArtifacts } from '../artifacts/index.ts';
import { messageOf } from '../base/errors.ts';
import { VERSION } from '../base/package.ts';
import { createLazyBridge } from '../server/lazy-runner.ts';
import { serveClient } from '../server/server.ts';
import { StdioServerTransport } from '../server/stdio-transport.ts';
import type { CommandContext } from '../terminal/command.ts';
import { closeInTime, watchProcess } from '../terminal/lifecycle.ts';
import { tellStartFailures } from './start-failures.ts';

export interface ServeOptions extends CommandContext {
  readonly input: Readable;
  readonly output: Writable;
}

/** Serves until the end; resolves with the exit code once sessions and servers are gone. */
export async function serve(options: ServeOptions): Promise<number> {
  const { settings, logger } = options;
  const lifecycle = watchProcess(logger);
  const bridge = tellStartFailures(
    createLazyBridge(() => options.createBridge()),
    settings.stateDir,
    logger,
  );
  const transport = new StdioServerTransport(options.input, options.output, () => {
    lifecycle.end({ reason: 'the client closed the connection', exitCode: 0 });
  });
  const connection = serveClient(transport, {
    runner: bridge,
    resources: artifactResources(createArtifacts(settings.stateDir)),
    version: VERSION,
    outputMode: settings.outputMode,
    maxOutputChars: settings.maxOutputChars,
    defaultTimeoutSeconds: settings.timeoutSeconds,
    maxTimeoutSeconds: settings.maxTimeoutSeconds,
    logger,
    untilRoom: () => transport.untilRoom(),
    onIdle: () => {
      // The first cell tries again and reports the failure to the client.
      bridge.preload().catch((error: unknown) => logger.debug(`Preloading failed: ${messageOf(error)}`));
    },
  });

  const { reason, exitCode } = await lifecycle.ended;
  logger.info(`Shutting down: ${reason}.`);
  await closeInTime(async () => {
    // Sessions first: cells in flight are answered while the connection still stands.
    await bridge.close();
    await nextTurn();
    await connection.close();
    await flushed(options.output);
  }, logger);
  return exitCode;
}

/** Lets answers that are ready be written. */
function nextTurn(): Promise<void> {
  return new Promise((resolve) => {
    setImmediate(resolve);
  });
}

/** Resolves when everything written so far was taken, or cannot be taken any more. */
function flushed(output: Writable): Promise<void> {
  return new Promise((resolve) => {
    output.write('', () => resolve());
  });
}
