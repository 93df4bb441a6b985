/** The embedded engine of this checkout for tests: as it was built, or with a stand-in for the program of its child. */
import { createHash } from 'node:crypto';
import { chmodSync, cpSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { it, onTestFinished } from 'vitest';
import { silentLogger } from '../../src/base/log.ts';
import { runEngineCommand } from '../../src/engines/client.ts';
import { BUILT_FILES_FOLDER } from '../../src/engines/embedded/built-files.ts';
import { createEmbeddedEngine, type EmbeddedOptions } from '../../src/engines/embedded/embedded.ts';
import type { LayerName } from '../../src/engines/embedded/layer.ts';
import type { Engine } from '../../src/engines/engine.ts';
import { findExecutable } from '../../src/engines/executable.ts';
import { processEnvironment, TEST_LIMITS } from './engines.ts';
import { becomeUser, isRoot, ORDINARY_USER_ID } from './ordinary-user.ts';

interface TestSurroundings {
  readonly label: string;
  readonly layer?: LayerName;
  /** The commands on PATH that lead to it, the one that makes namespaces first. */
  readonly commands: readonly string[];
  readonly words: string;
  /** Who starts it; the user of this process when left out. */
  readonly userId?: number;
}

/**
 * Arguments with which these commands succeed exactly where the kernel lets a user make namespaces. They share nothing with the command lines of
 * the layers, so a layer that is at fault itself fails its tests and is not passed over as missing.
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
 * What can be put around the child on this machine. Root tries each layer as an ordinary user too, because that is who most
 * users are. Each that this machine does not allow becomes a skipped test of the calling file, by name.
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

/** Why this user may not make namespaces, or cannot run this Node, in one clause. */
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

/** An engine of which nothing is left when the test ends. */
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

/** A PATH on which these commands are found and no others, started as this user; gone when the test ends. */
export function pathWith(commands: readonly string[], userId?: number): string {
  const folder = temporaryFolder();
  for (const command of commands) {
    // The layer uses setpriv itself, as the user it finds.
    addCommand(folder, command, command === 'setpriv' ? undefined : userId);
  }
  return folder;
}

/** A PATH on which only `name` is found, which runs this script; gone when the test ends. */
export function pathWithScript(name: string, script: string): string {
  const folder = temporaryFolder();
  writeFileSync(join(folder, name), `#!/bin/sh\n${script}\n`, { mode: 0o755 });
  return folder;
}

/**
 * Puts a command of this machine into a folder, as a link or, for another user, as a script that becomes that user. What the
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

/** A folder as the build makes it, in which `source` is the program of the child and there is nothing else. */
export function folderWithProgram(source: string): string {
  const folder = temporaryFolder();
  const sha256 = createHash('sha256').update(source).digest('hex');
  writeFileSync(join(folder, 'child.mjs'), source);
  writeFileSync(join(folder, 'manifest.json'), JSON.stringify({ files: { 'child.mjs': { sha256 } } }));
  return folder;
}

/** A copy of the built files. */
export function copyOfBuilt(): string {
  const folder = temporaryFolder();
  cpSync(BUILT_FILES_FOLDER, folder, { recursive: true });
  return folder;
}

/** A Node that is always started with `flags`. */
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

/** A folder that other users may read, too. */
function makeFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'bridge-embedded-'));
  chmodSync(folder, 0o755);
  return folder;
}

function removeFolder(folder: string): void {
  rmSync(folder, { recursive: true, force: true });
}
