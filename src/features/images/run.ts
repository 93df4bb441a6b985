/** `image`: lists, pulls, builds and removes the images of sandboxes. */

import { readFile } from 'node:fs/promises';
import { BridgeError } from '../../core/base/errors.ts';
import { renderJson } from '../../core/base/log.ts';
import { COMMAND, PACKAGE_ROOT } from '../../core/base/package.ts';
import { qualifyImage } from '../../edges/engines/container/podman.ts';
import { withInstallFolders } from '../../edges/engines/executable.ts';
import type { Settings } from '../../edges/settings/settings.ts';
import type { CommandContext, LineFor } from '../../edges/terminal/command.ts';
import { renderTable } from '../../edges/terminal/text-table.ts';
import { DATA_SCIENCE, type ImageCommand } from './command.ts';
import { findImages, type Images, type ListedImage } from './images.ts';

export interface ImageOptions extends CommandContext {
  readonly writeOut: (text: string) => void;
  readonly writeError: (text: string) => void;
}

/** One image in `image list`, also in its JSON output. */
interface ImageReport extends ListedImage {
  readonly engine: string;
  /** Whether sandboxes use it. */
  readonly isUsed: boolean;
}

const MEBIBYTE = 1024 * 1024;
/** The default base image in sandbox-runtime/Containerfile. */
const DEFAULT_BASE = 'python:3.14-slim';
/** The name of images that `build` makes, without the tag. */
const BUILT_NAME = 'localhost/mcp-bridge-python';

/** Resolves with 0. Rejects with `ENGINE_UNAVAILABLE` without a container engine, and with `ENGINE_FAILED`. */
export async function image(command: ImageCommand, options: ImageOptions): Promise<number> {
  const { settings, writeError, writeOut } = options;
  const images = chooseEngine(command, settings);
  const print = (json: unknown, text: string): unknown => writeOut(command.isJson ? renderJson(json) : text);
  switch (command.action) {
    case 'list': {
      const reports = await listImages(images, settings.image);
      print(
        reports,
        renderTable(
          reports.map(renderImage),
          `There are no images yet. To pull ${settings.image}, run: ${COMMAND} image pull`,
        ),
      );
      return 0;
    }
    case 'pull': {
      const name = command.image ?? settings.image;
      await images.pull(images.engine === 'podman' ? qualifyImage(name) : name, command.isJson);
      print({ engine: images.engine, image: name }, `Pulled ${name} with ${images.engine}.\n`);
      return 0;
    }
    case 'build': {
      const startedAt = performance.now();
      const name = await build(command, images);
      const seconds = Math.round((performance.now() - startedAt) / 1000);
      const sizeBytes = (await images.find(name))?.sizeBytes ?? null;
      print({ engine: images.engine, image: name, sizeBytes, seconds }, `MCP_BRIDGE_IMAGE=${name}\n`);
      const size = sizeBytes === null ? '' : `: ${mebibytes(sizeBytes)}`;
      writeError(
        `Built with ${images.engine} in ${seconds} s${size}. To use the image, put the line above into the environment of the bridge.\n`,
      );
      return 0;
    }
    case 'prune': {
      const removed = await prune(images, settings.image);
      print(
        removed,
        renderTable(
          removed.map((one) => [...renderImage(one), 'removed']),
          'There are no images to remove.',
        ),
      );
      return 0;
    }
  }
}

/** The engine given on the command line, else the one in the settings, else the first that is installed. */
function chooseEngine(command: ImageCommand, settings: Settings): Images {
  const found = findImages(withInstallFolders(process.env, process.platform));
  const wanted = command.engine ?? settings.runtime;
  const images = found.find(({ engine }) => engine === wanted) ?? (command.engine === undefined ? found[0] : undefined);
  if (images === undefined) {
    const what =
      command.engine === undefined ? 'neither podman nor docker is on PATH' : `${command.engine} is not on PATH`;
    throw new BridgeError('ENGINE_UNAVAILABLE', `images need a container engine, and ${what}`, {
      hint: `Install Podman (https://podman.io/docs/installation). Other engines need no image; to see which one runs your sessions, run: ${COMMAND} doctor`,
    });
  }
  return images;
}

async function listImages(images: Images, usedName: string): Promise<ImageReport[]> {
  const [used, built] = await Promise.all([images.find(usedName), images.listBuilt()]);
  const others = built.filter(({ id }) => id !== used?.id);
  const report = (one: ListedImage): ImageReport => ({ engine: images.engine, ...one, isUsed: one.id === used?.id });
  return [...(used === undefined ? [] : [used]), ...others].map(report);
}

async function build(command: LineFor<ImageCommand, 'build'>, images: Images): Promise<string> {
  const { base, isForDataScience, isJson, tag } = command;
  const packages = [...(isForDataScience ? DATA_SCIENCE : []), ...command.packages];
  const name = `${BUILT_NAME}:${tag ?? (packages.length === 0 ? 'slim' : 'packages')}`;
  const wanted = {
    name,
    base: base ?? DEFAULT_BASE,
    containerfile: await readFile(new URL('sandbox-runtime/Containerfile', PACKAGE_ROOT), 'utf8'),
    arguments: {
      ...(base === undefined ? {} : { BASE: images.engine === 'podman' ? qualifyImage(base) : base }),
      PACKAGES: packages.join(' '),
    },
  };
  await images.build(wanted, isJson);
  return name;
}

/** Removes images that `build` made and that are not in use. */
async function prune(images: Images, usedName: string): Promise<ImageReport[]> {
  const old = (await listImages(images, usedName)).filter(({ isUsed }) => !isUsed);
  for (const { id } of old) {
    await images.remove(id);
  }
  return old;
}

function renderImage({ engine, id, isUsed, names, sizeBytes }: ImageReport): string[] {
  const size = sizeBytes === null ? '' : mebibytes(sizeBytes);
  return [names[0] ?? '(no name)', id.slice(0, 12), size, engine, isUsed ? 'in use' : ''];
}

function mebibytes(bytes: number): string {
  return `${Math.round(bytes / MEBIBYTE)} MiB`;
}
