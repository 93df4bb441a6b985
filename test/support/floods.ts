/**
 * Floods: cells that send every kind of request that a sandbox can make, each at its largest size and as often as they can,
 * without awaiting any. They write to the pipe of the kernel, past the proxies and past the limits that the kernel keeps.
 */
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { MAX_ARTIFACT_BYTES, MAX_ARTIFACTS_PER_SESSION } from '../../src/core/base/limits.ts';
import type { CallMethod, SandboxFrame } from '../../src/core/protocol/frames.ts';
import { PAST_THE_PROXIES } from '../faults/cases/hostile-python.ts';

export interface Flood {
  readonly title: string;
  /** Methods and types of frames that it sends. */
  readonly kinds: readonly (CallMethod | SandboxFrame['type'])[];
  readonly code: string;
}

/** `count` repetitions, where a short run makes fewer. */
type Amount = (short: number, long: number) => number;

/** The servers that floods call, both `flooded.mjs`; one of them stops reading. */
export const FLOODED_SERVER = 'flooded';
export const STUCK_SERVER = 'stuck';
/** The session whose artifacts they read. */
const STORED_SESSION = 'stored';

/**
 * `flood` sends calls without awaiting any, then waits until each has its answer; `flood_frames` sends frames that have no
 * answer, then waits until the host has read them. WIDE has as many characters as LARGE, but JavaScript needs twice the memory.
 */
const PRELUDE = `${PAST_THE_PROXIES}
MIB = 1 << 20
LARGE = "x" * (7 * MIB)
ended = {}
numbers = iter(range(int(time.time() * 1000) * 1_000, 1 << 53))
class Counted(rpc.Pending):
    def __init__(self): super().__init__(self.count)
    def count(self, value, error):
        key = "ok" if error is None else error.code
        ended[key] = ended.get(key, 0) + 1
def encoded(value): return json.dumps(value, ensure_ascii=False).encode()
def send(body, number):
    KERNEL._pending[number] = Counted()
    write(b'{"type":"call","call":%d,' % number + body + b"\\n")
async def until_ended(count):
    while sum(ended.values()) < count: await asyncio.sleep(0.02)
    print(json.dumps(ended, sort_keys=True))
async def flood(count, method, params, **more):
    ended.clear()
    body = encoded({"method": method, "params": params, **more})[1:]
    for _ in range(count): send(body, next(numbers))
    await until_ended(count)
async def flood_frames(count, line):
    ended.clear()
    for _ in range(count): write(line + b"\\n")
    await flood(1, "discovered_servers", {})
def call_of(tool, server="${FLOODED_SERVER}", **given): return {"server": server, "tool": tool, "arguments": given}
`;

/** Code that sends a flood, to be run in a session that has loaded both servers. */
export function codeOf({ code }: Flood): string {
  return `${PRELUDE}${code}`;
}

/** What the floods read: artifacts of another session. */
export function storeForFloods(stateFolder: string): void {
  const stored = join(stateFolder, 'artifacts', STORED_SESSION);
  mkdirSync(stored, { recursive: true, mode: 0o700 });
  writeFileSync(join(stored, 'large.bin'), Buffer.alloc(MAX_ARTIFACT_BYTES, 7));
  for (let number = 1; number < MAX_ARTIFACTS_PER_SESSION; number += 1) {
    writeFileSync(join(stored, `artifact-${number}.txt`), 'x');
  }
}

/** Every kind of request. The last one ends the sandbox. */
export function createFloods(amount: Amount): readonly Flood[] {
  return [...toolCalls(amount), largeRequests(amount), ...largeAnswers(amount), ...frames(amount)];
}

function toolCalls(amount: Amount): Flood[] {
  const count = amount(20, 900);
  return [
    {
      title: 'calls of 7 MiB to a fast server',
      kinds: ['call_tool'],
      code: `await flood(${amount(40, 900)}, "call_tool", call_of("takes", text=LARGE))`,
    },
    {
      title: 'calls of 7 MiB that need 14 MiB as text',
      kinds: ['call_tool'],
      code: `await flood(${count}, "call_tool", call_of("takes", text=LARGE[3:] + "€"))`,
    },
    {
      title: 'calls with 240,000 values',
      kinds: ['call_tool'],
      code: `await flood(${count}, "call_tool", call_of("takes", values=list(range(240_000))))`,
    },
    {
      title: 'calls of 7 MiB of numbers that JavaScript cannot hold',
      kinds: ['call_tool'],
      code: `await flood(${count}, "call_tool", call_of("takes", text=LARGE[1 << 19:], values=[1 << 64] * 24_000))`,
    },
    {
      title: 'calls of 7 MiB, each cancelled at once',
      kinds: ['call_tool', 'cancel_call'],
      code: `
body = encoded({"method": "call_tool", "params": call_of("waits", text=LARGE)})[1:]
for _ in range(${count}):
    number = next(numbers)
    write(b'{"type":"call","call":%d,' % number + body + b"\\n" + frame(type="cancel_call", call=number))
await flood(1, "discovered_servers", {})`,
    },
    {
      title: 'calls of 7 MiB that a job makes',
      kinds: ['call_tool', 'start_job', 'job_ended'],
      code: `
await ask("start_job", {"name": "flood"})
await flood(${count}, "call_tool", call_of("takes", text=LARGE), job="flood")
write(frame(type="job_ended", name="flood"))`,
    },
    {
      title: 'calls with results of 8 MiB',
      kinds: ['call_tool'],
      code: `await flood(${amount(20, 200)}, "call_tool", call_of("gives", mib=8))`,
    },
    {
      title: 'calls of 7 MiB, each cancelled at once, to a server that reads nothing',
      kinds: ['call_tool', 'cancel_call'],
      code: `
stopped = next(numbers)
send(encoded({"method": "call_tool", "params": call_of("stops_reading", "${STUCK_SERVER}")})[1:], stopped)
body = encoded({"method": "call_tool", "params": call_of("waits", "${STUCK_SERVER}", text=LARGE)})[1:]
for _ in range(${count}):
    number = next(numbers)
    write(b'{"type":"call","call":%d,' % number + body + b"\\n" + frame(type="cancel_call", call=number))
write(frame(type="cancel_call", call=stopped))
await flood(1, "discovered_servers", {})`,
    },
  ];
}

/** Requests that are large themselves, in turn. Most are refused, but only after they have been read. */
function largeRequests(amount: Amount): Flood {
  const given: Partial<Record<CallMethod, string>> = {
    list_tools: '{"server": LARGE}',
    describe_server: '{"server": LARGE}',
    discovered_servers: '{"more": LARGE}',
    list_resources: '{"server": LARGE}',
    list_resource_templates: '{"server": LARGE}',
    read_resource: `{"server": "${FLOODED_SERVER}", "uri": LARGE}`,
    list_prompts: '{"server": LARGE}',
    get_prompt: `{"server": "${FLOODED_SERVER}", "name": "ask", "arguments": {"text": LARGE}}`,
    find_servers: '{"query": LARGE}',
    find_new_servers: '{"query": LARGE}',
    propose_server: '{"name": LARGE}',
    fetch: '{"url": "https://egress.invalid/", "method": "POST", "body": LARGE}',
    query_tool_docs: `{"server": "${FLOODED_SERVER}", "tool": LARGE}`,
    search_tool_docs: '{"query": LARGE}',
    tool_specs: `{"server": "${FLOODED_SERVER}", "tools": [LARGE]}`,
    stubs: `{"server": "${FLOODED_SERVER}", "tools": [LARGE]}`,
    install_packages: '{"requirements": [LARGE]}',
    read_wheel: '{"sha256": LARGE, "offset": 0}',
    save_tool: '{"name": "f", "source": LARGE}',
    load_tool: '{"name": LARGE}',
    run_program: '{"language": LARGE, "code": "x"}',
    save_artifact: '{"name": "a.bin", "offset": 0, "data": LARGE, "last": True}',
    load_artifact: '{"name": LARGE, "offset": 0, "length": 1}',
    list_artifacts: '{"more": LARGE}',
    last_answer: '{"more": LARGE}',
    begin_step: '{"name": LARGE, "after": []}',
    kept_step: '{"step": 1, "key": LARGE}',
    end_step: '{"step": 1, "outcome": "ok", "data": LARGE}',
    to_toon: '{"value": LARGE}',
    start_job: '{"name": LARGE}',
    checkpoint: '{"name": LARGE}',
    restore: '{"name": LARGE}',
    checkpoints: '{"more": LARGE}',
  };
  const methods = Object.keys(given) as CallMethod[];
  const requests = Object.entries(given).map(([method, params]) => `lambda: ("${method}", ${params})`);
  const rounds = amount(2, 30);
  return {
    title: `requests of 7 MiB to ${methods.length} methods`,
    kinds: methods,
    code: `
for _ in range(${rounds}):
    for request in [${requests.join(', ')}]:
        method, params = request()
        send(encoded({"method": method, "params": params})[1:], next(numbers))
await until_ended(${rounds * methods.length})`,
  };
}

/** Requests that are as large as is accepted, or have large answers. */
function largeAnswers(amount: Amount): Flood[] {
  const many = amount(10, 1_000);
  const server = `"server": "${FLOODED_SERVER}"`;
  const given: readonly (readonly [CallMethod, string, string, number])[] = [
    ['list_tools', 'of 1,000 tools', `{${server}}`, many],
    ['describe_server', 'with 1,000 tools', `{${server}}`, many],
    ['list_resources', 'of 2 MiB', `{${server}}`, many],
    ['list_resource_templates', 'of 2 MiB', `{${server}}`, many],
    ['read_resource', 'of 2 MiB', `{${server}, "uri": "large:///one"}`, many],
    ['list_prompts', 'of 2 MiB', `{${server}}`, many],
    ['get_prompt', 'of 2 MiB', `{${server}, "name": "ask"}`, many],
    ['find_servers', 'by 2,000 characters', '{"query": "tool " * 400, "limit": 50}', many],
    ['fetch', 'of 100 headers', '{"url": "https://egress.invalid/", "headers": [["x-a", "y" * 1000]] * 100}', many],
    ['find_new_servers', 'by 400 characters', '{"query": "tool " * 80, "limit": 50}', many],
    [
      'propose_server',
      'with 50 values of 4,000 characters',
      '{"name": "a/b", "values": {str(n): "x" * 4_000 for n in range(50)}}',
      many,
    ],
    ['query_tool_docs', 'of 1,000 tools', `{${server}, "detail": "full"}`, amount(10, 200)],
    [
      'search_tool_docs',
      'by 100,000 characters',
      '{"query": "tool number " * 8_000, "limit": 20, "detail": "full"}',
      20,
    ],
    ['tool_specs', 'of 200 tools', `{${server}, "tools": [f"tool_{n}" for n in range(200)]}`, amount(10, 200)],
    ['stubs', 'of 1,000 tools', `{${server}}`, amount(10, 200)],
    [
      'run_program',
      'in a language that does not exist, with files of 5 MiB',
      '{"language": "none", "code": "x", "files": [{"name": "a", "content": "A" * (5 * MIB)}]}',
      amount(10, 100),
    ],
    ['save_tool', 'of 64 KiB', '{"name": "f", "source": "def f():\\n    " + "#" * 65_000}', many],
    [
      'save_artifact',
      'in pieces of 1 MiB',
      '{"name": "a.bin", "offset": 0, "data": "A" * (4 * ((MIB + 2) // 3)), "last": False}',
      many,
    ],
    [
      'load_artifact',
      'in pieces of 64 MiB',
      `{"name": "large.bin", "session": "${STORED_SESSION}", "offset": 0, "length": 64 * MIB}`,
      many,
    ],
    [
      'load_artifact',
      'in pieces of 1 MiB',
      `{"name": "large.bin", "session": "${STORED_SESSION}", "offset": 0, "length": MIB}`,
      many,
    ],
    ['list_artifacts', 'of 1,000 files', '{}', many],
    ['begin_step', 'that follow many and never end', '{"name": "n" * 200, "after": [*range(1, 101)]}', 10 * many],
    ['to_toon', 'of 240,000 values', '{"value": [{"a": n} for n in range(70_000)]}', amount(10, 200)],
  ];
  return given.map(([method, size, params, count]) => ({
    title: `${method} ${size}`,
    kinds: [method],
    code: `await flood(${count}, "${method}", ${params})`,
  }));
}

/** Frames that are no calls, and lines that are no frames. */
function frames(amount: Amount): Flood[] {
  const count = amount(12, 600);
  const text = 'LARGE[1 << 19:]';
  const given: readonly (readonly [SandboxFrame['type'], string, string])[] = [
    ['output', 'of 7 MiB', `type="output", cell=CELL, stream="stdout", text=LARGE`],
    ['display', 'of 7 MiB of text', `type="display", cell=CELL, mime_type="text/html", text=LARGE`],
    ['display', 'of 3 MiB in base64', `type="display", cell=CELL, mime_type="image/png", base64="A" * (4 * MIB)`],
    ['progress', 'of 7 MiB', `type="progress", done=1, total=2, message=LARGE`],
    ['job_ended', 'with 7 MiB', 'type="job_ended", name=LARGE'],
    ['checkpoint_part', 'with 7 MiB', 'type="checkpoint_part", checkpoint=9, bytes=1, more=LARGE'],
    ['checkpoint_end', 'with 7 MiB', 'type="checkpoint_end", ok=False, reason=LARGE'],
    ['want_checkpoint', 'with 7 MiB', 'type="want_checkpoint", offset=0, size=1, more=LARGE'],
    ['restored', 'with 7 MiB', 'type="restored", variables=1, files=1, lost=LARGE, omitted=0'],
    ['egress_open', 'with 7 MiB', 'type="egress_open", stream=LARGE'],
    ['egress_end', 'with 7 MiB', 'type="egress_end", stream=1, more=LARGE'],
    ['egress_reset', 'with 7 MiB', 'type="egress_reset", stream=1, more=LARGE'],
    ['egress_taken', 'with 7 MiB', 'type="egress_taken", stream=1, bytes=1, more=LARGE'],
    ['code_pack', 'of 7 MiB', 'type="code_pack", data=LARGE'],
    ['ready', 'with 7 MiB', 'type="ready", protocol_version=1, python_version=LARGE, platform=""'],
    ['result', 'of another cell with 7 MiB', 'type="result", cell=CELL + 1, outcome="ok", value=LARGE'],
  ];
  return [
    ...given.map(([type, size, members]) => ({
      title: `${type} ${size}`,
      kinds: [type],
      code: `await flood_frames(${count}, frame(${members})[:-1])`,
    })),
    {
      title: 'cancel_call, 200,000 times',
      kinds: ['cancel_call'],
      code: `await flood_frames(20, b"\\n".join([frame(type="cancel_call", call=7)[:-1]] * 10_000))`,
    },
    {
      title: 'streams that are opened and filled, as many as fit',
      kinds: ['egress_open', 'egress_data'],
      code: `
data = b"x" * (256 << 10)
for number in range(1, ${amount(200, 2_000)}):
    write(frame(type="egress_open", stream=number))
    write(frame(type="egress_data", stream=number, bytes=len(data)) + data + b"\\n")
await flood(1, "discovered_servers", {})`,
    },
    { title: 'lines of 7 MiB that are not JSON', kinds: [], code: `await flood_frames(${count}, LARGE.encode())` },
    {
      title: 'lines of 7 MiB that are not UTF-8',
      kinds: [],
      code: `await flood_frames(${count}, b"{" + b"\\xff" * len(${text}))`,
    },
    {
      title: 'lines of 64 MiB',
      kinds: [],
      code: `
piece = LARGE.encode()
for _ in range(${amount(2, 40)}):
    for _ in range(9): write(piece)
    write(b"\\n")
await flood(1, "discovered_servers", {})`,
    },
    {
      title: 'reset with 7 MiB',
      kinds: ['reset'],
      code: `await flood(${count}, "reset", {"more": LARGE})`,
    },
  ];
}
