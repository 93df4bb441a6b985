// Tags: full, docker, embedded-release
/** Programs in Python on the embedded engine: each in an instance of its own, in every layer that this machine has. */
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { silentLogger } from '../../../../src/core/base/log.ts';
import type { ProgramRequest } from '../../../../src/core/base/program.ts';
import { readLanguages, runProgram } from '../../../../src/features/languages/index.ts';
import { coverEngines } from '../../../support/covered-engines.ts';
import { coverSurroundings, embeddedEngine, pathWith } from '../../../support/embedded.ts';
import { processEnvironment, TEST_LIMITS } from '../../../support/engines.ts';

const embedded = (await coverEngines()).find(({ label }) => label === 'embedded');
const languages = await readLanguages(join(tmpdir(), 'no-state-directory'));
const bytes = (text: string): Uint8Array => Buffer.from(text);

describe.runIf(embedded !== undefined).each(await coverSurroundings())(
  'a Python program $label',
  ({ commands, userId }) => {
    const start = () =>
      embeddedEngine({
        isBare: commands.length === 0,
        env: { ...processEnvironment(), ...(commands.length > 0 && { PATH: pathWith(commands, userId) }) },
      });
    const run = (code: string, wanted: Partial<ProgramRequest> = {}) =>
      runProgram(
        {
          source: { kind: 'code', language: 'python', code },
          files: [],
          args: [],
          timeoutMs: undefined,
          wantsFiles: false,
          stdin: bytes(''),
          ...wanted,
        },
        {
          engine: start(),
          languages,
          defaultTimeoutMs: 60_000,
          maxTimeoutMs: 180_000,
          limits: TEST_LIMITS,
          env: {},
          logger: silentLogger,
        },
      );

    it('has its files, arguments, input and event loop, and leaves its files', async () => {
      const code = `
import asyncio, atexit, os, sys
from lib.words import word
atexit.register(print, "bye")
assert input() == "first"
async def main():
    await asyncio.sleep(0.01)
    return sys.stdin.read()
print(sys.argv, asyncio.run(main()), word, __name__, __file__, sorted(os.listdir()), flush=True)
print("to stderr", file=sys.stderr)
os.write(1, b"\\xff")
with open("lib/new.bin", "wb") as file:
    file.write(bytes(range(256)))
sys.exit(4)`;
      const ended = await run(code, {
        files: [{ name: 'lib/words.py', content: bytes('word = "é"') }],
        args: ['a', 'b c'],
        stdin: bytes('first\nrest'),
        wantsFiles: true,
      });
      expect(ended).toMatchObject({
        status: 'error',
        exitCode: 4,
        stderr: 'to stderr\n',
        stdout: "['main.py', 'a', 'b c'] rest é __main__ /workspace/main.py ['lib', 'main.py']\n\u{fffd}bye\n",
      });
      expect(ended.files.map(({ name, content }) => [name, content.byteLength])).toEqual([['lib/new.bin', 256]]);
    });

    it.each([
      ['an error', '1/0', 1, '  File "/workspace/main.py", line 1, in <module>\n    1/0\n'],
      ['code that is not valid', 'def (', 1, 'SyntaxError: invalid syntax\n'],
      ['a message at its end', 'raise SystemExit("why")', 1, 'why\n'],
      ['no room', 'x = [0] * 10**9', 1, 'MemoryError\n'],
      ['a thread', 'import threading; threading.Thread(target=print).start()', 1, 'threads are not available'],
    ])('%s is shown as Python shows it', async (_name, code, exitCode, said) => {
      const ended = await run(code);
      expect(ended).toMatchObject({ status: 'error', exitCode, stderr: expect.stringContaining(said) });
      expect(ended.stderr).not.toContain('embedded_program');
    });

    it('is a new instance, shares nothing with the one before, and ends at its deadline', async () => {
      await run('import json; json.mine = 1; open("/tmp/mine", "w").close()');
      const ended = await run('import json, os; print(hasattr(json, "mine"), os.listdir("/tmp"))');
      expect(ended).toMatchObject({ status: 'success', exitCode: 0, stdout: 'False []\n' });
      expect(await run('print("on", flush=True)\nwhile True: pass', { timeoutMs: 1_000 })).toMatchObject({
        status: 'timeout',
        stdout: 'on\n',
      });
    });

    it('leaves files beyond the limit where they are, and names them', async () => {
      const code = 'for n in range(3): open(f"{n}.bin", "wb").write(b"x" * (12 << 20))';
      const ended = await run(code, { wantsFiles: true });
      expect(ended.files.map(({ name }) => name)).toEqual(['0.bin', '1.bin']);
      expect(ended.stderr).toBe('[not returned, because the limit is 32 MiB and 1,000 files: 2.bin]\n');
    });
  },
);
