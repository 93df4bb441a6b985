/** The bridge as a user starts it: `serve --http` of the built program, on loopback. From the sources, loading it is too slow for the suite's timeouts. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';

export interface ServingBridge {
  readonly url: string;
  /** Rejects if it does not end as it should. */
  close(): Promise<void>;
}

const COMMAND = fileURLToPath(new URL('../../dist/cli.js', import.meta.url));
const STARTED = /Serving MCP over HTTP at (\S+)\./;
/** As after any SIGTERM. */
const EXIT_CODE = 143;

/** Starts it with this state directory. Rejects with its log if it ends at once. */
export async function serveBridge(stateDir: string): Promise<ServingBridge> {
  const child = spawn(process.execPath, [COMMAND, 'serve', '--http', '127.0.0.1:0'], {
    // The suite runs no cell.
    env: { ...process.env, MCP_BRIDGE_STATE_DIR: stateDir, MCP_BRIDGE_LOG_LEVEL: 'INFO', MCP_BRIDGE_PREWARM: '0' },
    stdio: ['ignore', 'inherit', 'pipe'],
  });
  const exited = once(child, 'close') as Promise<[number | null]>;
  let log = '';
  const url = await new Promise<string>((resolve, reject) => {
    child.stderr.setEncoding('utf8').on('data', (text: string) => {
      log += text;
      const found = STARTED.exec(log)?.[1];
      if (found !== undefined) {
        resolve(found);
      }
    });
    void exited.then(() => reject(new Error(`the bridge has ended; its log:\n${log}`)));
  });
  return {
    url,
    async close() {
      child.kill('SIGTERM');
      const [exitCode] = await exited;
      if (exitCode !== EXIT_CODE) {
        throw new Error(`the bridge ended with ${exitCode}; its log:\n${log}`);
      }
    },
  };
}
