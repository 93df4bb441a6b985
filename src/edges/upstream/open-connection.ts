/**
 * Opens the connection to a server. A process is started here; the code for remote servers is loaded only if there is one.
 * The SDK's client does the handshake of both protocol eras.
 */
import { createDeferred } from '../../core/base/deferred.ts';
import { isObject, type JsonObject } from '../../core/base/is-object.ts';
import type { ProcessDefinition, RemoteDefinition, UpstreamDefinition } from '../../core/base/server-definition.ts';
import type { ApiDefinition } from './api/open-api.ts';
import { childEnvironment } from './child-env.ts';
import {
  type ConnectOptions,
  createTraffic,
  establish,
  explainHandshake,
  type ServerConnection,
} from './connection.ts';
import { Failures } from './failures.ts';
import { type HandshakeMode, performHandshake } from './handshake.ts';
import { packageRunner, StartClock } from './package-runner.ts';
import { createResultMask } from './result-mask.ts';
import { createMask, secretsOf } from './secrets.ts';
import { StdioClientTransport } from './stdio-transport.ts';

/**
 * So many lines on stdout before the first message end the start of a server: a program that prints without end is none.
 * Chosen, far above any banner.
 */
const MAX_STRAY_LINES = 1_000;
/** What the stderr of a server may contain if the probe made it exit. */
const MENTIONS_PROBE =
  /initiali[sz]e|discover|method|request|message|protocol|handshake|json|unexpected|TypeError|KeyError|AttributeError|panic/i;

/**
 * Starts or reaches the server and does the handshake. Rejects with `SERVER_START_FAILED` or, for a remote server, with
 * `SERVER_UNREACHABLE`, `SERVER_PROTOCOL` or `LOGIN_REQUIRED`; nothing is left running then.
 */
export async function openConnection(
  definition: UpstreamDefinition,
  options: ConnectOptions,
): Promise<ServerConnection> {
  options.onStep?.('resolved');
  const connection = await openAny(definition, options);
  options.onStep?.('ready');
  return connection;
}

async function openAny(definition: UpstreamDefinition, options: ConnectOptions): Promise<ServerConnection> {
  if (definition.url !== undefined) {
    return isApi(definition)
      ? (await import('./api/open-api.ts')).openApi(definition, options)
      : (await import('./http/open-remote.ts')).openRemote(definition, options);
  }
  return definition.subcommands === undefined
    ? openProcess(definition, options)
    : (await import('./command/command-connection.ts')).openCommand(definition, options);
}

function isApi(definition: RemoteDefinition): definition is ApiDefinition {
  return definition.api !== undefined;
}

async function openProcess(definition: ProcessDefinition, options: ConnectOptions): Promise<ServerConnection> {
  const { legacyServers, logger } = options;
  const mode = legacyServers.has(definition.definitionHash) ? 'initialize' : 'probe';
  try {
    return await attempt(definition, options, mode);
  } catch (error) {
    if (!(error instanceof WrongModeError)) {
      throw error;
    }
    logger.debug(`Server '${definition.name}' ${error.message}; starting it again`);
    const connection = await attempt(definition, options, error.mode);
    if (error.mode === 'initialize') {
      legacyServers.add(definition.definitionHash);
    }
    return connection;
  }
}

/** The server may work with another handshake, which takes a new process. */
class WrongModeError extends Error {
  readonly mode: HandshakeMode;

  constructor(reason: string, mode: HandshakeMode) {
    super(reason);
    this.mode = mode;
  }
}

/** The program does not speak MCP. The message says how that shows. */
class NotMcpError extends Error {}

async function attempt(
  definition: ProcessDefinition,
  options: ConnectOptions,
  mode: HandshakeMode,
): Promise<ServerConnection> {
  const failures = new Failures(definition);
  let isModern = false;
  const unfit = createDeferred<NotMcpError>();
  const traffic = createTraffic(options);
  const clock = new StartClock(definition, options, options.signal);
  const transport = new StdioClientTransport({
    ...definition,
    env: childEnvironment(options.env, definition),
    guardian: options.guardian,
    logger: options.logger,
    lines: traffic.requests,
    mask: createResultMask(options.masksSecrets ? secretsOf(definition) : []),
    maskText: createMask(definition),
    onStderr: clock.noteLife,
    onStrayLine(count) {
      if (count === MAX_STRAY_LINES) {
        unfit.resolve(new NotMcpError(floodReason(transport.strayText)));
      }
    },
    intercept(message, bytes) {
      if (isEcho(message)) {
        unfit.resolve(new NotMcpError('it sends back what it receives'));
        return true;
      }
      isModern ||= isDiscovery(message);
      return traffic.intercept(message, bytes);
    },
  });
  traffic.attach(transport);
  try {
    await transport.start();
    noteStarted(definition, options, transport);
    const { signal, totalMs: startTimeoutMs } = clock;
    const shake = { ...options, mode, elicitation: traffic.elicitation, signal, startTimeoutMs };
    const client = await unlessUnfit(performHandshake(transport, shake), unfit.promise);
    return await establish(definition, { ...traffic, client, transport, failures });
  } catch (error) {
    await transport.close();
    throw await explainAttempt(error, { transport, failures, options, mode, isModern, clock });
  } finally {
    clock.stop();
  }
}

function noteStarted(definition: ProcessDefinition, options: ConnectOptions, transport: StdioClientTransport): void {
  options.onStep?.('started');
  const runner = packageRunner(definition);
  if (runner !== undefined) {
    options.onRunner?.(runner, () => transport.lastStderrLines().replace(/^.*\n/s, ''));
  }
}

function floodReason(first: string | undefined): string {
  return `it wrote ${MAX_STRAY_LINES.toLocaleString('en-US')} lines to stdout, and none is a message; the first: ${first}`;
}

/** The result of `handshake`; rejects as soon as `unfit` resolves. */
async function unlessUnfit<Value>(handshake: Promise<Value>, unfit: Promise<NotMcpError>): Promise<Value> {
  const ended = await Promise.race([handshake, unfit]);
  if (ended instanceof NotMcpError) {
    throw ended;
  }
  return ended;
}

interface FailedAttempt {
  /** Closed. */
  readonly transport: StdioClientTransport;
  readonly failures: Failures;
  readonly options: ConnectOptions;
  readonly mode: HandshakeMode;
  /** Whether the server answered `server/discover`. */
  readonly isModern: boolean;
  readonly clock: StartClock;
}

/** The error of a failed attempt: a `WrongModeError` if another handshake may work. */
async function explainAttempt(error: unknown, attempted: FailedAttempt): Promise<Error> {
  const { transport, failures, options, mode, isModern, clock } = attempted;
  if (transport.pid === null) {
    return failures.notSpawned(error);
  }
  const { endedItself, strayText } = transport;
  const stderr = transport.lastStderrLines();
  if (error instanceof NotMcpError) {
    return failures.notMcp(error.message);
  }
  if (mode === 'probe' && !clock.signal.aborted) {
    // Servers of some older SDKs exit at the first request that is not `initialize`.
    if (endedItself && hasDiedOfProbe(stderr, strayText)) {
      return new WrongModeError('exited when it received server/discover', 'initialize');
    }
    if (!endedItself && isModern) {
      return new WrongModeError('answered server/discover only after it was sent initialize', 'patient');
    }
  }
  return endedItself
    ? failures.endedAtStart(await transport.exited, stderr, strayText)
    : failures.notReady(explainHandshake(error, options.signal, clock.overdue), stderr, strayText);
}

/** A program that prints something else is no server, unless its last words are about the probe itself. */
function hasDiedOfProbe(stderr: string, strayText: string | undefined): boolean {
  return strayText === undefined ? stderr === '' || MENTIONS_PROBE.test(stderr) : stderr.includes('server/discover');
}

/** Whether a message is one that only a client sends. */
function isEcho({ method }: JsonObject): boolean {
  return method === 'server/discover' || method === 'initialize';
}

/** Whether a message is the answer of a 2026-07-28 or later server to `server/discover`. */
function isDiscovery({ result }: JsonObject): boolean {
  return isObject(result) && Array.isArray(result['supportedVersions']);
}
