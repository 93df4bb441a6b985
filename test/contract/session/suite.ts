/**
 * What a session promises, on any engine: the one suite that local Python and every container engine run.
 * Each case is a transcript: code in, answer out.
 */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Engine } from '../../../src/engines/engine.ts';
import type { HandleCall } from '../../../src/session/dispatch.ts';
import { createHarness, echoCalls, type Harness, textOf } from '../../support/session-harness.ts';

interface SuiteOptions {
  readonly name: string;
  readonly createEngine: () => Engine | Promise<Engine>;
  /** Whether a supervisor reports how the sandbox ended. */
  readonly isSupervised: boolean;
}

/** Tools of the server `fake`. */
function createFakeTools() {
  const aborted: string[] = [];
  const calls: string[] = [];
  const handleCall: HandleCall = (call, context) => {
    const tool = String(call.params['tool']);
    const given = call.params['arguments'] as Record<string, unknown> | undefined;
    calls.push(tool);
    switch (tool) {
      case 'hang':
        return new Promise((_, reject) => {
          context.signal.addEventListener('abort', () => {
            aborted.push(String(given?.['name']));
            reject(new Error('aborted'));
          });
        });
      case 'wait':
        return new Promise((resolve) => {
          setTimeout(resolve, Number(given?.['ms']), { content: [{ type: 'text', text: 'waited' }] });
        });
      case 'large':
        return Promise.resolve({ content: [{ type: 'text', text: '𝒳é'.repeat(Number(given?.['count'])) }] });
      default:
        return echoCalls(call, context);
    }
  };
  return { aborted, calls, handleCall };
}

export function describeSession({ name, createEngine, isSupervised }: SuiteOptions): void {
  describe(`session on ${name}`, () => {
    let engine: Engine;
    let harness: Harness;
    const tools = createFakeTools();
    const run: Harness['run'] = (code, request) => harness.run(code, request);

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

      it('is the __main__ module, with sources that can be read', async () => {
        await run('def g(a):\n    return a * 2\n');
        const code = 'import inspect, pickle\n__name__, inspect.getsource(g), pickle.loads(pickle.dumps(g))(4)';
        expect((await run(code)).value).toBe(`('__main__', 'def g(a):\\n    return a * 2\\n', 8)`);
      });

      it('keeps files in the working directory and context variables', async () => {
        await run('import contextvars\nopen("a.txt", "w").write("kept")\nv = contextvars.ContextVar("v")\nv.set(7);');
        expect((await run('open("a.txt").read()')).value).toBe("'kept'");
      });

      it('of one session is not seen in another', async () => {
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

      it('awaits at top level, in the last expression and in comprehensions', async () => {
        const code = 'import asyncio\nawait asyncio.sleep(0)\nasync def h(i): return i\n[await h(i) for i in range(3)]';
        expect((await run(code)).value).toBe('[0, 1, 2]');
      });

      it('keeps what was written as it was written, child processes included', async () => {
        const answer = await run(
          'import os, sys\nprint("a\\n\\nb")\nos.system("echo child; echo oops >&2")\nprint("é𝒳", end="")\nprint("e", file=sys.stderr);',
        );
        expect(textOf(answer.stdout)).toBe('a\n\nb\nchild\né𝒳');
        expect(textOf(answer.stderr)).toBe('oops\ne\n');
      });

      it('shows invalid UTF-8 as replacement characters and loses nothing else', async () => {
        const answer = await run('import os\nos.write(1, b"a\\xffb\\xc3"); os.write(1, b"\\xa9\\n");');
        expect(textOf(answer.stdout)).toBe('a\uFFFDbé\n');
      });

      it('keeps both ends of a long output and counts what is between', async () => {
        const answer = await run('for i in range(200_000): print(f"{i:09}")');
        const { head, tail, droppedBytes, droppedLines } = answer.stdout;
        expect(head.startsWith('000000000\n')).toBe(true);
        expect(tail.endsWith('000199999\n')).toBe(true);
        expect(Buffer.byteLength(head) + droppedBytes + Buffer.byteLength(tail)).toBe(2_000_000);
        expect((head + tail).split('\n').length - 1 + droppedLines).toBe(200_000);
      });

      it('never cuts a character', async () => {
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

      it('gives stdin nothing', async () => {
        expect((await run('input()')).error).toContain('EOFError');
      });
    });

    describe('errors', () => {
      it('show the lines of the cell and nothing of the kernel', async () => {
        await run('def boom(n):\n    return 1 / n');
        const { status, error, exitCode } = await run('try:\n    {}["k"]\nexcept KeyError:\n    boom(0)');
        expect(status).toBe('error');
        expect(exitCode).toBe(1);
        expect(error).toContain('return 1 / n');
        expect(error).toContain('ZeroDivisionError: division by zero');
        expect(error).toContain("KeyError: 'k'");
        expect(error).not.toContain('bridge_kernel');
      });

      it('of syntax point at the line', async () => {
        const { error } = await run('x = (');
        expect(error).toMatch(/^ {2}File "<cell \d+>", line 1\n/);
        expect(error).toContain('SyntaxError');
      });

      it('of exception groups and deep recursion are shown', async () => {
        const recursion = await run('def r(): return r()\nr()');
        expect(recursion.error).toContain('RecursionError');
        expect(recursion.error?.length).toBeLessThan(20_000);
      });

      it('leave the session as it was', async () => {
        await run('before = 1');
        await run('before = 2\nraise SystemExit(3)');
        const answer = await run('before');
        expect(answer.value).toBe('2');
      });

      it('SystemExit gives its status', async () => {
        expect(await run('import sys; sys.exit(3)')).toMatchObject({ status: 'error', exitCode: 3 });
        expect(await run('sys.exit()')).toMatchObject({ status: 'success' });
        const answer = await run('sys.exit("message")');
        expect(answer).toMatchObject({ status: 'error', exitCode: 1 });
        expect(textOf(answer.stderr)).toBe('message\n');
      });
    });

    describe('deadline and cancel', () => {
      it.each([
        ['a plain loop', 'while True: pass'],
        ['a sleep', 'import time\ntime.sleep(60)'],
        ['an await', 'import asyncio\nawait asyncio.sleep(60)'],
        ['a gather', 'import asyncio\nawait asyncio.gather(*[asyncio.sleep(60) for _ in range(3)])'],
        ['a child process', 'import subprocess\nsubprocess.run(["sleep", "60"])'],
        ['a task that loops', 'import asyncio\nasync def spin():\n    while True: pass\nawait asyncio.gather(spin())'],
        ['asyncio.run', 'import asyncio\nasync def main(): await asyncio.sleep(60)\nasyncio.run(main())'],
        ['a blocking call', 'mcp_fake.hang.sync(name="blocking")'],
        ['a loop in C that calls Python', 'import itertools\nmax(map(lambda n: n % 7, itertools.count()))'],
      ])('end %s and keep the variables and the output', async (_, code) => {
        await run('kept = "yes"');
        const answer = await run(`print("partial")\n${code}`, { timeoutMs: 400 });
        expect(answer).toMatchObject({ status: 'timeout', exitCode: 124 });
        expect(answer.error).toContain('CELL_DEADLINE: the cell was interrupted at its deadline of 0.4 s');
        expect(textOf(answer.stdout)).toBe('partial\n');
        expect(await run('kept')).toMatchObject({ value: "'yes'", notices: [] });
      });

      it('cancel the calls of the cell at the upstream', async () => {
        const code = 'import asyncio\nawait asyncio.gather(*[mcp_fake.hang(name=f"cancelled {i}") for i in range(2)])';
        await run(code, { timeoutMs: 400 });
        await expect.poll(() => tools.aborted).toEqual(expect.arrayContaining(['cancelled 0', 'cancelled 1']));
      });

      it('by the client do the same', async () => {
        await run('kept = 1');
        const controller = new AbortController();
        const running = run('while True: pass', { signal: controller.signal });
        setTimeout(() => controller.abort(), 300);
        expect(await running).toMatchObject({ status: 'cancelled' });
        expect((await run('kept')).value).toBe('1');
      });

      it('by the client before the start run nothing', async () => {
        const running = run('import time; time.sleep(0.5)');
        const controller = new AbortController();
        const queued = run('never = 1', { signal: controller.signal });
        controller.abort();
        await expect(queued).rejects.toThrow('cancelled the cell before it began');
        await running;
        expect((await run('"never" in globals()')).value).toBe('False');
      });

      it('cancel tasks that the cell left behind', async () => {
        await run('import asyncio\nt = asyncio.create_task(asyncio.sleep(60))\nwhile True: pass', { timeoutMs: 300 });
        expect((await run('await asyncio.sleep(0.05)\nt.cancelled()')).value).toBe('True');
      });

      it('cost the session when the code ignores them, and the answers say so', async () => {
        const session = 'stubborn';
        await run('precious = 1\ndef useful(): pass\nimport json', { session });
        const code = 'import signal\nprint("said")\nsignal.signal(signal.SIGINT, signal.SIG_IGN)\nwhile True: pass';
        const answer = await run(code, { timeoutMs: 300, session });
        expect(answer.status).toBe('timeout');
        expect(answer.error).toContain(
          'its session was ended, because the code did not react to the interrupt within 2 s',
        );
        expect(textOf(answer.stdout)).toBe('said\n');
        const next = await run('1', { session });
        expect(next.notices).toHaveLength(1);
        expect(next.notices[0]).toContain('variables precious; functions useful; imports json');
        expect((await run('2', { session })).notices).toEqual([]);
      });
    });

    describe('loss', () => {
      it('of the process is told at once, with what was printed', async () => {
        const session = 'exits';
        await run('y = 1', { session });
        const answer = await run('import os\nprint("last words", flush=True)\nos._exit(7)', { session });
        expect(answer.status).toBe('error');
        expect(answer.error).toContain('SESSION_LOST');
        if (isSupervised) {
          expect(answer.error).toContain('Python ended itself with exit code 7');
          expect(textOf(answer.stdout)).toBe('last words\n');
        }
        const next = await run('z = 1', { session });
        expect(next).toMatchObject({ status: 'success' });
        expect(next.notices[0]).toContain('Gone: variables y');
      });

      it('by a crash names the signal', async () => {
        const answer = await run('import ctypes\nctypes.string_at(0)', { session: 'crashes' });
        expect(answer.error).toContain(isSupervised ? 'signal 11 (SIGSEGV)' : 'ended from outside');
      });

      it('by runtime.reset() is wanted, so it is not reported', async () => {
        const session = 'reset';
        await run('w = 1', { session });
        await run('runtime.reset()', { session });
        expect(await run('"w" in globals()', { session })).toMatchObject({ value: 'False', notices: [] });
      });

      it('by idleness is reported', async () => {
        const idle = await createHarness({ engine, idleTimeoutMs: 200 });
        try {
          await idle.run('v = 1');
          await expect
            .poll(async () => (await idle.run('0')).notices.join(), { interval: 600, timeout: 20_000 })
            .toContain('it was idle for 0.2 s');
        } finally {
          await idle.close();
        }
      });
    });

    describe('order', () => {
      it('of cells in one session is the order they came in', async () => {
        await run('seen = []');
        await Promise.all(
          Array.from({ length: 10 }, (_, i) => run(`import time\ntime.sleep(${i % 2 ? 0 : 0.02})\nseen.append(${i})`)),
        );
        expect((await run('seen')).value).toBe('[0, 1, 2, 3, 4, 5, 6, 7, 8, 9]');
      });

      it('does not bind different sessions', async () => {
        await Promise.all([run('1', { session: 'a' }), run('1', { session: 'b' })]);
        const order: string[] = [];
        await Promise.all([
          run('import time; time.sleep(1.5)', { session: 'a' }).then(() => order.push('slow')),
          run('1', { session: 'b' }).then(() => order.push('quick')),
        ]);
        expect(order).toEqual(['quick', 'slow']);
      });
    });

    describe('calls', () => {
      it('in a gather are all under way at once', async () => {
        const code = [
          'import asyncio, time',
          'start = time.perf_counter()',
          'r = await asyncio.gather(*[mcp_fake.wait(ms=500) for _ in range(10)])',
          'time.perf_counter() - start < 2, r[0]',
        ];
        expect((await run(code.join('\n'))).value).toBe("(True, 'waited')");
      });

      it('work from plain functions, threads and asyncio.run', async () => {
        const code = [
          'import asyncio, threading',
          'got = [mcp_fake.echo.sync(n=1)]',
          't = threading.Thread(target=lambda: got.append(mcp_fake.echo.sync(n=2))); t.start(); t.join()',
          'async def main(): got.append(await mcp_fake.echo(n=3))',
          'asyncio.run(main())',
          '[g["n"] for g in got]',
        ];
        expect((await run(code.join('\n'))).value).toBe('[1, 2, 3]');
      });

      it('of 5,000 at once are all answered', async () => {
        const code = 'import asyncio\nlen(await asyncio.gather(*[mcp_fake.echo(i=i) for i in range(5000)]))';
        expect((await run(code)).value).toBe('5000');
      });

      it('carry results of many megabytes, every character whole', async () => {
        const answer = await run('r = await mcp_fake.large(count=1_000_000)\nlen(r), r == "𝒳é" * 1_000_000');
        expect(answer.value).toBe('(2000000, True)');
      });

      it('refuse arguments over the limit before they are sent', async () => {
        const { error } = await run('await mcp_fake.echo(text="x" * 9_000_000)');
        expect(error).toContain('LIMIT_FRAME');
        expect(error).toContain('8,388,608 bytes');
      });

      it('of a background task wait until a cell runs again', async () => {
        const code = [
          'import asyncio',
          'results = []',
          'async def later():',
          '    await asyncio.sleep(0.2)',
          '    results.append(await mcp_fake.echo(late=True))',
          'task = asyncio.create_task(later());',
        ];
        await run(code.join('\n'));
        const before = tools.calls.length;
        await new Promise((resolve) => setTimeout(resolve, 600));
        expect(tools.calls.length).toBe(before);
        expect((await run('await task\nlen(results)')).value).toBe('1');
      });
    });

    describe('hostile frames', () => {
      const everyPipe = 'import os\nfor d in range(3, 64):\n    try: os.write(d, DATA)\n    except OSError: pass\n';

      it('that are no frames are dropped', async () => {
        const code = `DATA = b'null\\n[]\\n{"type":"nope"}\\n{"a":\\n\\xff\\xfe\\n' + b'[' * 100000 + b'\\n' + b'x' * 100\n${everyPipe}5`;
        // The last piece has no line end, so it damages the frame that follows: the session may end, the host may not.
        const answer = await run(code, { session: 'hostile', timeoutMs: 1_500 });
        expect(['success', 'timeout', 'error']).toContain(answer.status);
        expect((await run('6', { session: 'hostile' })).value).toBe('6');
        expect(harness.log.join('')).toContain('no proper frame');
      });

      it('that forge a result give one answer, and the next cell is right', async () => {
        const code = `DATA = b'\\n{"type":"result","cell":1,"outcome":"ok","value":"forged"}\\n' * 2\n${everyPipe}7`;
        const answer = await run(code, { session: 'forger' });
        expect(['forged', '7']).toContain(answer.value);
        expect((await run('8', { session: 'forger' })).value).toBe('8');
      });

      it('that close every descriptor cost the session at most', async () => {
        const answer = await run('import os\nfor d in range(64):\n    try: os.close(d)\n    except OSError: pass', {
          session: 'closer',
          timeoutMs: 1_000,
        });
        expect(['error', 'timeout', 'success']).toContain(answer.status);
        expect((await run('9', { session: 'closer' })).value).toBe('9');
      });
    });
  });
}
