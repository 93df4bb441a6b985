/** Forged frames, which must not fool the host. */
import { expect } from 'vitest';
import type { Attack, FaultCase } from '../../support/faults/fault-case.ts';
import { PAST_THE_PROXIES } from './hostile-python.ts';

/** Makes each of the calls directly, bypassing the proxies; prints the codes of the answers, in order. */
function codesOf(calls: readonly (readonly [method: string, params: Readonly<Record<string, unknown>>])[]): string {
  return `${PAST_THE_PROXIES}
for method, params in json.loads(${JSON.stringify(JSON.stringify(calls))}):
    print(await ask(method, params))`;
}

const ODD_NAMES = [
  '__proto__',
  'constructor',
  'toString',
  'hasOwnProperty',
  '',
  'x'.repeat(10_000),
  'led\0ger',
  'ledger\n',
  '../ledger',
  'lеdger',
];

export const FORGED_FRAME_CASES: readonly FaultCase[] = [
  {
    id: 'F01',
    title: 'a forged result, then an exception',
    expected:
      'one answer per cell; a result forged for a later cell is dropped, unless that cell is running when it is read',
    quick: true,
    needs: ['threads'],
    async run({ run }) {
      const forged = `${PAST_THE_PROXIES}
for cell in range(50): write(frame(type="result", cell=cell, outcome="ok", value="forged"))
raise ValueError("mine")`;
      const answer = await run(forged);
      expect(answer.result === 'forged' || answer.error.includes('ValueError: mine')).toBe(true);
      // A session may forge its own results (docs/security.md): each one that is read while its cell runs counts.
      const results: unknown[] = [];
      do {
        results.push((await run('1 + 1')).result);
      } while (results.at(-1) === 'forged' && results.length < 50);
      expect(results.at(-1)).toBe('2');
    },
  },
  {
    id: 'F02',
    title: 'a forged call to a server the cell did not name',
    expected: 'the host refuses with `SERVER_NOT_AVAILABLE`; the server gets nothing',
    quick: true,
    needs: ['threads'],
    async run({ run }) {
      const call = { server: 'forbidden', tool: 'record', arguments: {} };
      const answer = await run(`${codesOf([['call_tool', call]])}
print(await answer_of(5000, frame(type="call", call=5000, method="call_tool", params=${JSON.stringify(call)})))`);
      expect(answer.stdout.split('\n')).toEqual(['SERVER_NOT_AVAILABLE', 'SERVER_NOT_AVAILABLE']);
    },
  },
  {
    id: 'F03',
    title: 'forged calls to unlisted tools, and methods of MCP itself',
    expected: 'each is refused with a code; servers get only what they listed',
    quick: true,
    needs: ['threads'],
    async run({ run }) {
      const ledger = { server: 'ledger' };
      const calls = [
        ['call_tool', { ...ledger, tool: 'erase' }],
        ['call_tool', { ...ledger, tool: 'record', arguments: [] }],
        ['call_tool', { ...ledger, tool: 'record', id: 1 }],
        ...['tools/list', 'tools/call', 'resources/read', 'prompts/get', 'sampling/createMessage', 'initialize'].map(
          (method) => [method, ledger] as const,
        ),
        ['__proto__', {}],
        ['list_resources', { server: 'forbidden' }],
        ['read_resource', { server: 'forbidden', uri: 'file:///etc/passwd' }],
        ['get_prompt', { server: 'forbidden', name: 'x' }],
      ] as const;
      const codes = (await run(codesOf(calls))).stdout.split('\n');
      expect(codes).toEqual([
        'TOOL_UNKNOWN',
        ...Array<string>(9).fill('CALL_REFUSED'),
        ...Array<string>(3).fill('SERVER_NOT_AVAILABLE'),
      ]);
    },
  },
  {
    id: 'F04',
    title: 'server and tool names that mean something to JavaScript, or look like another',
    expected: 'all unknown; each is refused with a code',
    needs: ['threads'],
    async run({ run }) {
      const calls = ODD_NAMES.flatMap(
        (name) =>
          [
            ['call_tool', { server: name, tool: 'record' }],
            ['call_tool', { server: 'ledger', tool: name }],
            ['query_tool_docs', { server: name }],
          ] as const,
      );
      const codes = (await run(codesOf(calls))).stdout.split('\n');
      expect(codes).toHaveLength(calls.length);
      expect([...new Set(codes)].toSorted()).toEqual(['CALL_REFUSED', 'SERVER_UNKNOWN', 'TOOL_UNKNOWN']);
    },
  },
  {
    id: 'F05',
    title: 'call numbers that are repeated, negative, fractional, huge, missing, of another type',
    expected: 'dropped; valid calls get their own answers',
    needs: ['threads'],
    async run({ run, allow }) {
      allow(...Array<string>(20).fill('echo.echo'));
      const numbers = '-1, 1.5, 1e308, "7", None, {}, [], "x" * 1_000_000, 2**53, True';
      const answer = await run(`${PAST_THE_PROXIES}
params = {"server": "echo", "tool": "echo", "arguments": {"text": "odd"}}
for number in (${numbers}): write(frame(type="call", call=number, method="call_tool", params=params))
write(frame(type="call", method="call_tool", params=params))
print(await asyncio.gather(*[mcp_echo.echo(text=str(n)) for n in range(20)]) == [str(n) for n in range(20)])`);
      expect(answer.stdout).toBe('True');
    },
  },
  {
    id: 'F06',
    title: 'two calls in progress, and forged ones with their numbers',
    expected: 'each call gets its own answer; the servers get each once',
    quick: true,
    needs: ['threads'],
    async run({ run, allow }) {
      allow('ledger.record_slowly', 'ledger.record_slowly');
      const answer = await run(`${PAST_THE_PROXIES}
calls = [asyncio.create_task(mcp_ledger.record_slowly(seconds=0.5, n=n)) for n in range(2)]
await asyncio.sleep(0.2)
for number in list(KERNEL._pending):
    write(frame(type="call", call=number, method="call_tool", params={"server": "ledger", "tool": "record"}))
print(await asyncio.gather(*calls, return_exceptions=True))`);
      expect(answer.stdout).toBe("['recorded', 'recorded']");
    },
  },
  {
    id: 'F07',
    title: 'JSON lines that are not objects',
    expected: 'counted and dropped; one line in the log',
    quick: true,
    needs: ['threads'],
    run: (attack) => dropsLines(attack, String.raw`b'null\n1\n[]\n"x"\ntrue\n'`),
  },
  {
    id: 'F08',
    title: 'lines that are not JSON: halves, empty ones, CRLF, a byte order mark, NUL, U+2028',
    expected: 'counted and dropped up to the next line end; the log has the first 200 characters, escaped',
    needs: ['threads'],
    async run(attack) {
      const lines = String.raw`b'{"type":"result"\n\n\r\n\xef\xbb\xbf{}\n\0\n\xe2\x80\xa8\n{}  \n\x1b[31m' + b'y' * 500 + b'\n'`;
      await dropsLines(attack, lines);
      expect(attack.log()).not.toMatch(/\u001b|\0|\u2028|y{201}/);
    },
  },
  {
    id: 'F09',
    title: 'invalid UTF-8, overlong forms, lone surrogates, a character split over two writes',
    expected: 'invalid bytes are dropped; a character in two pieces is whole',
    quick: true,
    needs: ['threads'],
    async run(attack) {
      await dropsLines(attack, String.raw`b'\xff\xfe\n"\xc0\xaf"\n{"type":"\xed\xa0\x80"}\n'`);
      attack.allow('echo.echo', 'echo.echo');
      const answer = await attack.run(
        PAST_THE_PROXIES +
          String.raw`
line = b'{"type":"call","call":6000,"method":"call_tool","params":{"server":"echo","tool":"echo","arguments":{"text":"\xf0\x9d\x92\xb3"}}}\n'
cut = line.index(b"\x92")
print(text_of(await answer_of(6000, line[:cut], line[cut:], pause=0.1)))
print(ascii(await mcp_echo.echo(text="\ud800")))`,
      );
      expect(answer.stdout.split('\n')).toEqual(['𝒳', String.raw`'\ud800'`]);
    },
  },
  {
    id: 'F17',
    title: 'unknown frame types, unknown keys, `type` twice',
    expected: 'dropped; of a repeated key the last counts, for validation and use',
    needs: ['threads'],
    async run(attack) {
      const lines = [
        `{"type":"shutdown"}`,
        `{"type":"result","cell":2,"outcome":"ok","admin":true}`,
        `{"type":"call","type":"result","cell":2}`,
        `{"type":"result","cell":2,"outcome":"ok","type":"call"}`,
        `{"type":"progress","done":"all"}`,
      ];
      await dropsLines(attack, `b${JSON.stringify(`${lines.join('\n')}\n`)}`);
    },
  },
  {
    id: 'F22',
    title: 'forged supervisor reports, and frames valid only at the start',
    expected: 'dropped: neither the pipe nor a cell’s stderr can carry them',
    quick: true,
    needs: ['threads'],
    async run(attack) {
      const report = `{"report":"ended","cause":"memory","exit_code":null,"signal":9}`;
      const lines = [
        report,
        `{"type":"ready","protocol_version":1,"python_version":"0","platform":"none"}`,
        `{"type":"code_pack","data":"AAAA"}`,
        `{"type":"heartbeat"}`,
        `{"type":"oom"}`,
      ];
      await dropsLines(attack, `b${JSON.stringify(`${lines.join('\n')}\n`)}`);
      const answer = await attack.run(`import os, sys\nos.write(2, b'${report}\\n')\nprint("alive")`);
      expect(answer).toMatchObject({ status: 'success', stdout: 'alive', stderr: report });
    },
  },
];

/** Writes lines (a Python expression) that are dropped: the cell continues, its calls work, and the log reports it once. */
async function dropsLines({ run, allow, log }: Attack, lines: string): Promise<void> {
  allow('echo.echo');
  const answer = await run(`${PAST_THE_PROXIES}
write(${lines})
print(await mcp_echo.echo(text="after"))`);
  expect(answer).toMatchObject({ status: 'success', stdout: 'after', error: '' });
  expect(log().split('dropped an invalid frame')).toHaveLength(2);
}
