/** What an answer contains besides its text, and the progress of a running cell. */
import { describe, expect, it } from 'vitest';
import type { CellProgress } from '../../../src/core/base/cell.ts';
import { createDeferred } from '../../../src/core/base/deferred.ts';
import { errorText } from '../../support/session-harness.ts';
import type { Subject } from './subject.ts';

/** One red pixel. */
const PNG = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAIAAACQd1PeAAAADElEQVR4nGP4z8AAAAMBAQDJ/pLvAAAAAElFTkSuQmCC';
const PNG_BYTES = `import base64\npng = base64.b64decode("${PNG}")\n`;

export function describeAnswers({ run }: Subject): void {
  describe('display', () => {
    it('shows images, with a line in the text that marks their position', async () => {
      const answer = await run(
        `${PNG_BYTES}print("before")\ndisplay(png, "text", alt="one red pixel")\nprint("after")`,
      );
      expect(answer.stdout.head).toBe('before\n[1: image/png 1×1: one red pixel]\ntext\nafter\n');
      expect(answer.attachments).toEqual([{ kind: 'image', mimeType: 'image/png', base64: PNG }]);
    });

    it('uses the display methods of objects, also for the last expression', async () => {
      await run(PNG_BYTES);
      const code = (body: string) => `class T:\n${body}\nT()`;
      const image = await run(code('    def _repr_png_(self): return png'));
      expect(image).toMatchObject({ value: undefined, attachments: [{ kind: 'image' }] });
      const html = await run(code('    def _repr_html_(self): return "<b>ä</b>"'));
      expect(html.attachments).toEqual([
        { kind: 'document', mimeType: 'text/html', text: '<b>ä</b>', uri: expect.stringContaining('display://') },
      ]);
      const markdown = await run(code('    def _repr_markdown_(self): return "# Title"'));
      expect(markdown).toMatchObject({ stdout: { head: '# Title\n' }, attachments: [] });
    });

    it('shows images from tools, and keeps them as objects', async () => {
      const block = `{"type": "image", "mimeType": "image/png", "data": "${PNG}"}`;
      const code = `image = runtime.ImageContent(${block})\ndisplay(image)\nlen(image.data), image.mime_type`;
      const answer = await run(code);
      expect(answer.attachments).toHaveLength(1);
      expect(answer.value).toMatch(/^\(\d+, 'image\/png'\)$/);
    });

    it('shows the parts of a result that contains media', async () => {
      const block = `{"type": "image", "mimeType": "image/png", "data": "${PNG}"}`;
      const answer = await run(`display(["Here:", runtime.ImageContent(${block}), "done"])`);
      expect(answer.stdout.head).toBe('Here:\n[1: image/png 1×1]\ndone\n');
      expect(answer.attachments).toHaveLength(1);
    });

    it('shows the images of a list that is the last expression', async () => {
      const block = `{"type": "image", "mimeType": "image/png", "data": "${PNG}"}`;
      const answer = await run(`["Here:", runtime.ImageContent(${block}), {"a": 1}]`);
      expect(answer).toMatchObject({ value: undefined, stdout: { head: "Here:\n[1: image/png 1×1]\n{'a': 1}\n" } });
      expect(answer.attachments).toHaveLength(1);
    });

    it.each([
      [
        'display(png[:30])',
        '[bytes, not shown: the image is damaged; runtime.save_artifact(name, data) keeps it as a file]',
      ],
      [
        // The Python of this machine may have Pillow, which would scale it.
        'import sys\nsys.modules["PIL"] = None\ndisplay(png + bytes(2_000_000))\ndel sys.modules["PIL"]',
        '[bytes, not shown: the image is larger than 1,048,576 bytes',
      ],
      ['class T:\n  def _repr_png_(self): raise ValueError("no")\ndisplay(T())', '[T, not shown: ValueError: no]'],
      ['class T:\n  def _repr_html_(self): return "x" * 300_000\ndisplay(T())', '[text/html, not shown: 300,000'],
    ])('reports what it cannot show, and continues: %s', async (code, words) => {
      const answer = await run(`${PNG_BYTES}${code}\nprint("after")`);
      expect(answer).toMatchObject({ status: 'success', attachments: [] });
      expect(answer.stdout.head).toContain(words);
      expect(answer.stdout.head).toContain('after\n');
    });

    it('limits how much it shows', async () => {
      const answer = await run(`${PNG_BYTES}for n in range(10_000): display(png)\nprint("after")`);
      expect(answer.attachments).toHaveLength(20);
      expect(answer.stdout.head).toMatch(/\[further .* are not shown: the limit per cell is 20 items .*\]\nafter\n$/);
    });

    it('shows a JSON object as plain data', async () => {
      const code = 'runtime.AttrDict({"_repr_png_": "x", "_repr_html_": 1})';
      expect(await run(code)).toMatchObject({ value: "{'_repr_png_': 'x', '_repr_html_': 1}", attachments: [] });
    });
  });

  describe('output that an answer shortens', () => {
    it('can be read in the next cell', async () => {
      const { cell, stdout } = await run('for n in range(200_000): print("line", n)');
      expect(stdout.droppedLines).toBeGreaterThan(0);
      const code = `out = runtime.output(${cell})
len(out), out.lines(123_456, 123_458), out.grep("line 1999[89]\\\\d$", limit=2), out.tail(1), repr(out).split(";")[0]`;
      expect((await run(code)).value).toBe(
        "(200000, 'line 123456\\nline 123457', '199980: line 199980\\n199981: line 199981', 'line 199999', " +
          `'<stdout of cell ${cell}: 200,000 lines, 2,288,890 characters')`,
      );
    });

    it('is kept for each stream, and for cells that wrote something', async () => {
      const { cell } = await run('import sys\nprint("only here", file=sys.stderr)');
      expect((await run(`str(runtime.output(${cell}, "stderr"))`)).value).toBe(String.raw`'only here\n'`);
      const error = errorText(await run(`runtime.output(${cell})`));
      expect(error).toContain(`LookupError: no output of cell ${cell} on stdout`);
    });

    it('is kept within a budget, newest first, and says so', async () => {
      const { cell } = await run('for _n in range(40): print("x" * 2_000_000)');
      const answer = await run(`out = runtime.output(${cell})\nlen(out.text) + out.dropped_bytes, repr(out)`);
      expect(answer.value).toMatch(
        /^\(80000040, '<stdout of cell \d+: .*the first \d\d,\d{3},\d{3} bytes were dropped/,
      );
    });
  });

  describe('a huge value', () => {
    it('is shown as its size, start and end', async () => {
      const answer = await run('[{"id": n} for n in range(500_000)]');
      expect(answer.value).toMatch(/^list, 500,000 items:\n\[\{'id': 0\}, .* more …, .*\{'id': 499999\}\]$/);
      expect(answer.value?.length).toBeLessThan(8_000);
      expect((await run('len(_)')).value).toBe('500000');
    });
  });

  describe('values that resist', () => {
    it.each([
      ['class T:\n  def __repr__(self): return 7\nT()', '<T object whose repr() raised TypeError>'],
      ['class T:\n  def __repr__(self): raise KeyError\nT()', '<T object whose repr() raised KeyError>'],
      ['float("nan"), float("inf")', '(nan, inf)'],
      ['d = {}; d["d"] = d; d', "{'d': {...}}"],
      [String.raw`"\ud800 \0 \x1b[31m"`, String.raw`'\ud800 \x00 \x1b[31m'`],
    ])('are shown anyway: %s', async (code, shown) => {
      expect(await run(`print("before")\n${code}`)).toMatchObject({ value: shown, stdout: { head: 'before\n' } });
    });

    it('with a text of a gigabyte cost the session at most, and the answer says so', async () => {
      const session = 'gigabyte';
      const answer = await run('print("before", flush=True)\nclass T:\n  def __repr__(self): return "x" * 2**30\nT()', {
        session,
      });
      expect(answer.stdout.head).toBe('before\n');
      expect((await run('1 + 1', { session })).value).toBe('2');
    });

    it('that never end are interrupted at the deadline, and the variables stay', async () => {
      const code = 'kept = 1\nclass T:\n  def __repr__(self):\n    while True: pass\nT()';
      expect(await run(code, { timeoutMs: 500 })).toMatchObject({ status: 'timeout' });
      expect((await run('kept')).value).toBe('1');
    });
  });

  describe('progress', () => {
    /** Runs code until it reports something that `isIt` accepts. The code ends when the file `seen` exists. */
    async function progressOf(code: string, isIt: (progress: CellProgress) => boolean): Promise<CellProgress> {
      const cancel = new AbortController();
      const found = createDeferred<CellProgress>();
      const answer = run(`import asyncio\n${code}\nawait asyncio.sleep(60)`, {
        signal: cancel.signal,
        timeoutMs: 60_000,
        onProgress: (progress) => isIt(progress) && found.resolve(progress),
      });
      const progress = await found.promise;
      cancel.abort();
      await answer;
      return progress;
    }

    it('is what the code reports', async () => {
      const code = 'runtime.progress(3, 4, "files read")';
      expect(await progressOf(code, ({ percent }) => percent !== undefined)).toEqual({
        message: '3/4 files read',
        percent: 75,
        isRunning: true,
      });
    });

    it('is otherwise the last printed line', async () => {
      const code = 'print("first")\nprint("10%", end="\\r")\nprint("20%", end="\\r", flush=True)';
      const { message } = await progressOf(code, (progress) => progress.message.includes('20%'));
      expect(message).toBe('20%');
    });

    it('counts calls', async () => {
      const code = 'await asyncio.gather(*[mcp_fake.wait(ms=1) for _ in range(3)])';
      const { message } = await progressOf(code, (progress) => progress.message.includes('3 calls'));
      expect(message).toBe('3 calls done, 0 running');
    });
  });
}
