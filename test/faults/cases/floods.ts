/** Floods: too much, too deep, too often. The cost to the host is limited. */

import { expect } from 'vitest';
import type { FaultCase } from '../../support/faults/fault-case.ts';
import { pause } from '../../support/pause.ts';
import { PAST_THE_PROXIES } from './hostile-python.ts';

export const FLOOD_CASES: readonly FaultCase[] = [
  {
    id: 'F11',
    title: 'one line of 1 GB',
    expected: 'its bytes are discarded on arrival; the cell goes on after it',
    needs: ['threads'],
    growth: {
      mib: 96,
      keptMib: 48,
      why: 'data from the pipe waits for garbage collection, and glibc keeps its pages',
    },
    async run({ run, log }) {
      const answer = await run(
        `${PAST_THE_PROXIES}
piece = b"x" * (1 << 20)
for _ in range(1024): write(piece)
write(b"\\n")
print("still here")`,
        { timeout: 60 },
      );
      expect(answer).toMatchObject({ status: 'success', stdout: 'still here' });
      await expect.poll(log).toContain('a line of 1073741824 bytes');
    },
  },
  {
    id: 'F12',
    title: '256 MiB of output in frames of 64 KiB, and as much printed',
    expected: 'start and end are kept, the rest is counted; the answer is no longer than usual',
    needs: ['threads'],
    growth: {
      mib: 96,
      keptMib: 48,
      why: 'data from the pipe waits for garbage collection, and glibc keeps its pages',
    },
    async run({ run }) {
      const forged = await run(
        `${PAST_THE_PROXIES}
line = frame(type="output", cell=CELL, stream="stdout", text="x" * 65_000 + "\\n")
for _ in range(4096): write(line)`,
        { timeout: 60 },
      );
      expect(forged.status).toBe('success');
      const printed = await run('for _ in range(4096): print("y" * 65_535)', { timeout: 60 });
      for (const { stdout, text } of [forged, printed]) {
        expect(text.length).toBeLessThan(50_000);
        expect(stdout).toMatch(/\[26\d,\d{3},\d{3} bytes \(4,\d{3} lines\) omitted here/);
      }
    },
  },
  {
    id: 'F13',
    title: 'as many small frames as the pipe takes, for 5 s',
    expected: 'the sandbox is ended at 2,000,000 frames per cell, and the answer says so',
    needs: ['threads'],
    async run({ run }) {
      const answer = await run(`${PAST_THE_PROXIES}
block = frame(type="progress", done=1) * 10_000
while True: write(block)`);
      expect(answer.status).toMatch(/error|timeout/);
      expect(answer.error).toMatch(/more than 2,000,000 frames in one cell|deadline of 5 s/);
    },
  },
  {
    id: 'F14',
    title: 'arguments, output, a method and a value nested 100,000 deep',
    expected: 'dropped or refused with a reason before anything walks them',
    quick: true,
    needs: ['threads'],
    async run({ run }) {
      const answer = await run(`${PAST_THE_PROXIES}
deep = b"[" * 100_000 + b"]" * 100_000
write(b'{"type":"output","cell":%d,"stream":"stdout","text":' % CELL + deep + b'}\\n')
write(b'{"type":"call","call":7001,"method":' + b'{"a":' * 100_000 + b'1' + b'}' * 100_000 + b'}\\n')
print(await answer_of(7000, b'{"type":"call","call":7000,"method":"call_tool","params":{"v":' + deep + b'}}\\n'))
nested = []
for _ in range(100_000): nested = [nested]
try: await mcp_echo.echo(text=nested)
except Exception as error: print(error.code)
nested`);
      expect(answer.stdout.split('\n')).toEqual(['LIMIT_FRAME', 'TOOL_ARGUMENT_INVALID']);
    },
  },
  {
    id: 'F15',
    title: 'lines full of small objects, keys, numbers, quotes: as much as fits, and as much as is allowed',
    expected: 'what would block the host is refused unparsed with `LIMIT_FRAME`; the allowed maximum does not block it',
    quick: true,
    needs: ['threads'],
    growth: { mib: 128, keptMib: 32, why: 'a line of 8 MiB is there as bytes, as text and as values' },
    async run({ run }) {
      const answer = await run(
        `${PAST_THE_PROXIES}
def call(number, value):
    return b'{"type":"call","call":%d,"method":"call_tool","params":{"server":"echo","tool":"none","arguments":{"v":' % number + value + b'}}}\\n'
def array(item, count):
    return b"[" + item * count + b"12345678901234567890]"
def members(count):
    return b"{" + b",".join(b'"k%d":1' % n for n in range(count)) + b"}"
room = (8 << 20) - 300
too_much = [array(b'{"a":1},', room // 8), array(b"1,", room // 2), array(b"[],", room // 3), array(b'"",', room // 3),
    array(b"12345678901234567890,", room // 21), members(200_000)]
allowed = [array(b'{"a":1},', 70_000), array(b"1,", 249_000), array(b"[],", 124_000), array(b'"",', 249_000),
    array(b"12345678901234567890,", 24_000), members(74_000), b'["' + b'\\\\"' * (room // 2) + b'",12345678901234567890]',
    b'"' + b"x" * room + b'"']
async def codes(values, first):
    return {await answer_of(first + n, call(first + n, value)) for n, value in enumerate(values)}
print(await codes(too_much, 8000), await codes(allowed, 8100))`,
        { timeout: 60 },
      );
      expect(answer.stdout).toBe("{'LIMIT_FRAME'} {'TOOL_UNKNOWN'}");
    },
  },
  {
    id: 'F16',
    title: '10,000 calls at once, none awaited',
    expected: 'at most 1,024 run at a time; none starts after the cell has ended',
    needs: ['threads'],
    growth: { mib: 96, keptMib: 32, why: '10,000 calls wait with their parameters' },
    async run({ run, allow, calls }) {
      const session = 'many-calls';
      await run(
        `${PAST_THE_PROXIES}
params = {"server": "ledger", "tool": "record_slowly", "arguments": {"seconds": 0.5}}
write(b"".join(frame(type="call", call=9000 + n, method="call_tool", params=params) for n in range(10_000)))`,
        { session },
      );
      // Calls in progress complete; the others wait for a cell of this session.
      let begun = -1;
      while (begun < calls().length) {
        begun = calls().length;
        await pause(1_000, 'so long no further call begins');
      }
      allow(...calls());
      expect(begun).toBeGreaterThanOrEqual(1_024);
      expect(begun).toBeLessThan(10_000);
    },
  },
  {
    id: 'F20',
    title: 'a sandbox that reads nothing while it is owed 320 MiB of results',
    expected: 'results beyond 128 MiB are refused with `LIMIT_RESULT`; nothing else waits',
    needs: ['threads'],
    growth: {
      mib: 480,
      keptMib: 120,
      why: 'one sandbox may be owed 128 MiB, and the result that is refused has been read',
    },
    async run({ run, allow }) {
      allow(...Array<string>(40).fill('huge.text'));
      const answer = await run(
        `${PAST_THE_PROXIES}
os.read = lambda *_: time.sleep(3600)
params = {"server": "huge", "tool": "text", "arguments": {"mib": 8}}
for n in range(40): write(frame(type="call", call=9000 + n, method="call_tool", params=params))
time.sleep(3600)`,
        { timeout: 10, servers: ['huge'] },
      );
      expect(answer.status).toBe('timeout');
    },
  },
];
