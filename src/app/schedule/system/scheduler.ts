/**
 * What the schedulers of all operating systems have in common. Each is a plan: files to write, and commands that start, check and
 * stop it; so what `schedule system show` prints is what is done.
 */
import { existsSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { dirname, isAbsolute, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { BridgeError, messageOf } from '../../../core/base/errors.ts';
import { isObject } from '../../../core/base/is-object.ts';
import type { ProcessEnd } from '../../../core/base/run-process.ts';
import { quoteShellWord } from '../../../core/base/shell-words.ts';
import { JSON_BOUNDS, readUntrusted } from '../../../core/protocol/untrusted-json.ts';
import { makeFolders } from '../../../core/state/file-system.ts';
import { readBounded, writeAtomically } from '../../../core/state/state-files.ts';
import { describeExit, summarizeStderr } from '../../../edges/engines/failed-process.ts';

/** What wakes `schedule tick` each minute. */
export interface SystemScheduler {
  /** `systemd`, `launchd` or `the Task Scheduler`. */
  readonly name: string;
  /** The files and commands, for people. */
  describe(): string;
  /** Whether it wakes a program that is there. */
  isInstalled(): Promise<boolean>;
  /** The path of the installed program or script if it is gone, for example after an update of Node. */
  missingProgram(): Promise<string | undefined>;
  /** Writes and starts it. If it is already there, changes nothing; an old command is replaced. Rejects with `STATE_WRITE_FAILED`. */
  install(): Promise<void>;
  /** Stops it and removes its files. Rejects with `STATE_WRITE_FAILED`. */
  remove(): Promise<void>;
}

/** What is to be woken. */
export interface Woken {
  /** A name that only this state directory has. */
  readonly id: string;
  /** Absolute path of Node, absolute path of the script, arguments. */
  readonly command: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  readonly stateDir: string;
  readonly home: string;
}

/** Runs a program of the operating system to its end. Never rejects. */
export type RunTool = (words: readonly string[]) => Promise<ProcessEnd>;
type Commands = readonly (readonly string[])[];

interface PlannedFile {
  readonly path: string;
  readonly text: string;
  readonly isUtf16?: boolean;
}

export interface SchedulerPlan {
  readonly name: string;
  readonly files: readonly PlannedFile[];
  readonly start: Commands;
  /** All of them succeed while it is installed. */
  readonly checks: Commands;
  readonly stop: Commands;
  /** A file that its output goes to. */
  readonly output?: string;
  readonly notes: readonly string[];
}

/** The plan, or why it cannot work. */
export type Planned = SchedulerPlan | { readonly why: string };

/** What is installed: `command` and `env` of {@link Woken}. The path in the state directory, and in a URL. */
export const RECORD = 'schedules/.system.json';
const MAX_FILE_BYTES = 1024 * 1024;
/** launchd kills a command that does not end within 20 s, and takes 5 s more to forget it. */
const STOP_LIMIT_MS = 30_000;
const STOP_POLL_MS = 250;

export class PlannedScheduler implements SystemScheduler {
  readonly name: string;
  readonly #plan: SchedulerPlan;
  readonly #run: RunTool;
  readonly #record: PlannedFile;
  readonly #files: readonly PlannedFile[];

  constructor(plan: SchedulerPlan, { command, env, stateDir }: Woken, run: RunTool) {
    this.name = plan.name;
    this.#plan = plan;
    this.#run = run;
    const text = `${JSON.stringify({ command, env }, undefined, 2)}\n`;
    this.#record = { path: join(stateDir, RECORD), text };
    this.#files = [...plan.files, this.#record];
  }

  describe(): string {
    return describePlan({ ...this.#plan, files: this.#files });
  }

  async isInstalled(): Promise<boolean> {
    return (await this.missingProgram()) === undefined && (await this.#isActive());
  }

  async missingProgram(): Promise<string | undefined> {
    const text = await readBounded(this.#record.path, MAX_FILE_BYTES).catch(() => '');
    const read = readUntrusted(text, JSON_BOUNDS.request);
    const command = read.ok && isObject(read.value) ? read.value['command'] : undefined;
    const paths = Array.isArray(command) ? command.map(String).filter((word) => isAbsolute(word)) : [];
    return paths.find((path) => !existsSync(path));
  }

  async install(): Promise<void> {
    const wasActive = await this.#isActive();
    if (wasActive && (await Promise.all(this.#files.map(isWritten))).every(Boolean)) {
      return;
    }
    await Promise.all(this.#plan.files.map(write));
    if (wasActive) {
      await this.#stop();
    }
    const failed = await this.#runAll(this.#plan.start);
    if (failed !== undefined) {
      throw failed;
    }
    // Last: without it, an installation that was cut off is begun again.
    await write(this.#record);
  }

  async remove(): Promise<void> {
    await this.#stop();
    for (const path of [...this.#files.map((file) => file.path), this.#plan.output ?? []].flat()) {
      await rm(path, { force: true }).catch((error: unknown) => Promise.reject(unwritable(path, error)));
    }
  }

  async #isActive(): Promise<boolean> {
    return (await this.#runAll(this.#plan.checks)) === undefined;
  }

  /** It may not be installed, which the commands report as a failure; what counts is that it is gone, which launchd does later. */
  async #stop(): Promise<void> {
    const failed = await this.#runAll(this.#plan.stop);
    const endMs = performance.now() + STOP_LIMIT_MS;
    while (await this.#isActive()) {
      if (failed !== undefined || performance.now() > endMs) {
        throw failed ?? failure(this.#plan.stop[0], `had no effect within ${STOP_LIMIT_MS / 1000} s`);
      }
      await sleep(STOP_POLL_MS);
    }
  }

  /** Runs the commands until one fails; resolves with its failure. */
  async #runAll(commands: Commands): Promise<BridgeError | undefined> {
    for (const words of commands) {
      const end = await this.#run(words);
      if (!isSuccess(end)) {
        return failure(words, `failed: ${whyFailed(end)}`);
      }
    }
    return undefined;
  }
}

function bytesOf({ isUtf16, text }: PlannedFile): Buffer {
  return isUtf16 === true ? Buffer.from(`\ufeff${text}`, 'utf16le') : Buffer.from(text);
}

async function isWritten(file: PlannedFile): Promise<boolean> {
  return (await readBounded(file.path, MAX_FILE_BYTES).catch(() => undefined))?.equals(bytesOf(file)) === true;
}

async function write(file: PlannedFile): Promise<void> {
  try {
    await makeFolders(dirname(file.path), 0o700);
    await writeAtomically(file.path, [bytesOf(file)]);
  } catch (error) {
    throw unwritable(file.path, error);
  }
}

function describePlan({ files, name, notes, output, start, stop }: SchedulerPlan): string {
  const lines = (commands: Commands): string => commands.map((words) => `  ${shown(words)}\n`).join('');
  return [
    ...files.map(({ path, text }) => `${path}:\n${text.replace(/^(?=.)/gm, '  ')}`),
    `Commands that start ${name}:\n${lines(start)}`,
    `Commands that stop it:\n${lines(stop)}`,
    ...(output === undefined ? [] : [`Output of the last minute: ${output}\n`]),
    ...notes.map((note) => `${note}\n`),
  ].join('\n');
}

export function isSuccess({ endedBy, exitCode }: ProcessEnd): boolean {
  return endedBy === 'exit' && exitCode === 0;
}

/** What the program printed, or else how it ended. */
export function whyFailed(end: ProcessEnd): string {
  const { endedBy, reason, stderr, stdout } = end;
  const text = [stderr, stdout].map((bytes) => summarizeStderr(bytes.toString('utf8'))).find((said) => said !== '');
  return text ?? (endedBy === 'exit' || endedBy === 'signal' ? describeExit(end) : reason || endedBy);
}

function failure(words: readonly string[] = [], what: string): BridgeError {
  const hint = 'Run that command yourself to see its full output.';
  return new BridgeError('STATE_WRITE_FAILED', `'${shown(words)}' ${what}`, { hint });
}

function unwritable(path: string, cause: unknown): BridgeError {
  const hint = 'Make the folder writable for your user.';
  return new BridgeError('STATE_WRITE_FAILED', `${path} could not be changed: ${messageOf(cause)}`, { hint, cause });
}

function shown(words: readonly string[]): string {
  return words.map((word) => quoteShellWord(word)).join(' ');
}

/** Text as the content of an XML element. Parsers change line breaks, but not references to them. */
export function escapeXml(text: string): string {
  return text.replace(/[&<>\r\n\t]/g, (character) => `&#${character.charCodeAt(0)};`);
}
