// Tags: docker-release
/** Command lines in the sandbox: `runtime.sh`, and lines of cells that start with `!`. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type BridgeClient, startBridge } from '../support/bridge-client.ts';
import { coverEngines } from '../support/covered-engines.ts';

for (const engine of await coverEngines()) {
  describe(`command lines on ${engine.label}`, () => {
    let bridge: BridgeClient;
    const run = async (code: string, more: { timeout?: number } = {}) => (await bridge.runPython(code, more)).text;

    beforeAll(async () => {
      bridge = await startBridge({ engine });
    });
    afterAll(() => bridge.close());

    if (engine.name === 'embedded') {
      it('are refused with what to use instead', async () => {
        expect(await run('!ls')).toContain('the embedded sandbox has no shell: use os, pathlib and shutil');
        expect(await run('await runtime.sh("ls")')).toMatch(/the embedded engine|cannot start processes|processes/);
      });
      return;
    }

    it('share files and the folder with Python; their result has output, exit code and status', async () => {
      expect(await run('open("a.csv", "w").write("n\\n2\\n1\\n")\n!sort a.csv | head -2\n!cat missing.csv')).toMatch(
        /^1\n2\n[^]*missing\.csv[^]*\[exit code 1\]/,
      );
      const code =
        'lines = !wc -l < a.csv\nfailed = runtime.sh.sync("exit 4")\n[lines.stdout.strip(), failed.status, failed.exit_code]';
      expect(await run(code)).toContain("['3', 'error', 4]");
      expect(await run('await runtime.sh("cat > b; wc -c < b", stdin="x" * 3_000_000)')).toBe('3000000');
    });

    it('end at their timeout, and with their cell', async () => {
      expect(await run('late = await runtime.sh("echo begun; sleep 60", timeout=1)\nlate')).toMatch(
        /^begun\n\[ended at its timeout, after 1\.?\d* s\]$/,
      );
      expect(await run('kept = 1\nawait runtime.sh("sleep 60")', { timeout: 2 })).toContain('CELL_DEADLINE');
      expect(await run('kept')).toBe('1');
    });

    it('have the limits of the sandbox', async () => {
      expect(await run('!touch /etc/new 2>&1')).toMatch(/Read-only file system|Permission denied/);
      const connect = 'import socket; socket.create_connection(("1.1.1.1", 80), 5)';
      expect(await run(`!python3 -c '${connect}' 2>&1 | tail -1`)).toBe('OSError: [Errno 101] Network is unreachable');
    });
  });
}
