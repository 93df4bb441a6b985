/** `doctor`: looks at everything that a cell needs, says what is not well and what to do about it, and with `--fix` does what is safe. */
import { arch, platform } from 'node:os';
import { ERROR_CODES } from '../base/errors.ts';
import { escapeControls, silentLogger } from '../base/log.ts';
import { VERSION } from '../base/package.ts';
import { StartTimes } from '../directory/server-test.ts';
import type { EngineName } from '../engines/engine.ts';
import type { CommandHost } from '../terminal/command.ts';
import type { Examination, Finding } from '../terminal/finding.ts';
import { startProgress } from '../terminal/progress.ts';
import type { DoctorCommand } from './command-line.ts';
import type { EngineVerdict } from './engine-verdicts.ts';
import { examineEngines } from './engines.ts';
import { examineMachine } from './machine.ts';
import { renderFindings } from './render-findings.ts';
import { examineServers } from './servers.ts';
import { examineSettings } from './settings.ts';

export interface DoctorOptions
  extends Pick<CommandHost, 'env' | 'createContext' | 'hasColours' | 'writeOut' | 'writeError'> {
  /** What other features look at. */
  readonly examinations: readonly Examination[];
}

/** What `--json` prints. */
interface Diagnosis {
  readonly version: string;
  readonly node: string;
  readonly platform: string;
  /** Value of `MCP_BRIDGE_RUNTIME`. */
  readonly requested: string;
  /** The engine that runs sessions; null when none can. */
  readonly runs: EngineName | null;
  /** The strongest first. */
  readonly engines: readonly EngineVerdict[];
  /** Everything that was looked at, engines included. */
  readonly findings: readonly Finding[];
}

const PROBLEM_EXIT_CODE = 1;

/** Prints the diagnosis; resolves with 0 when there is no problem, with the exit code of `ENGINE_UNAVAILABLE` when no cell can run, else with 1. */
export async function doctor(command: DoctorCommand, options: DoctorOptions): Promise<number> {
  const { writeOut, writeError } = options;
  const { context, findings } = await examineSettings(options);
  const { settings } = context;
  const times = new StartTimes();
  const tellPlain = (message: string): void => writeError(`${escapeControls(message)}\n`);
  const progress = await startProgress({ isJson: command.isJson, tellPlain, endsAtSignals: true });
  // What its parts would log stands in what they find.
  const configured = await context.openServers({ onStep: times.note, isSilent: true });
  configured.refresh();
  await configured.known.ready();
  const examined = { env: options.env, settings, servers: configured };
  const [machine, engines, servers, others] = await Promise.all([
    progress.watch('the machine', examineMachine(settings, command.isFix)),
    examineEngines({ settings, logger: silentLogger, isFix: command.isFix, progress }),
    examineServers(configured, command.isStartingServers, { times, progress }),
    Promise.all(options.examinations.map((examine) => progress.watch('the rest', examine(examined)))),
  ]).finally(progress.stop);
  await configured.pool.close();
  await configured.known.close();
  const diagnosis: Diagnosis = {
    version: VERSION,
    node: process.versions.node,
    platform: `${platform()} ${arch()}`,
    requested: settings.runtime,
    runs: engines.runs,
    engines: engines.verdicts,
    findings: [...findings, ...machine, ...engines.findings, ...servers, ...others.flat()],
  };
  writeOut(command.isJson ? `${JSON.stringify(diagnosis, undefined, 2)}\n` : render(diagnosis, options.hasColours));
  return exitCodeOf(diagnosis);
}

function exitCodeOf({ findings, runs }: Diagnosis): number {
  if (runs === null) {
    return ERROR_CODES.ENGINE_UNAVAILABLE.exitCode;
  }
  return findings.some(({ level }) => level === 'problem') ? PROBLEM_EXIT_CODE : 0;
}

function render({ engines, findings, requested, runs, version }: Diagnosis, hasColours: boolean): string {
  const used = engines.find(({ engine }) => engine === runs);
  const count = (level: Finding['level']): number => findings.filter((finding) => finding.level === level).length;
  const verdict = used === undefined ? 'No cell can run.' : `Sessions run on ${used.engine}: ${used.isolation}.`;
  return [
    `mcp-server-code-execution-mode ${version}, MCP_BRIDGE_RUNTIME=${requested}\n`,
    renderFindings(findings, hasColours),
    `${verdict} ${counted(count('problem'), 'problem')}, ${counted(count('warning'), 'warning')}.\n`,
  ].join('\n');
}

function counted(count: number, what: string): string {
  return `${count} ${what}${count === 1 ? '' : 's'}`;
}
