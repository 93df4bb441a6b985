/** A bridge from its settings: runs cells with what the features say about them, and ends everything. */
import { join } from 'node:path';
import { callOnce } from '../../core/base/call-once.ts';
import { CappedMap } from '../../core/base/capped-map.ts';
import type { AbsentPerson, CellAnswer, CellRequest, Person } from '../../core/base/cell.ts';
import { renderIssue } from '../../core/base/config-issue.ts';
import { Countdown } from '../../core/base/countdown.ts';
import { BridgeError, toBridgeError } from '../../core/base/errors.ts';
import { collectWhenIdle } from '../../core/base/garbage.ts';
import { MAX_CHECKPOINT_AGE_MS } from '../../core/base/limits.ts';
import type { Logger } from '../../core/base/log.ts';
import { resolveName } from '../../core/catalog/names.ts';
import { CellAsker } from '../../core/session/asker.ts';
import { CHECKPOINTS, sweepCheckpoints } from '../../core/session/checkpoint-store.ts';
import { KeptTasks } from '../../core/session/kept-tasks.ts';
import type { Bridge, ServerNames } from '../../core/session/lazy-bridge.ts';
import type { StandbyPool } from '../../core/session/standby.ts';
import type { Settings } from '../../edges/settings/settings.ts';
import { preloadClient } from '../../edges/upstream/handshake.ts';
import type { PackageInstaller } from '../../features/packages/index.ts';
import { createProfiles } from '../../features/policy/index.ts';
import { type Basis, type CreateOptions, createBasis } from './basis.ts';
import { describeHere } from './build-sessions.ts';
import { type BridgeParts, closeServers, createParts } from './parts.ts';
import type { ServersToCall } from './replayed-servers.ts';

/** Sessions whose person was asked about shared functions; clients choose their names. Chosen: as many as are remembered otherwise. */
const MAX_ASKED_SESSIONS = 1_000;

/** Rejects with `ENGINE_UNAVAILABLE` if no engine is installed; the next cell tries again. */
export async function createBridge(given: Settings, logger: Logger, options: CreateOptions = {}): Promise<Bridge> {
  const settings = { ...given, profile: options.profile ?? given.profile };
  refuseUnknownProfile(settings);
  const basis = await createBasis(settings, logger, options);
  const parts = await createParts(basis);
  const { engine } = basis;
  const { ahead, live, packages, sessions, servers, standby } = parts;
  const askFirst = createQuestions(parts, settings);
  live?.watched.runWith((request) => runNoticed(request, parts, askFirst));
  let hasSwept = false;
  let hasRunProgram = false;
  const noteFirst = afterFirst(() => {
    hasSwept = true;
    // Not before, so that it does not slow down a cold start.
    void sweep(basis);
  });

  return {
    runCell(request) {
      // A call that waits for an answer cannot be sent again, so servers ask nothing in a run without a person.
      offerElicitation(servers.pool, options.unattended === undefined ? request : {});
      const answer = runNoticed(request, parts, askFirst);
      return hasSwept ? answer : answer.then(noteFirst);
    },
    async runProgram(request, context) {
      hasRunProgram = true;
      return parts.runProgram(request, context);
    },
    listSessions: async () => sessions.list(),
    resetSession: (name) => sessions.reset(name),
    keepAnswers: (session, texts) => sessions.keepAnswers(session, texts),
    describeEngine: async () => (hasSwept ? describeHere(engine, settings) : undefined),
    listServers: () => listServers(servers),
    preload: preloadClient,
    startSandboxesAhead: () => standby.fill(),
    preinstall: () => fetchPackages(packages, standby),
    async startServersAhead(person) {
      // A server learns at its start what it may ask.
      offerElicitation(servers.pool, { person });
      await ahead?.start();
    },
    async close() {
      const isUsed = hasSwept || hasRunProgram || standby.hasStarted || settings.preinstall !== undefined;
      await closeParts(parts, () => (isUsed ? engine.sweep({ own: true }) : undefined));
      await basis.telemetry?.flush();
    },
  };
}

/** @param sweepOwn removes what sandboxes have left, when they have ended. */
async function closeParts(parts: BridgeParts, sweepOwn: () => unknown): Promise<void> {
  const { ahead, artifacts, checkpoints, live, modules, records, servers, sessions, shapes, standby } = parts;
  ahead?.stop();
  await Promise.all([sessions.close(), closeServers(servers), standby.close()]);
  const learned = [ahead, modules, shapes].map((memory) => memory?.close());
  const left = live?.hub.leave(live.watched);
  await Promise.all([...learned, artifacts.close(), checkpoints.clear(), records.close(), sweepOwn(), left]);
}

/** A sandbox that was started ahead before the packages were there is replaced by one that has them. */
async function fetchPackages(packages: PackageInstaller, standby: StandbyPool): Promise<void> {
  await packages.preinstall();
  standby.noteUse();
}

/** Passes answers on, and calls `act` with the first. */
function afterFirst(act: () => void): (answer: CellAnswer) => CellAnswer {
  const once = callOnce(act);
  return (answer) => {
    once();
    return answer;
  };
}

/**
 * The answer of a cell, with what the features say about it. Every cell takes this way, so it is one function, and nothing is awaited
 * that is no promise.
 */
async function runNoticed(asked: CellRequest, parts: BridgeParts, askFirst: AskFirst): Promise<CellAnswer> {
  const { dryRun, lastAnswers, live, records, standby, views, waiting } = parts;
  const request = live?.watched.open(asked) ?? asked;
  const end = collectWhenIdle();
  try {
    const asking = askFirst(request, asked);
    const looking = waiting?.notices(asked.session, asked.person !== undefined);
    if (asking !== undefined) {
      await asking;
    }
    const ran = await runTraced(request, parts);
    const shown = views?.withView(request, ran) ?? ran;
    const ended = live?.watched.noticed(request, shown) ?? shown;
    lastAnswers.note(ended);
    const noticed = records.withNotices(dryRun.withNotice(ended));
    const answer = noticed instanceof Promise ? await noticed : noticed;
    standby.noteUse();
    const told = looking && (await looking);
    return told === undefined || told.length === 0 ? answer : { ...answer, notices: [...answer.notices, ...told] };
  } finally {
    // From now on, it can be seen what the bridge does.
    void live?.hub.open();
    end();
  }
}

/** Throws `CONFIG_INVALID`. Later changes of the file leave nothing of a profile that is gone. */
function refuseUnknownProfile({ profile, stateDir }: Settings): void {
  if (profile !== undefined && createProfiles(stateDir)(profile) === undefined) {
    throw new BridgeError('CONFIG_INVALID', `${join(stateDir, 'policy.json')} defines no profile '${profile}'`, {
      hint: 'Add it to `profiles` there, or correct MCP_BRIDGE_PROFILE.',
    });
  }
}

/** Undefined if there is nothing to ask before the cell. `asked` is the request as it came. */
type AskFirst = (request: CellRequest, asked: CellRequest) => Promise<void> | undefined;

/**
 * Asks what must be known before a cell: about shared functions before the first one of each session, so that the session defines those
 * that are allowed, and about logins. Questions of scheduled runs are asked with the former.
 */
function createQuestions(
  { askToLogIn, savedTools, waiting }: Pick<BridgeParts, 'askToLogIn' | 'savedTools' | 'waiting'>,
  { approvalTimeoutMs: timeoutMs }: Settings,
): AskFirst {
  const sessions = new CappedMap<string, true>(MAX_ASKED_SESSIONS);
  const askAboutShared = async (person: Person, { code, signal }: CellRequest): Promise<void> => {
    const asker = new CellAsker({ person, code, clock: new Countdown(timeoutMs), timeoutMs });
    await savedTools.askAboutShared(asker, signal ?? new AbortController().signal);
    asker.close();
  };
  return (request, asked) => {
    const { person, session } = request;
    if (person === undefined || sessions.has(session)) {
      return askToLogIn?.(request);
    }
    sessions.set(session, true);
    // The operator has them on the page, so they are not listed there a second time, as questions of this session.
    const atClient = asked.ranBy === undefined ? asked.person : undefined;
    return askAboutShared(person, request)
      .then(() => atClient && waiting?.ask(atClient, request))
      .then(() => askToLogIn?.(request));
  };
}

function offerElicitation(
  pool: ServersToCall['pool'],
  { person }: { readonly person?: AbsentPerson | undefined },
): void {
  pool.offerElicitation(person && { form: {}, ...(person.opensPages ? { url: {} } : {}) });
}

/** Runs a cell, with its span if there are any. Throws or rejects if it does not run. */
function runTraced(request: CellRequest, { records, sessions, trace }: BridgeParts): Promise<CellAnswer> {
  const run = (): Promise<CellAnswer> => runInSession(request, { records, sessions });
  return trace?.runCell(request, run) ?? run();
}

function runInSession(
  request: CellRequest,
  { records, sessions }: Pick<BridgeParts, 'records' | 'sessions'>,
): Promise<CellAnswer> {
  const refuse = (error: unknown): never => {
    records.trail?.cellRefused(request, toBridgeError(error));
    throw error;
  };
  try {
    return sessions.get(request.session).run(request).catch(refuse);
  } catch (error) {
    return refuse(error);
  }
}

function listServers(servers: ServersToCall): ServerNames {
  const callable = servers.refresh();
  const errors = servers.issues().filter(({ level }) => level === 'error');
  return {
    names: callable.map(({ name }) => name),
    fileProblems: errors.map(renderIssue),
    resolve: (wanted) => resolveName(callable, wanted)?.name,
    whyDisabled: (name) => servers.known.whyDisabled(name),
  };
}

/** Removes sandboxes and checkpoints that bridges left behind. */
async function sweep({ engine, folder, logger }: Basis): Promise<void> {
  void new KeptTasks(folder).sweep();
  void sweepCheckpoints(join(folder, CHECKPOINTS), logger, MAX_CHECKPOINT_AGE_MS);
  const count = await engine.sweep();
  if (count > 0) {
    logger.info(`Removed ${count === 1 ? '1 sandbox' : `${count} sandboxes`} that earlier bridges left behind.`);
  }
}
