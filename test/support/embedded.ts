/** The embedded engine of this checkout for tests: as it was built, or with a stand-in for the program of its child. */
import { createHash } from 'node:crypto';
import { cpSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { it, onTestFinished } from 'vitest';
import { ARTIFACTS_FOLDER } from '../../src/engines/embedded/artifacts.ts';
import { createEmbeddedEngine, type EmbeddedOptions } from '../../src/engines/embedded/embedded.ts';
import { chooseSurroundings, LAYER_NAMES, type LayerName, readMachine } from '../../src/engines/embedded/layers.ts';
import type { Engine } from '../../src/engines/engine.ts';
import { findExecutable } from '../../src/engines/executable.ts';
import { silentLogger } from '../../src/log.ts';
import { processEnvironment, TEST_LIMITS } from './engines.ts';

interface TestSurroundings {
  readonly label: string;
  readonly layer?: LayerName;
  /** The commands on PATH that lead to it. */
  readonly commands: readonly string[];
  readonly words: string;
}

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
    commands: ['unshare'],
    words: 'inside Linux namespaces of its own',
  },
  { label: 'with no layer', commands: [], words: 'with no layer of the operating system around it' },
];

/** What can be put around the child on this machine. Each that cannot becomes a skipped test of the calling file, by name. */
export async function coverSurroundings(): Promise<TestSurroundings[]> {
  const covered: TestSurroundings[] = [];
  for (const surroundings of SURROUNDINGS) {
    const reason = surroundings.layer === undefined ? undefined : await whyNotAround(surroundings.layer);
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

async function whyNotAround(layer: LayerName): Promise<string | undefined> {
  const refused = LAYER_NAMES.filter((name) => name !== layer).map((name) => ({
    layer: name,
    reason: 'not asked for',
  }));
  const chosen = await chooseSurroundings(readMachine(ARTIFACTS_FOLDER, processEnvironment()), refused);
  return chosen.layer === layer ? undefined : refused.at(-1)?.reason;
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

/** A PATH on which these commands are found and no others; gone when the test ends. */
export function pathWith(commands: readonly string[]): string {
  const folder = temporaryFolder();
  for (const command of commands) {
    symlinkSync(findExecutable(command, processEnvironment()) ?? command, join(folder, command));
  }
  return folder;
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
  cpSync(ARTIFACTS_FOLDER, folder, { recursive: true });
  return folder;
}

/** A Node that is always started with `flags`. */
export function nodeWith(...flags: string[]): string {
  const path = join(temporaryFolder(), 'node');
  writeFileSync(path, `#!/bin/sh\nexec ${process.execPath} ${flags.join(' ')} "$@"\n`, { mode: 0o755 });
  return path;
}

function temporaryFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'bridge-embedded-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}
