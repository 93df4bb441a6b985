/** An IPython kernel for comparison, on this machine's Python if it has the packages. */
import { spawn, spawnSync } from 'node:child_process';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';

const PROGRAM = fileURLToPath(new URL('ipython_kernel.py', import.meta.url));
/** Debian's packages belong to Debian's Python, which may not be the first on PATH. */
const CANDIDATES = ['python3', '/usr/bin/python3'];

/** Passes `use` a function that runs `count` cells and returns the milliseconds of each. Rejects if there is no IPython. */
export async function withIPython<Result>(
  use: (runCells: (count: number) => Promise<number[]>) => Promise<Result>,
): Promise<Result> {
  const python = CANDIDATES.find(
    (command) => spawnSync(command, ['-c', 'import ipykernel, jupyter_client']).status === 0,
  );
  if (python === undefined) {
    throw new Error('needs ipykernel and jupyter_client (Debian: python3-ipykernel python3-jupyter-client)');
  }
  const child = spawn(python, ['-W', 'ignore', PROGRAM], { stdio: ['pipe', 'pipe', 'ignore'] });
  const ended = new Promise<void>((resolve) => {
    child.once('close', () => resolve());
  });
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  const nextLine = async () => {
    const { value, done } = await lines.next();
    if (done === true) {
      throw new Error('the IPython kernel ended');
    }
    return value;
  };
  try {
    await nextLine();
    return await use(async (count) => {
      child.stdin.write(`${count}\n`);
      return JSON.parse(await nextLine()) as number[];
    });
  } finally {
    child.stdin.end();
    await ended;
  }
}
