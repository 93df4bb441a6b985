/** `image`: the images of sandboxes, on a container engine. */
import { readFile } from 'node:fs/promises';
import { BridgeError } from '../base/errors.ts';
import { COMMAND, PACKAGE_ROOT } from '../base/package.ts';
import { qualifyImage } from '../engines/container/podman.ts';
import { withInstallFolders } from '../engines/executable.ts';
import type { Settings } from '../settings/settings.ts';
import type { CommandContext } from '../terminal/command.ts';
import { renderTable } from '../terminal/table.ts';
import type { ImageCommand } from './command-line.ts';
import { findImages, type Images, type ListedImage } from './images.ts';

export interface ImageOptions extends CommandContext {
  readonly writeOut: (text: string) => void;
  readonly writeError: (text: string) => void;
}

/** What `image list` tells of one image; also the JSON. */
interface ImageReport extends ListedImage {
  readonly engine: string;
  /** Whether sandboxes are made of it. */
  readonly isUsed: boolean;
}

const MEBIBYTE = 1024 * 1024;
/** What sandbox-runtime/Containerfile builds on. */
const DEFAULT_BASE = 'python:3.14-slim';
/** Name of an image that `build` makes, but for the tag. */
const BUILT_NAME = 'localhost/mcp-bridge-python';

/** Resolves with 0. Rejects with `ENGINE_UNAVAILABLE` where there is no container engine, and with `ENGINE_FAILED`. */
export async function image(command: ImageCommand, options: ImageOptions): Promise<number> {
  const { settings, writeError, writeOut } = options;
  const images = chooseEngine(command, settings);
  const print = (json: unknown, text: string): unknown =>
    writeOut(command.isJson ? `${JSON.stringify(json, undefined, 2)}\n` : text);
  switch (command.action) {
    case 'list': {
      const reports = await listImages(images, settings.image);
      print(
        reports,
        renderTable(reports.map(renderImage), `No image is here; \`${COMMAND} image pull\` fetches ${settings.image}.`),
      );
      return 0;
    }
    case 'pull': {
      const name = command.image ?? settings.image;
      await images.pull(images.engine === 'podman' ? qualifyImage(name) : name, command.isJson);
      print({ engine: images.engine, image: name }, `${name} is here (${images.engine}).\n`);
      return 0;
    }
    case 'build': {
      const name = await build(command, images);
      print({ engine: images.engine, image: name }, `MCP_BRIDGE_IMAGE=${name}\n`);
      writeError(`Built on ${images.engine}. Sandboxes use it with the line above in the environment of the bridge.\n`);
      return 0;
    }
    case 'prune': {
      const removed = await prune(images, settings.image);
      print(
        removed,
        renderTable(
          removed.map((one) => [...renderImage(one), 'removed']),
          'There is nothing to remove.',
        ),
      );
      return 0;
    }
  }
}

/** The engine named, else the one that the settings ask for, else the first that is installed. */
function chooseEngine(command: ImageCommand, settings: Settings): Images {
  const found = findImages(withInstallFolders(process.env, process.platform));
  const wanted = command.engine ?? settings.runtime;
  const images = found.find(({ engine }) => engine === wanted) ?? (command.engine === undefined ? found[0] : undefined);
  if (images === undefined) {
    const what =
      command.engine === undefined ? 'neither podman nor docker is on PATH' : `${command.engine} is not on PATH`;
    throw new BridgeError('ENGINE_UNAVAILABLE', `there are images on container engines only, and ${what}`, {
      hint: `Install Podman (https://podman.io/docs/installation). Without it sessions run without an image; to see on what, run: ${COMMAND} doctor`,
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

async function build({ base, isJson, packages, tag }: ImageCommand, images: Images): Promise<string> {
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

/** Those that `build` made and that are not in use. */
async function prune(images: Images, usedName: string): Promise<ImageReport[]> {
  const old = (await listImages(images, usedName)).filter(({ isUsed }) => !isUsed);
  for (const { id } of old) {
    await images.remove(id);
  }
  return old;
}

function renderImage({ engine, id, isUsed, names, sizeBytes }: ImageReport): string[] {
  const size = sizeBytes === null ? '' : `${Math.round(sizeBytes / MEBIBYTE)} MiB`;
  return [names[0] ?? '(no name)', id.slice(0, 12), size, engine, isUsed ? 'used for sandboxes' : ''];
}
