/**
 * Where running bridges listen: for each a Unix socket (on Windows a named pipe), and a file in `.live` of the state directory that
 * says where it is and whose it is. Only the user can enter the folder and use the socket.
 */
import { randomBytes } from 'node:crypto';
import { chmod, lstat, mkdir, readdir, rm, rmdir } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { z } from 'zod';
import { currentOwner, isOwnerGone } from '../../core/base/owner.ts';
import { ensureDirectory, OWNER_ONLY_FILE, readBounded, writeAtomically } from '../../core/state/state-files.ts';

/** In the state directory. */
const FOLDER = '.live';
const OWNER_ONLY_FOLDER = 0o700;
/** macOS has 104 bytes for the path and its end, Linux 108. */
const MAX_PATH_BYTES = 103;
const MAX_FILE_BYTES = 4_096;
/** A socket without a file belongs to a bridge that is starting, or was killed while it did. Chosen. */
const ABANDONED_MS = 60_000;

const EndpointSchema = z.object({
  host: z.string(),
  pid: z.int(),
  started: z.string(),
  socket: z.string(),
});
/** What its file says. */
type Endpoint = z.infer<typeof EndpointSchema>;

export interface LiveEndpoint extends Endpoint {
  /** Name of its file and socket. */
  readonly id: string;
}

export interface NewEndpoint {
  /** Where to listen. */
  readonly socket: string;
  /** Once it listens: lets others find it. */
  publish(): Promise<void>;
  /** Removes everything, and the folder if it was the last one. Never rejects. */
  remove(): Promise<void>;
}

interface NewEndpointOptions {
  readonly stateDir: string;
  /** Whether sandboxes see folders of this machine: then the socket must not be in one that they could see. */
  readonly hasMounts: boolean;
  readonly env?: NodeJS.ProcessEnv;
  readonly platform?: NodeJS.Platform;
}

/** Rejects if there is no folder that only the user can enter and that has a path short enough. */
export async function createEndpoint(options: NewEndpointOptions): Promise<NewEndpoint> {
  const { stateDir, env = process.env, platform = process.platform } = options;
  const folder = join(stateDir, FOLDER);
  await ensureDirectory(folder);
  await closeToOthers(folder, platform);
  const id = randomBytes(4).toString('hex');
  const name = `${id}.sock`;
  const file = join(folder, `${id}.json`);
  const socket =
    platform === 'win32'
      ? `\\\\.\\pipe\\mcp-bridge-${randomBytes(16).toString('hex')}`
      : join(await folderFor(name, folder, { ...options, env, platform }), name);
  return {
    socket,
    async publish() {
      if (platform !== 'win32') {
        await chmod(socket, OWNER_ONLY_FILE);
      }
      const endpoint: Endpoint = { ...currentOwner(), socket };
      await writeAtomically(file, [JSON.stringify(endpoint)], { isDurable: false });
    },
    async remove() {
      await rm(file, { force: true }).catch(() => undefined);
      await removeSocket(socket);
      await rmdir(folder).catch(() => undefined);
    },
  };
}

/** The endpoints of bridges on this machine that may be running, and removes what bridges have left that are gone. */
export async function findEndpoints(stateDir: string): Promise<LiveEndpoint[]> {
  const folder = join(stateDir, FOLDER);
  const names = await readdir(folder).catch(() => []);
  const found = await Promise.all(
    names.filter((name) => name.endsWith('.json')).map(async (name) => readEndpoint(join(folder, name))),
  );
  await removeAbandoned(folder, names);
  const { host } = currentOwner();
  // A folder of state may be shared by machines, and nobody reaches the sockets of another one.
  return found.filter((endpoint) => endpoint !== undefined).filter((endpoint) => endpoint.host === host);
}

async function readEndpoint(file: string): Promise<LiveEndpoint | undefined> {
  let endpoint: LiveEndpoint;
  try {
    const said = EndpointSchema.parse(JSON.parse((await readBounded(file, MAX_FILE_BYTES)).toString('utf8')));
    endpoint = { ...said, id: basename(file, '.json') };
  } catch {
    // Nothing that a bridge wrote, or it has just ended.
    return undefined;
  }
  if (!isOwnerGone(endpoint)) {
    return endpoint;
  }
  if (isSocketOf(endpoint, file)) {
    await removeSocket(endpoint.socket);
  }
  await rm(file, { force: true }).catch(() => undefined);
  return undefined;
}

/** The path comes from a file, so nothing but a socket with the name that belongs to it is removed. */
function isSocketOf({ socket }: LiveEndpoint, file: string): boolean {
  return basename(socket) === basename(file).replace(/\.json$/, '.sock');
}

async function removeSocket(path: string): Promise<void> {
  const found = await lstat(path).catch(() => undefined);
  if (found?.isSocket() === true) {
    await rm(path, { force: true }).catch(() => undefined);
  }
}

async function removeAbandoned(folder: string, names: readonly string[]): Promise<void> {
  const alone = names.filter((name) => name.endsWith('.sock') && !names.includes(name.replace(/\.sock$/, '.json')));
  for (const name of alone) {
    const found = await lstat(join(folder, name)).catch(() => undefined);
    if (found !== undefined && Date.now() - found.mtimeMs > ABANDONED_MS) {
      await removeSocket(join(folder, name));
    }
  }
}

type FolderOptions = Required<Omit<NewEndpointOptions, 'stateDir'>>;

/** `folder`, or if the path would be too long, one of the user for such files. */
async function folderFor(name: string, folder: string, { env, hasMounts, platform }: FolderOptions): Promise<string> {
  if (isShort(join(folder, name))) {
    return folder;
  }
  const { XDG_RUNTIME_DIR: runtime } = env;
  // A sandbox can see a folder in the temporary one if the user has mounted it, but never one in that of the session.
  const bases = [runtime ?? '', hasMounts ? '' : tmpdir()].filter((base) => base !== '');
  for (const base of bases) {
    const own = join(base, `mcp-bridge-${process.getuid?.() ?? 0}`);
    if (isShort(join(own, name)) && (await isOwn(own, platform))) {
      return own;
    }
  }
  throw new Error(`the path ${join(folder, name)} is too long for a socket, and there is no other folder for it`);
}

function isShort(path: string): boolean {
  return Buffer.byteLength(path) <= MAX_PATH_BYTES;
}

/** Creates it if it is missing. Another user may have created it first. */
async function isOwn(folder: string, platform: NodeJS.Platform): Promise<boolean> {
  try {
    await mkdir(folder, { mode: OWNER_ONLY_FOLDER }).catch((error: unknown) => {
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST') {
        throw error;
      }
    });
    await closeToOthers(folder, platform);
    return true;
  } catch {
    return false;
  }
}

/** Rejects if it is not a folder of the user. */
async function closeToOthers(folder: string, platform: NodeJS.Platform): Promise<void> {
  const found = await lstat(folder);
  const isForeign = process.getuid !== undefined && found.uid !== process.getuid();
  if (!found.isDirectory() || isForeign) {
    throw new Error(`${folder} is not a folder of the user ${process.getuid?.() ?? ''} in ${dirname(folder)}`);
  }
  if (platform !== 'win32' && (found.mode & 0o077) !== 0) {
    await chmod(folder, OWNER_ONLY_FOLDER);
  }
}
