/** `doctor`: checks everything that a cell needs, reports problems with their fixes, and applies the safe fixes with `--fix`. */

import { arch, platform } from 'node:os';
import { styleText } from 'node:util';
import { ERROR_CODES } from '../../core/base/errors.ts';
import { escapeControls, escapeInLines, renderJson, silentLogger } from '../../core/base/log.ts';
import { VERSION } from '../../core/base/package.ts';
import { counted } from '../../core/base/units.ts';
import type { EngineName } from '../../core/session/engine.ts';
import { StartTimes } from '../../edges/configured/server-test.ts';
import type { CommandHost } from '../../edges/terminal/command.ts';
import { type Examination, type Finding, LEVELS } from '../../edges/terminal/finding.ts';
import { startProgress } from '../../edges/terminal/progress-line.ts';
import type { DoctorCommand } from './command.ts';
import { type EngineVerdict, examineEngines } from './engines.ts';
import { examineMachine } from './machine.ts';
import { examineServers } from './servers.ts';
import { examineSettings } from './settings.ts';

export interface DoctorOptions
  extends Pick<CommandHost, 'env' | 'createContext' | 'hasColors' | 'writeOut' | 'writeError'> {
  /** Checks of other features. */
  readonly examinations: readonly Examination[];
}

/** What `--json` prints. */
interface Diagnosis {
  readonly version: string;
  readonly node: string;
  readonly platform: string;
  /** The value of `MCP_BRIDGE_RUNTIME`. */
  readonly requested: string;
  /** The engine that runs sessions; null if none can. */
  readonly runs: EngineName | null;
  /** The strongest engine first. */
  readonly engines: readonly EngineVerdict[];
  /** Everything that was checked, including the engines. */
  readonly findings: readonly Finding[];
}

const PROBLEM_EXIT_CODE = 1;

/** Prints the diagnosis. Resolves with 0 without problems, with the exit code of `ENGINE_UNAVAILABLE` if no cell can run, otherwise with 1. */
export async function doctor(command: DoctorCommand, options: DoctorOptions): Promise<number> {
  const { writeOut, writeError } = options;
  const { context, findings } = await examineSettings(options);
  const { settings } = context;
  const times = new StartTimes();
  const writePlain = (message: string): void => writeError(`${escapeControls(message)}\n`);
  const progress = await startProgress({ isJson: command.isJson, writePlain, endsAtSignals: true });
  // Silent, because the findings already contain what would be logged.
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
  writeOut(command.isJson ? renderJson(diagnosis) : render(diagnosis, options.hasColors));
  return exitCodeOf(diagnosis);
}

function exitCodeOf({ findings, runs }: Diagnosis): number {
  if (runs === null) {
    return ERROR_CODES.ENGINE_UNAVAILABLE.exitCode;
  }
  return findings.some(({ level }) => level === 'problem') ? PROBLEM_EXIT_CODE : 0;
}

function render({ engines, findings, requested, runs, version }: Diagnosis, hasColors: boolean): string {
  const used = engines.find(({ engine }) => engine === runs);
  const count = (level: Finding['level']): number => findings.filter((finding) => finding.level === level).length;
  const verdict = used === undefined ? 'No cell can run.' : `Sessions run on ${used.engine}: ${used.isolation}.`;
  return [
    `mcp-server-code-execution-mode ${version}, MCP_BRIDGE_RUNTIME=${requested}\n`,
    renderFindings(findings, hasColors),
    `${verdict} ${counted(count('problem'), 'problem')}, ${counted(count('warning'), 'warning')}.\n`,
  ].join('\n');
}

const COLORS = { ok: 'green', warning: 'yellow', problem: 'red' } as const;
const LEVEL_CHARS = Math.max(...LEVELS.map((level) => level.length));

/** The findings under their headings; sections are in the order of their first finding. */
export function renderFindings(findings: readonly Finding[], hasColors: boolean): string {
  const sections = [...new Set(findings.map(({ section }) => section))];
  return sections
    .map((section) => {
      const lines = findings
        .filter((finding) => finding.section === section)
        .map((one) => renderFinding(one, hasColors));
      return `${section[0]?.toUpperCase()}${section.slice(1)}\n${lines.join('')}`;
    })
    .join('\n');
}

/** The text may contain names and messages of servers, which must not control a terminal or look like another finding. */
function renderFinding({ hint, level, text }: Finding, hasColors: boolean): string {
  const word = level.padEnd(LEVEL_CHARS);
  const shown = hasColors ? styleText(COLORS[level], word, { validateStream: false }) : word;
  const indent = ' '.repeat(LEVEL_CHARS + 4);
  const escape = (part: string): string => escapeInLines(part).replaceAll('\n', `\n${indent}`);
  return `  ${shown}  ${escape(text)}\n${hint === undefined ? '' : `${indent}→ ${escape(hint)}\n`}`;
}
