/** Output that code has closed. Before, everything later cells printed was an error, or lost. */
import { describe, expect, it } from 'vitest';
import { textOf } from '../../support/session-harness.ts';
import type { Subject } from './subject.ts';

const WRAP =
  'import io, sys\nsys.stdout = io.TextIOWrapper(sys.stdout.buffer, encoding="utf-8", line_buffering=True)\n';
const REPAIRED = 'and is the output of cells again.';

export function describeClosedOutput({ run, itNeeds }: Subject): void {
  const itHasPipes = itNeeds('child processes');

  describe('output that code has closed', () => {
    it('is not closed by wrappers', async () => {
      expect(textOf((await run(`${WRAP}print("one")`)).stdout)).toBe('one\n');
      expect(textOf((await run(`${WRAP}print("two")`)).stdout)).toBe('two\n');
      const last = await run('sys.stdout = sys.__stdout__\nprint("three")');
      expect([textOf(last.stdout), textOf(last.stderr)]).toEqual(['three\n', '']);
    });

    for (const close of [
      'sys.stdout = None',
      'del sys.stdout',
      'sys.stdout.detach();',
      'sys.stdout = open("f", "w"); sys.stdout.close()',
    ]) {
      it(`is whole in the next cell, and the answer says so: ${close}`, async () => {
        const notice =
          /^sys\.stdout was closed and works again\. To redirect output, use contextlib\.redirect_stdout\.\n$/;
        expect(textOf((await run(`import sys\n${close}`)).stderr)).toMatch(notice);
        const next = await run('print("here"); print("there", file=sys.stderr)');
        expect([textOf(next.stdout), textOf(next.stderr)]).toEqual(['here\n', 'there\n']);
      });
    }

    itHasPipes('includes its descriptors, and what was still in a buffer', async () => {
      const first = await run('import os, sys\nfile = open(1, "w"); file.write("a\\n"); file.close()');
      expect([textOf(first.stdout), textOf(first.stderr)]).toEqual([
        'a\n',
        `Descriptor 1 was closed or replaced, ${REPAIRED} open(1, 'w', closefd=False) does not close it.\n`,
      ]);
      expect(textOf((await run('print("b"); os.system("echo child")')).stdout)).toBe('b\nchild\n');
      await run('sys.stdout = os.fdopen(1, "w")');
      const again = await run('sys.stdout = os.fdopen(1, "w"); print("c")');
      expect([textOf(again.stdout), textOf(again.stderr)]).toEqual(['c\n', expect.stringContaining(REPAIRED)]);
      await run('sys.stdout = sys.__stdout__\nos.close(2)');
      expect(textOf((await run('os.system("echo error >&2")')).stderr)).toBe('error\n');
    });

    itHasPipes('is not what a file got that took its number', async () => {
      await run('import os\nos.close(1)\ntaken = open("taken.txt", "w")\nassert taken.fileno() == 1');
      expect(textOf((await run('print("not in the file")')).stdout)).toBe('not in the file\n');
      expect((await run('open("taken.txt").read()')).value).toBe("''");
    });
  });
}
