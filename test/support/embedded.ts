/** The embedded engine of this checkout for tests, either as built or with another program in place of its child. */
import { createHash } from 'node:crypto';
import { chmodSync, cpSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { it, onTestFinished } from 'vitest';
import { silentLogger } from '../../src/core/base/log.ts';
import type { Engine } from '../../src/core/session/engine.ts';
import { runEngineCommand } from '../../src/edges/engines/client.ts';
import { BUILT_FILES_FOLDER } from '../../src/edges/engines/embedded/built-files.ts';
import { createEmbeddedEngine, type EmbeddedOptions } from '../../src/edges/engines/embedded/embedded.ts';
import type { LayerName } from '../../src/edges/engines/embedded/layer.ts';
import { findExecutable } from '../../src/edges/engines/executable.ts';
import { processEnvironment, TEST_LIMITS } from './engines.ts';
import { becomeUser, isRoot, ORDINARY_USER_ID } from './ordinary-user.ts';

interface TestSurroundings {
  readonly label: string;
  readonly layer?: LayerName;
  /** The commands needed on PATH; the one that creates namespaces comes first. */
  readonly commands: readonly string[];
  readonly words: string;
  /** The user who starts it; by default that of this process. */
  readonly userId?: number;
}

/**
 * Arguments with which these commands succeed if and only if the kernel lets a user create namespaces. They share nothing with
 * the command lines of the layers, so a broken layer fails its tests instead of being skipped as missing.
 */
const NAMESPACE_TRIALS: Readonly<Record<string, readonly string[]>> = {
  bwrap: ['--unshare-user', '--unshare-pid', '--unshare-net', '--ro-bind', '/', '/', '--'],
  unshare: ['--user', '--map-root-user', '--mount', '--pid', '--fork', '--net', '--'],
};

const SURROUNDINGS: readonly TestSurroundings[] = [
  {
    label: 'inside bubblewrap',
    layer: 'bubblewrap',
    commands: ['bwrap'],
    words: 'inside bubblewrap and a system-call filter',
  },
  {
    label: 'inside namespaces',
    layer: 'unshare',
    commands: ['unshare', 'setpriv'],
    words: 'inside Linux namespaces made by unshare',
  },
  { label: 'with no layer', commands: [], words: 'without an operating-system sandbox around it' },
];

/**
 * The layers of isolation that this machine offers for the child. Root also tries each layer as an ordinary user, because most
 * users are one. Each layer that this machine does not allow becomes a named, skipped test of the calling file.
 */
export async function coverSurroundings(): Promise<TestSurroundings[]> {
  const covered: TestSurroundings[] = [];
  for (const surroundings of SURROUNDINGS.flatMap(forEachUser)) {
    const reason = await whyNotAllowed(surroundings);
    if (reason === undefined) {
      covered.push(surroundings);
    } else if (process.env['MCP_BRIDGE_TEST_REQUIRE_ENGINES'] === '1') {
      throw new Error(`missing: ${surroundings.label}: ${reason}`);
    } else {
      it.skip(`not covered: embedded ${surroundings.label}: ${reason}`, () => undefined);
    }
  }
  return covered;
}

function forEachUser(surroundings: TestSurroundings): TestSurroundings[] {
  return isRoot && surroundings.layer !== undefined
    ? [surroundings, { ...surroundings, label: `${surroundings.label}, as an ordinary user`, userId: ORDINARY_USER_ID }]
    : [surroundings];
}

/** Why this user cannot create namespaces or run this Node, in one clause. */
async function whyNotAllowed({ commands: [command], userId }: TestSurroundings): Promise<string | undefined> {
  if (command === undefined) {
    return undefined;
  }
  if (process.platform !== 'linux') {
    return 'there are no namespaces on this system';
  }
  if (findExecutable(command, processEnvironment()) === undefined) {
    return `there is no command "${command}"`;
  }
  const folder = makeFolder();
  try {
    const executable = addCommand(folder, command, userId);
    const trial = [...(NAMESPACE_TRIALS[command] ?? []), process.execPath, '--version'];
    const { exitCode, stderr } = await runEngineCommand({ executable, env: {} }, trial);
    return exitCode === 0 ? undefined : stderr.trim();
  } finally {
    removeFolder(folder);
  }
}

let nextInstance = 0;

/** An engine that is swept when the test ends. */
export function embeddedEngine(options: Partial<EmbeddedOptions> = {}): Engine {
  nextInstance += 1;
  const instanceId = `embedded-${process.pid}-${nextInstance}`;
  const env = processEnvironment();
  const engine = createEmbeddedEngine({ instanceId, limits: TEST_LIMITS, env, logger: silentLogger, ...options });
  onTestFinished(async () => {
    await engine.sweep({ own: true });
  });
  return engine;
}

/** A PATH with only these commands, which run as this user. Removed when the test ends. */
export function pathWith(commands: readonly string[], userId?: number): string {
  const folder = temporaryFolder();
  for (const command of commands) {
    // The layer runs setpriv itself, as the current user.
    addCommand(folder, command, command === 'setpriv' ? undefined : userId);
  }
  return folder;
}

/** A PATH with only the command `name`, which runs this script. Removed when the test ends. */
export function pathWithScript(name: string, script: string): string {
  const folder = temporaryFolder();
  writeFileSync(join(folder, name), `#!/bin/sh\n${script}\n`, { mode: 0o755 });
  return folder;
}

/**
 * Adds a command of this machine to a folder, as a link or, for another user, as a script that switches to that user. What the
 * layer itself starts with it (`--map-user=…`) already runs as that user.
 */
function addCommand(folder: string, command: string, userId: number | undefined): string {
  const find = (name: string): string => findExecutable(name, processEnvironment()) ?? name;
  const path = join(folder, command);
  if (userId === undefined) {
    symlinkSync(find(command), path);
    return path;
  }
  const script = [
    '#!/bin/sh',
    `case "$2" in --map-user=*) exec ${find(command)} "$@" ;; esac`,
    `exec ${becomeUser(userId).join(' ')} ${find(command)} "$@"`,
  ];
  writeFileSync(path, `${script.join('\n')}\n`, { mode: 0o755 });
  return path;
}

/** A folder like the one that the build makes, but with `source` as the child program and nothing else. */
export function folderWithProgram(source: string): string {
  const folder = temporaryFolder();
  const sha256 = createHash('sha256').update(source).digest('hex');
  writeFileSync(join(folder, 'child.cjs'), source);
  writeFileSync(join(folder, 'manifest.json'), JSON.stringify({ files: { 'child.cjs': { sha256 } } }));
  return folder;
}

/** A copy of the built files. */
export function copyOfBuilt(): string {
  const folder = temporaryFolder();
  cpSync(BUILT_FILES_FOLDER, folder, { recursive: true });
  return folder;
}

/** A Node that always starts with `flags`. */
export function nodeWith(...flags: string[]): string {
  const path = join(temporaryFolder(), 'node');
  writeFileSync(path, `#!/bin/sh\nexec ${process.execPath} ${flags.join(' ')} "$@"\n`, { mode: 0o755 });
  return path;
}

function temporaryFolder(): string {
  const folder = makeFolder();
  onTestFinished(() => removeFolder(folder));
  return folder;
}

/** A folder that other users can read. */
function makeFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'bridge-embedded-'));
  chmodSync(folder, 0o755);
  return folder;
}

function removeFolder(folder: string): void {
  rmSync(folder, { recursive: true, force: true });
}
