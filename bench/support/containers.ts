/** The floors: containers without the bridge, started with the same flags. */
import { once } from 'node:events';
import { createReadStream, createWriteStream } from 'node:fs';
import { pipeline } from 'node:stream/promises';
import type { Sandbox } from '../../src/core/session/engine.ts';
import type { BenchContext } from '../context.ts';

/** Echoes each line. */
const ECHO_PROGRAM =
  'import sys\nfor line in sys.stdin.buffer:\n    sys.stdout.buffer.write(line)\n    sys.stdout.flush()';
/** A frame of about the size the bridge sends for `x=1`. */
const LINE = '{"type":"execute","cell":1,"code":"x=1","servers":[]}\n';

/** Files on the host that a container reads as its input, or writes as its output, and which engine runs it. */
interface Files {
  readonly input?: string;
  readonly output?: string;
  /** `any` also takes an engine without containers that runs commands. */
  readonly engine?: 'any';
}

/** Runs `python3 -c program` to its end, as `podman run --rm` does. Rejects if it fails. */
export async function runToEnd(
  context: BenchContext,
  image: string,
  program: string,
  { input, output, engine }: Files = {},
): Promise<void> {
  const sandbox = await start(context, image, program, engine);
  let noise = '';
  const fed = input === undefined ? sandbox.stdin.end() : pipeline(createReadStream(input), sandbox.stdin);
  const written = output === undefined ? sandbox.stdout.resume() : pipeline(sandbox.stdout, createWriteStream(output));
  sandbox.stderr.on('data', (chunk: Buffer) => {
    noise += chunk.toString('utf8');
  });
  const { exitCode } = await sandbox.exited;
  await Promise.all([fed, written]);
  if (exitCode !== 0) {
    throw new Error(`a bare container ended with ${exitCode}: ${noise.trim()}`);
  }
}

/** Passes `use` a container that runs `program` and has printed its first line. */
export async function withContainer<Result>(
  context: BenchContext,
  program: string,
  use: (sandbox: Sandbox) => Promise<Result>,
): Promise<Result> {
  const sandbox = await start(context, context.images.usual.name, `print(flush=True)\n${program}`);
  sandbox.stderr.resume();
  try {
    await Promise.race([
      once(sandbox.stdout, 'data'),
      sandbox.exited.then(() => Promise.reject(new Error('a bare container did not start'))),
    ]);
    return await use(sandbox);
  } finally {
    await sandbox.kill();
  }
}

/** Passes `use` a function that sends one line through a container's pipe and resolves when it comes back. */
export function withPipeEcho<Result>(
  context: BenchContext,
  use: (echo: () => Promise<void>) => Promise<Result>,
): Promise<Result> {
  return withContainer(context, ECHO_PROGRAM, ({ stdin, stdout }) =>
    use(
      () =>
        new Promise((resolve) => {
          // Short enough that a pipe transfers it in one piece.
          stdout.once('data', () => resolve());
          stdin.write(LINE);
        }),
    ),
  );
}

function start(context: BenchContext, image: string, program: string, wanted?: 'any'): Promise<Sandbox> {
  const engine = (wanted === 'any' ? context.engine() : context.containerEngine()).create({ image });
  return engine.start({ command: ['python3', '-I', '-u', '-c', program], session: 'bench-floor' });
}
