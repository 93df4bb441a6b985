/** `doctor`: tries every engine that may be used and says which one runs sessions, what isolation that is, and why not another. */
import { arch, platform } from 'node:os';
import type { Settings } from '../config/settings.ts';
import { findEngines } from '../engines/detect.ts';
import { ENGINE_NAMES, type Engine, type EngineName, type Refusal } from '../engines/engine.ts';
import { isEngineFault } from '../engines/failover.ts';
import { whyUnusable } from '../engines/try-engine.ts';
import type { BridgeError } from '../errors.ts';
import { ERROR_CODES } from '../errors.ts';
import { VERSION } from '../package.ts';
import type { DoctorCommand } from './cli/doctor.ts';
import type { CommandContext } from './context.ts';
import { engineOptions } from './engine-options.ts';

export interface DoctorOptions extends CommandContext {
  readonly writeOut: (text: string) => void;
}

/** One engine, tried. Also the shape of an element of `engines` in the JSON. */
interface Finding {
  readonly engine: EngineName;
  readonly isUsable: boolean;
  /** What keeps code in; of an engine that can be used. */
  readonly isolation?: string;
  /** Kind, place and what is known of it; of an engine that is installed. */
  readonly description?: string;
  /** Why it cannot be used, or what happens before it is, in one clause. */
  readonly reason?: string;
  /** One next step, when there is one. */
  readonly hint?: string;
  /** Whether sessions wait for it to be mended rather than take a weaker one. */
  readonly isBlocking?: boolean;
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
  readonly engines: readonly Finding[];
}

/** Prints the diagnosis; resolves with 0 when sessions can run, else with the exit code of `ENGINE_UNAVAILABLE`. */
export async function doctor(command: DoctorCommand, { logger, settings, writeOut }: DoctorOptions): Promise<number> {
  const { absent, engines } = findEngines({ ...engineOptions(settings, logger), pullPolicy: 'never' });
  const tried = await Promise.all(engines.map((engine) => examine(engine, settings)));
  await Promise.all(engines.map((engine) => engine.sweep({ own: true })));
  const findings = [...tried, ...absent.map(notInstalled)].toSorted(inOrder);
  const first = findings.find(({ isUsable, isBlocking }) => isUsable || isBlocking === true);
  const diagnosis: Diagnosis = {
    version: VERSION,
    node: process.versions.node,
    platform: `${platform()} ${arch()}`,
    requested: settings.runtime,
    runs: first?.isUsable === true ? first.engine : null,
    engines: findings,
  };
  writeOut(command.isJson ? `${JSON.stringify(diagnosis, undefined, 2)}\n` : renderDiagnosis(diagnosis));
  return diagnosis.runs === null ? ERROR_CODES.ENGINE_UNAVAILABLE.exitCode : 0;
}

async function examine(engine: Engine, settings: Settings): Promise<Finding> {
  const error = await whyUnusable(engine);
  const { description, isolation, name } = engine;
  if (error === undefined) {
    return { engine: name, isUsable: true, isolation, description };
  }
  if (error.code === 'IMAGE_MISSING' && settings.pull === 'missing') {
    const reason = `the image ${settings.image} is not here; the first cell pulls it`;
    return { engine: name, isUsable: true, isolation, description, reason, hint: pullCommandOf(error) };
  }
  return {
    engine: name,
    isUsable: false,
    description,
    reason: error.message,
    ...(error.hint !== undefined && { hint: error.hint }),
    ...(!isEngineFault(error) && { isBlocking: true }),
  };
}

function pullCommandOf({ hint = '' }: BridgeError): string {
  return hint.replace(/^Run: /, 'To pull it now, run: ');
}

function notInstalled({ engine, hint, reason }: Refusal): Finding {
  return { engine, isUsable: false, reason, hint };
}

function inOrder(one: Finding, other: Finding): number {
  return ENGINE_NAMES.indexOf(one.engine) - ENGINE_NAMES.indexOf(other.engine);
}

function renderDiagnosis({ engines, node, platform: system, requested, runs, version }: Diagnosis): string {
  const width = Math.max(...engines.map(({ engine }) => engine.length)) + 2;
  const indent = ' '.repeat(width);
  const lines = engines.flatMap(({ description, engine, hint, isUsable, reason }) => [
    `${engine.padEnd(width)}${isUsable ? `can be used: ${description}` : `cannot be used: ${reason}`}`,
    ...(isUsable && reason !== undefined ? [`${indent}${reason}`] : []),
    ...(hint === undefined ? [] : [`${indent}${hint}`]),
  ]);
  const used = engines.find(({ engine }) => engine === runs);
  const verdict =
    used === undefined
      ? 'No engine can be used: no cell can run.'
      : `Sessions run on ${used.engine}: ${used.isolation}.`;
  return [
    `mcp-server-code-execution-mode ${version}, Node ${node}, ${system}, MCP_BRIDGE_RUNTIME=${requested}`,
    '',
    ...lines,
    '',
    verdict,
    '',
  ].join('\n');
}
