/** What code may ask of the host, and how programs run: what they ask is answered as for the code that starts them. */

import type { ProgramRequest, ProgramResult } from '../../core/base/program.ts';
import { createHostCalls } from '../../core/calls/host-calls.ts';
import type { LastAnswers } from '../../core/calls/last-answers.ts';
import type { CallPipeline } from '../../core/calls/pipeline.ts';
import type { Steps } from '../../core/calls/steps.ts';
import { resolveName } from '../../core/catalog/names.ts';
import type { HandleCall } from '../../core/session/dispatch.ts';
import type { CellIdentity } from '../../core/session/events.ts';
import { DeclinedServers } from '../../edges/registries/declined.ts';
import { NewServers } from '../../edges/registries/find.ts';
import { limitsOf } from '../../edges/settings/engine-options.ts';
import { type Artifacts, artifactMethods } from '../../features/artifacts/index.ts';
import { fetchMethod } from '../../features/egress/index.ts';
import { programMethods, readLanguages, runProgram, Snippets, sharedSnippets } from '../../features/languages/index.ts';
import { type NewServersOptions, newServerMethods } from '../../features/new-servers/index.ts';
import {
  createPackageInstaller,
  type PackageInstaller,
  readBuilderProgram,
  readPackageIndex,
} from '../../features/packages/index.ts';
import type { KeptShapes } from '../../features/prestart/index.ts';
import { type SavedTools, savedToolMethods } from '../../features/saved-tools/index.ts';
import { SecretFile } from '../../features/secrets/index.ts';
import { type AuditTrail, recordProgram } from '../../record/audit/index.ts';
import type { BridgeTelemetry } from '../../record/telemetry/index.ts';
import { addEntry } from '../manage-servers/index.ts';
import type { Basis } from './basis.ts';
import type { Egress } from './build-egress.ts';
import type { ServersToCall } from './replayed-servers.ts';

export interface CallParts {
  readonly artifacts: Artifacts;
  readonly calls: CallPipeline;
  readonly egress: Egress;
  readonly lastAnswers: LastAnswers;
  readonly packages: PackageInstaller;
  readonly runProgram: RunProgram;
  readonly savedTools: SavedTools;
  readonly servers: ServersToCall;
  readonly shapes: KeptShapes | undefined;
  readonly steps: Steps;
  readonly trace: BridgeTelemetry | undefined;
  readonly trail: AuditTrail | undefined;
}

export function answerCalls(basis: Basis, parts: CallParts): HandleCall {
  const { logger, settings } = basis;
  const {
    artifacts,
    calls,
    egress,
    lastAnswers,
    packages,
    runProgram: run,
    savedTools,
    servers,
    shapes,
    steps,
    trace,
    trail,
  } = parts;
  const directory = servers.known;
  const answer = createHostCalls({
    pool: servers.pool,
    directory,
    logger,
    autoload: settings.autoload,
    calls,
    shapes,
    methods: [
      ...savedToolMethods(savedTools),
      ...artifactMethods(artifacts, (...saved) => trail?.artifactSaved(...saved)),
      ...lastAnswers.methods,
      ...steps.methods,
      ...packages.methods,
      ...newServerMethods(newServersFor(basis, servers)),
      fetchMethod(egress.broker),
      // Programs ask as the code that starts them.
      ...programMethods({ run, directory, handleCall: async (...call) => handleCall(...call) }),
    ],
    extraTools: () => savedTools.extraTools(),
  });
  const handleCall: HandleCall = trace?.within(answer) ?? answer;
  return handleCall;
}

/** What code may do about servers that are not configured: whoever is not at this machine, or cannot see the server, adds none. */
function newServersFor({ logger, options, settings }: Basis, { known, refresh }: ServersToCall): NewServersOptions {
  const { isDryRun, principal, replay, unattended } = options;
  // The words of code leave the machine only for where the user has said so: they could be anything that it has read.
  const { catalogs = [], profile, registry = 'off', stateDir } = settings;
  const unset =
    settings.registry === undefined ? 'not set, and code asks only a registry that the user has named' : 'off';
  const isOff = registry === 'off' && catalogs.length === 0 ? `MCP_BRIDGE_REGISTRY is ${unset}` : undefined;
  const noOne = replay !== undefined ? 'a recording is replayed' : unattended && 'no one is there to be asked';
  const isRestricted = principal !== undefined && (principal.name !== undefined || principal.servers !== undefined);
  return {
    servers: new NewServers({ ...settings, registry }, process.env),
    declined: new DeclinedServers(stateDir),
    whyNoSearch: noOne ?? isOff,
    whyNoProposal:
      noOne ??
      isOff ??
      (isDryRun === true ? 'nothing may change in a dry run' : undefined) ??
      (isRestricted ? 'only the operator of this bridge adds servers' : undefined) ??
      (profile === undefined ? undefined : `the profile '${profile}' would not have it`),
    isTaken: (name) => resolveName(refresh(), name) !== undefined || known.whyDisabled(name) !== undefined,
    storedSecrets: async () => new Set((await new SecretFile(stateDir).list()).map((secret) => secret.name)),
    async add(name, entry) {
      const file = await addEntry(name, entry, settings);
      logger.info(`Server '${name}' was added to ${file}: code proposed it, and the user agreed`);
      refresh();
      return file;
    },
  };
}

type RunOptions = Parameters<typeof runProgram>[1];
type ProgramCall = Pick<RunOptions, 'callTool' | 'onProgress' | 'onSource' | 'servers' | 'session' | 'signal'>;

/** Without a cell, a client asked for the program. */
export type RunProgram = (request: ProgramRequest, call: ProgramCall, cell?: CellIdentity) => Promise<ProgramResult>;

/**
 * Runs programs with what the settings say, and records them; the table of languages is read for each, so that changes apply at once.
 */
export function createRunProgram(
  { engine, logger, options, settings }: Basis,
  trail: AuditTrail | undefined,
): RunProgram {
  const { maxTimeoutSeconds, stateDir, timeoutSeconds } = settings;
  const languages = () => readLanguages(stateDir);
  const run = async (request: ProgramRequest, call: ProgramCall): Promise<ProgramResult> =>
    runProgram(request, {
      engine,
      languages: await languages(),
      snippets: new Snippets(stateDir, languages, sharedSnippets(settings, languages, logger.warning)),
      defaultTimeoutMs: timeoutSeconds * 1000,
      maxTimeoutMs: maxTimeoutSeconds * 1000,
      limits: limitsOf(settings),
      env: process.env,
      logger,
      countedFor: options.countedFor,
      ...call,
    });
  return async (request, call, cell) =>
    trail === undefined
      ? run(request, call)
      : recordProgram(trail, cell, request, (onSource) => run(request, { ...call, onSource }));
}

export function createPackages(
  { engine, folder, options, settings }: Basis,
  { policies }: Pick<ServersToCall, 'policies'>,
  trail: AuditTrail | undefined,
): PackageInstaller {
  return createPackageInstaller({
    engine,
    // Without a person, code gets no package that nobody has chosen.
    mode: options.unattended !== undefined && settings.packages === 'any' ? 'common' : settings.packages,
    policy: policies,
    minAgeMs: settings.packagesMinAgeMs,
    maxBytes: settings.packagesMaxBytes,
    maxAgeMs: settings.packagesMaxAgeMs,
    readIndex: () => readPackageIndex(process.env),
    readProgram: readBuilderProgram,
    stateDir: folder,
    operatorsDir: folder === settings.stateDir ? undefined : settings.stateDir,
    image: settings.image,
    preinstall: settings.preinstall,
    countedFor: options.countedFor,
    onInstalled: (call, installation) => trail?.packagesInstalled(call, installation),
    onRefused: (call, refused) => trail?.packagesRefused(call, refused),
  });
}
