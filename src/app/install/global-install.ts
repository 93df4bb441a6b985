/** `install --global`: installs the package globally with npm, so that starting it needs no registry. */
import { access, constants, cp, mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { BridgeError } from '../../core/base/errors.ts';
import { COMMAND_NAME, PACKAGE_ROOT, thisProgramStart, VERSION } from '../../core/base/package.ts';
import { runProcess } from '../../core/base/run-process.ts';

export interface GlobalInstall {
  /** The command for clients, once the package is installed. */
  readonly words: readonly string[];
  /** The npm command, for display. */
  readonly shown: string;
  /** Rejects with `STATE_WRITE_FAILED`. Undefined if this program is already installed globally. */
  readonly run: (() => Promise<void>) | undefined;
}

/** Plans the installation; writes nothing. Rejects with `USAGE_INVALID` without npm, and with `STATE_WRITE_FAILED` without write permission. */
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
      : `npm pack ${spec}, then npm install --global with the archive`,
    run: async () => {
      await (isFromRegistry ? installGlobally(spec) : installPacked(spec));
      await access(cli).catch((error: unknown) => {
        throw failure(`npm reported success, but ${cli} does not exist`, error);
      });
    },
  };
}

/** Installs an archive of the folder. npm would only link to a folder, which may be removed later. */
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

/** npm 10 runs `prepare` when it packs a folder, despite --ignore-scripts; an installed package lacks the file that `prepare` runs. */
async function copyWithoutScripts(folder: string, copy: string): Promise<void> {
  const left = ['node_modules', '.git'].map((name) => join(folder, name));
  await cp(folder, copy, { recursive: true, filter: (source) => !left.includes(source) });
  const file = join(copy, 'package.json');
  const { scripts: _, ...kept } = JSON.parse(await readFile(file, 'utf8')) as Record<string, unknown>;
  await writeFile(file, JSON.stringify(kept, undefined, 2));
}

/** `npm pack` lists every file. Chosen. */
const MAX_NPM_OUTPUT_BYTES = 4 * 1024 * 1024;
/** Variables that npx sets for the programs it starts; npm would read them as its own options. */
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
      hint: 'Install npm, or leave out --global.',
    });
  }
  const lines = end.stderr.toString('utf8').split('\n');
  const errors = lines.filter((line) => /^npm (?:error|ERR!) \S/.test(line)).slice(0, 3);
  const words = errors.map((line) => line.replace(/^npm (?:error|ERR!) /, '')).join('; ');
  throw failure(`npm ${args[0]} failed: ${words || end.reason || `exit code ${end.exitCode ?? end.signal}`}`);
}

/** Fails early if the user cannot write to npm's global folder, which often belongs to root. */
async function refuseForeignFolder(modules: string): Promise<void> {
  const places = process.platform === 'win32' ? [modules] : [modules, join(modules, '..', '..', 'bin')];
  for (const place of places) {
    const folder = await nearestFolder(place);
    await access(folder, constants.W_OK).catch((error: unknown) => {
      throw new BridgeError(
        'STATE_WRITE_FAILED',
        `npm installs global packages into ${modules}, but you cannot write to ${folder}`,
        {
          hint: 'Use a folder that you own: run `npm config set prefix ~/.local`, then run this command again.',
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
    hint: 'Run that npm command yourself to see its full output, or leave out --global.',
    cause,
  });
}
