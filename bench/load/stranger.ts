/** A process that sends bad requests at a fixed rate and counts what it is answered. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';

export interface StrangerCounts {
  readonly sentPerS: number;
  /** By status. */
  readonly answeredPerS: Readonly<Record<string, number>>;
}

/** Runs `during` beside the stranger. */
export async function besideStranger<Result>(
  { url, perSecond }: { readonly url: string; readonly perSecond: number },
  during: () => Promise<Result>,
): Promise<{ readonly result: Result; readonly counts: StrangerCounts }> {
  const program = fileURLToPath(new URL('flood.mjs', import.meta.url));
  const child: ChildProcess = spawn(process.execPath, [program, url, String(perSecond)], {
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
  });
  const closed = once(child, 'close');
  try {
    await once(child, 'message'); // It is connected.
    const result = await during();
    const counted = once(child, 'message');
    child.send('end');
    const [counts] = (await counted) as [StrangerCounts];
    return { result, counts };
  } finally {
    child.kill('SIGKILL');
    await closed;
  }
}
