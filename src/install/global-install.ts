/** `install --global`: the package as npm installs it for all projects, so that a start asks no registry. */
import { access, constants, cp, mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { BridgeError } from '../base/errors.ts';
import { COMMAND_NAME, PACKAGE_ROOT, thisProgramStart, VERSION } from '../base/package.ts';
import { runProcess } from '../base/run-process.ts';

export interface GlobalInstall {
  /** What clients run once it is installed. */
  readonly words: readonly string[];
  /** The command, as it is shown. */
  readonly shown: string;
  /** Rejects with `STATE_WRITE_FAILED`. Undefined when this program is installed globally already. */
  readonly run: (() => Promise<void>) | undefined;
}

/** What would be done; writes nothing. Rejects with `USAGE_INVALID` without npm, and with `STATE_WRITE_FAILED` when it may not write. */
export async function planGlobalInstall(): Promise<GlobalInstall> {
  const start = thisProgramStart();
  if (start.kind === 'global') {
    return { words: start.clientWords, shown: '', run: undefined };
  }
  const modules = await npm(['root', '--global']);
  await refuseForeignFolder(modules);
  const cli = join(modules, COMMAND_NAME, 'dist', 'cli.js');
  const isFromRegistry = start.kind === 'npx' && !start.clientWords.some((word) => word.startsWith('--package='));
  const spec = isFromRegistry ? `${COMMAND_NAME}@${VERSION}` : fileURLToPath(PACKAGE_ROOT).replace(/[\\/]$/, '');
  return {
    words: [start.nodePath, cli],
    shown: isFromRegistry
      ? `npm install --global ${spec}`
      : `npm pack ${spec}, and npm install --global with the archive`,
    run: async () => {
      await (isFromRegistry ? installGlobally(spec) : installPacked(spec));
      await access(cli).catch((error: unknown) => {
        throw failure(`npm reported success, but ${cli} is not there`, error);
      });
    },
  };
}

/** npm would link to a folder; the archive of it is copied, and the folder may go. */
async function installPacked(folder: string): Promise<void> {
  const temporary = await mkdtemp(join(tmpdir(), `${COMMAND_NAME}-`));
  try {
    const copy = join(temporary, 'package');
    await copyWithoutScripts(folder, copy);
    await npm(['pack', '--ignore-scripts', '--pack-destination', temporary, copy], temporary);
    const archive = (await readdir(temporary)).find((name) => name.endsWith('.tgz')) ?? '';
    await installGlobally(join(temporary, archive));
  } finally {
    await rm(temporary, { recursive: true, force: true });
  }
}

async function installGlobally(spec: string): Promise<void> {
  await npm(['install', '--global', '--ignore-scripts', '--no-audit', '--no-fund', spec]);
}

/** When npm 10 packs a folder, it runs `prepare` despite --ignore-scripts, and an installed package lacks the file that it names. */
async function copyWithoutScripts(folder: string, copy: string): Promise<void> {
  const left = ['node_modules', '.git'].map((name) => join(folder, name));
  await cp(folder, copy, { recursive: true, filter: (source) => !left.includes(source) });
  const file = join(copy, 'package.json');
  const { scripts: _, ...kept } = JSON.parse(await readFile(file, 'utf8')) as Record<string, unknown>;
  await writeFile(file, JSON.stringify(kept, undefined, 2));
}

/** `npm pack` lists every file. Chosen. */
const MAX_NPM_OUTPUT_BYTES = 4 * 1024 * 1024;
/** What npx tells the programs it starts; npm would take it for options of its own. */
const NPX_VARIABLE = /^npm_(?:config_(?:package|call|yes|local_prefix)|lifecycle_|package_|command$)/i;

async function npm(args: readonly string[], cwd?: string): Promise<string> {
  const env = Object.fromEntries(Object.entries(process.env).filter(([name]) => !NPX_VARIABLE.test(name)));
  const end = await runProcess(['npm', ...args], {
    env,
    cwd,
    maxOutputBytes: MAX_NPM_OUTPUT_BYTES,
    isForeground: true,
  });
  if (end.endedBy === 'exit' && end.exitCode === 0) {
    return end.stdout.toString('utf8').trim();
  }
  if (end.endedBy === 'not found') {
    throw new BridgeError('USAGE_INVALID', '--global needs npm, which is not on PATH', {
      hint: 'Install npm, or leave --global out.',
    });
  }
  const lines = end.stderr.toString('utf8').split('\n');
  const errors = lines.filter((line) => /^npm (?:error|ERR!) \S/.test(line)).slice(0, 3);
  const words = errors.map((line) => line.replace(/^npm (?:error|ERR!) /, '')).join('; ');
  throw failure(`npm ${args[0]} failed: ${words || end.reason || `exit code ${end.exitCode ?? end.signal}`}`);
}

/** An ordinary user may not write where the Node of a system keeps global packages. */
async function refuseForeignFolder(modules: string): Promise<void> {
  const places = process.platform === 'win32' ? [modules] : [modules, join(modules, '..', '..', 'bin')];
  for (const place of places) {
    const folder = await nearestFolder(place);
    await access(folder, constants.W_OK).catch((error: unknown) => {
      throw new BridgeError(
        'STATE_WRITE_FAILED',
        `npm installs global packages into ${modules}, but you cannot write to ${folder}`,
        {
          hint: 'Give npm a folder of yours, and run this again: npm config set prefix ~/.local',
          cause: error,
        },
      );
    });
  }
}

async function nearestFolder(path: string): Promise<string> {
  const isThere = await stat(path).then(
    () => true,
    () => false,
  );
  return isThere || dirname(path) === path ? path : nearestFolder(dirname(path));
}

function failure(message: string, cause?: unknown): BridgeError {
  return new BridgeError('STATE_WRITE_FAILED', message, {
    hint: 'Run that npm command by hand to see all it says, or leave --global out.',
    cause,
  });
}
