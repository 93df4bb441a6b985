/**
 * What a session guarantees on any engine. Local Python and every real engine run this suite. Each case is a transcript: code
 * in, answer out.
 */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Engine } from '../../../src/core/session/engine.ts';
import { type Capability, createItNeeds } from '../../support/capabilities.ts';
import { PATIENCE } from '../../support/patience.ts';
import { createHarness, errorText, type Harness, textOf } from '../../support/session-harness.ts';
import { describeAnswers } from './answers.ts';
import { describeAsking } from './asking.ts';
import { describeCalls } from './calls.ts';
import { describeClosedOutput } from './closed-output.ts';
import { describeEndings } from './endings.ts';
import { describeHints } from './hints.ts';
import { describeJobs } from './jobs.ts';
import { describeMissing } from './missing.ts';
import { describeProcesses } from './processes.ts';
import { createFakeTools, type Subject } from './subject.ts';

interface SuiteOptions {
  readonly name: string;
  readonly createEngine: () => Engine | Promise<Engine>;
  /** Whether a supervisor reports how the sandbox ended. */
  readonly isSupervised: boolean;
  /** What Python lacks there; nothing by default. */
  readonly lacks?: readonly Capability[];
}

export function describeSession({ name, createEngine, isSupervised, lacks = [] }: SuiteOptions): void {
  describe(`session on ${name}`, () => {
    let engine: Engine;
    let harness: Harness;
    const tools = createFakeTools();
    const run: Harness['run'] = (code, request) => harness.run(code, request);
    const itNeeds = createItNeeds(name, lacks);
    const subject: Subject = { run, harness: () => harness, engine: () => engine, tools, isSupervised, itNeeds };

    beforeAll(async () => {
      engine = await createEngine();
      harness = await createHarness({ engine, handleCall: tools.handleCall });
    });
    afterAll(() => harness.close());

    describe('state', () => {
      it('keeps variables, functions, classes and imports', async () => {
        await run('import math\nx = 41\ndef f(): return x + 1\nclass C: y = 2');
        expect((await run('f(), C.y, math.floor(2.5)')).value).toBe('(42, 2, 2)');
      });

      it('is the __main__ module, with readable sources', async () => {
        await run('def g(a):\n    return a * 2\n');
        const code = 'import inspect, pickle\n__name__, inspect.getsource(g), pickle.loads(pickle.dumps(g))(4)';
        expect((await run(code)).value).toBe(`('__main__', 'def g(a):\\n    return a * 2\\n', 8)`);
      });

      it('has readable sources of classes', async () => {
        await run(`import dataclasses, enum, functools
@dataclasses.dataclass
class Data:
    x: int = 1
class Outer:
    class Inner(enum.Enum): ONE = 1
    @functools.cached_property
    def value(self): return 1
def make():
    class Local: y = 2
    return Local
class Twice: z = 1`);
        await run('class Twice: z = 2\nclass Cut(: pass');
        await run('class Twice:\n    z = 3');
        const last = 'inspect.getsource(each).strip().splitlines()[-1].strip()';
        expect(
          (await run(`import inspect\n[${last} for each in (Data, Outer, Outer.Inner, make(), Twice)]`)).value,
        ).toBe(
          "['x: int = 1', 'def value(self): return 1', 'class Inner(enum.Enum): ONE = 1', 'class Local: y = 2', 'z = 3']",
        );
        expect((await run('inspect.getsource(type("Made", (), {}))')).error?.exception).toBe('OSError');
      });

      it('shows nothing of the kernel as the source of code in exec', async () => {
        const answer = await run('exec("1/0")');
        expect(answer.error?.message).toBe('division by zero');
        expect(errorText(answer)).toMatch(
          /File "<string>", line 1, in <module>\nZeroDivisionError: division by zero$/m,
        );
        expect(
          (await run('import linecache\nexec("def from_text(): pass")\nlinecache.getlines("<string>")')).value,
        ).toBe('[]');
      });

      it('keeps files in the working directory and context variables', async () => {
        await run('import contextvars\nopen("a.txt", "w").write("kept")\nv = contextvars.ContextVar("v")\nv.set(7);');
        expect((await run('open("a.txt").read()')).value).toBe("'kept'");
      });

      it('restores deleted predefined names, and keeps rebound ones', async () => {
        await run('del runtime\nmcp_fake = "mine"');
        expect((await run('runtime.list_servers_sync(), mcp_fake')).value).toBe("(('fake',), 'mine')");
        await run('del mcp_fake');
      });

      it('is freed if only a cycle refers to it; the collector skips what was there before the first cell', async () => {
        await run(
          'import gc, weakref\nclass Node: pass\nnode = Node()\nnode.itself = node\nleft = weakref.ref(node)\ndel node\nmany = [[] for _ in range(100_000)]',
        );
        expect((await run('left() is None, gc.isenabled(), gc.get_freeze_count() > 1000')).value).toBe(
          '(True, True, True)',
        );
      });

      it('of one session is invisible in another', async () => {
        await run('only_here = 1');
        const answer = await run('"only_here" in globals()', { session: 'second' });
        expect(answer.value).toBe('False');
      });
    });

    describe('values and output', () => {
      it('shows the last expression unless it is None', async () => {
        expect((await run('1; 2')).value).toBe('2');
        expect((await run('None')).value).toBeUndefined();
        expect((await run('x = 5')).value).toBeUndefined();
        await run('6 * 7');
        expect((await run('_')).value).toBe('42');
      });

      // As in notebooks, where `plt.hist(values);` shows only the figure.
      it('does not show a last expression that ends with a semicolon', async () => {
        await run('6 * 7');
        for (const code of ['1;', "('é;',\n1) ; # shown nowhere", '2;\n\n# the end\n']) {
          // biome-ignore lint/performance/noAwaitInLoops: cells of one session.
          expect((await run(code)).value).toBeUndefined();
        }
        expect((await run('_')).value).toBe('42');
        expect((await run("'3;' # ;")).value).toBe("'3;'");
        expect((await run('len(";");\r1')).value).toBe('1');
        expect((await run('# ;')).value).toBeUndefined();
      });

      it('awaits at top level, in the last expression and in comprehensions', async () => {
        const code = 'import asyncio\nawait asyncio.sleep(0)\nasync def h(i): return i\n[await h(i) for i in range(3)]';
        expect((await run(code)).value).toBe('[0, 1, 2]');
      });

      it('keeps output exactly as written', async () => {
        const answer = await run(
          'import os, sys\nprint("a\\n\\nb")\nos.write(1, b"direct\\n")\nprint("é𝒳", end="")\nprint("e", file=sys.stderr);',
        );
        expect(textOf(answer.stdout)).toBe('a\n\nb\ndirect\né𝒳');
        expect(textOf(answer.stderr)).toBe('e\n');
      });

      itNeeds('child processes')('keeps the output of child processes in order', async () => {
        const answer = await run(
          'import os, sys\nprint("before")\nos.system("echo child; echo oops >&2")\nprint("after")\nprint("e", file=sys.stderr);',
        );
        expect(textOf(answer.stdout)).toBe('before\nchild\nafter\n');
        expect(textOf(answer.stderr)).toBe('oops\ne\n');
      });

      it('shows invalid UTF-8 as replacement characters and loses nothing else', async () => {
        const answer = await run('import os\nos.write(1, b"a\\xffb\\xc3"); os.write(1, b"\\xa9\\n");');
        expect(textOf(answer.stdout)).toBe('a\uFFFDbé\n');
      });

      it('keeps both ends of a long output and counts the rest', async () => {
        const answer = await run('for i in range(200_000): print(f"{i:09}")');
        const { head, tail, droppedBytes, droppedLines } = answer.stdout;
        expect(head.startsWith('000000000\n')).toBe(true);
        expect(tail.endsWith('000199999\n')).toBe(true);
        expect(Buffer.byteLength(head) + droppedBytes + Buffer.byteLength(tail)).toBe(2_000_000);
        expect((head + tail).split('\n').length - 1 + droppedLines).toBe(200_000);
      });

      it('never splits a character', async () => {
        const answer = await run('print("𝒳" * 1_000_000)');
        expect(answer.stdout.head + answer.stdout.tail).not.toContain('\uFFFD');
      });

      it('survives values that cannot be shown', async () => {
        await run(
          'class Bad:\n    def __repr__(self): raise ValueError("no")\nclass Odd:\n    def __repr__(self): return 5',
        );
        expect((await run('Bad()')).value).toContain('repr() raised ValueError');
        expect((await run('Odd()')).value).toContain('repr() raised TypeError');
        expect((await run('l = []; l.append(l); l')).value).toBe('[[...]]');
        expect((await run('list(range(2_000_000))')).value?.length).toBeLessThan(300_000);
        expect((await run('"\\ud800"')).value).toBe(`'\\ud800'`);
      });

      it('has ssl for code that imports it, although asyncio is loaded without it', async () => {
        const answer = await run(
          'import asyncio, ssl\n(asyncio.sslproto.ssl, ssl.create_default_context().check_hostname)',
        );
        expect(answer.value).toBe('(None, True)');
      });

      itNeeds('child processes')('of a forked process end with it, and there is one answer', async () => {
        const code = 'import os\npid = os.fork()\nif pid == 0: print("child")\nelse: print(os.waitpid(pid, 0)[1])';
        const answer = await run(code);
        expect(textOf(answer.stdout)).toBe('child\n0\n');
        const failing = await run(
          'pid = os.fork()\nif pid == 0: 1 / 0\nos.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])',
        );
        expect(failing.value).toBe('1');
        expect(textOf(failing.stderr)).toContain('ZeroDivisionError');
      });

      it('leaves stdin empty', async () => {
        expect(errorText(await run('input()'))).toContain('EOFError');
      });
    });

    describe('errors', () => {
      it('show the lines of the cell and no frames of the kernel', async () => {
        await run('def boom(n):\n    return 1 / n');
        const answer = await run('try:\n    {}["k"]\nexcept KeyError:\n    boom(0)');
        const { status, exitCode } = answer;
        const error = errorText(answer);
        expect(status).toBe('error');
        expect(exitCode).toBe(1);
        expect(error).toContain('return 1 / n');
        expect(error).toContain('ZeroDivisionError: division by zero');
        expect(error).toContain("KeyError: 'k'");
        expect(error).not.toContain('bridge_kernel');
      });

      it('in syntax point at the line', async () => {
        const error = errorText(await run('x = ('));
        expect(error).toMatch(/^ {2}File "<cell \d+>", line 1\n/);
        expect(error).toContain('SyntaxError');
      });

      it('show the right line whatever line separators a string contains', async () => {
        const error = errorText(
          await run('a = "\\x0c\\u2028".join(["\u2028", "\u0085"])\r\nb = 2\r\nraise ValueError("third")'),
        );
        expect(error).toContain('line 3, in <module>\n    raise ValueError("third")');
      });

      it('of exception groups and deep recursion are shown', async () => {
        const recursion = await run('def r(): return r()\nr()');
        expect(errorText(recursion)).toContain('RecursionError');
        expect(errorText(recursion).length).toBeLessThan(20_000);
      });

      it.each([
        ['whose text is huge', 'raise ValueError("x" * 20_000_000)', 'ValueError: xxx'],
        ['whose text raises', 'class E(Exception):\n    def __str__(self): raise RuntimeError\nraise E', 'E'],
        [
          'whose text never ends',
          'class E(Exception):\n    def __str__(self):\n        while True: pass\nraise E',
          'E',
        ],
        [
          'of an exit whose text raises',
          'class T:\n    def __str__(self): raise RuntimeError\nraise SystemExit(T())',
          'Exit',
        ],
        ['after the streams were removed', 'import sys\nkeep = sys.stdout\ndel sys.stdout\n1 / 0', 'ZeroDivisionError'],
        ['after the streams were replaced', 'sys.stdout = sys.stderr = [1]\n1 / 0', 'ZeroDivisionError'],
        ['with names that are none', 'globals()[1] = 2\nglobals()["n" * 10_000_000] = 1\n1 / 0', 'ZeroDivisionError'],
      ])('%s are reported', async (_, code, expected) => {
        await run('1', { session: 'odd errors' }); // The time of the next cell does not include the start.
        const answer = await run(code, { session: 'odd errors', timeoutMs: 1_000 * PATIENCE });
        expect(['error', 'timeout']).toContain(answer.status);
        expect(errorText(answer)).toContain(expected);
        expect(errorText(answer)).not.toContain('its session was ended');
        expect(answer.notices).toEqual([]);
      });

      it('leave the session unchanged', async () => {
        await run('before = 1');
        await run('before = 2\nraise SystemExit(3)');
        const answer = await run('before');
        expect(answer.value).toBe('2');
      });

      it('SystemExit sets the exit code', async () => {
        expect(await run('import sys; sys.exit(3)')).toMatchObject({ status: 'error', exitCode: 3 });
        expect(await run('sys.exit()')).toMatchObject({ status: 'success' });
        expect(await run('sys.exit(2**70 + 5)')).toMatchObject({ exitCode: 5 });
        const answer = await run('sys.exit("message")');
        expect(answer).toMatchObject({ status: 'error', exitCode: 1 });
        expect(textOf(answer.stderr)).toBe('message\n');
      });
    });

    describeClosedOutput(subject);
    describeHints(subject);
    describeEndings(subject);
    describeCalls(subject);
    describeAsking(subject);
    describeProcesses(subject);
    if (lacks.length > 0) {
      describeMissing(subject, lacks);
    }
    describeAnswers(subject);
    describeJobs(subject);
  });
}
