/**
 * How code sees tools, from end to end: a server with schemas of every kind, the host calls, and the kernel in the local
 * Python. The server records each call that reaches it.
 */

import { execFileSync } from 'node:child_process';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { silentLogger } from '../../../src/core/base/log.ts';
import { createHostCalls } from '../../../src/core/calls/host-calls.ts';
import { createServerDirectory } from '../../../src/core/directory/server-directory.ts';
import { createMetadataSource } from '../../../src/core/directory/server-metadata.ts';
import { createUpstreamPool, type UpstreamPool } from '../../../src/edges/upstream/pool.ts';
import { artifactMethods } from '../../../src/features/artifacts/calls.ts';
import { createArtifacts } from '../../../src/features/artifacts/index.ts';
import { createSavedTools, savedToolMethods } from '../../../src/features/saved-tools/index.ts';
import { createLocalPythonEngine, hasLocalPython } from '../../support/local-python.ts';
import { createHarness, type Harness, textOf } from '../../support/session-harness.ts';

const SCRIPT = join(import.meta.dirname, '../../fixtures/servers/booking.mjs');

const HOSTILE = join(import.meta.dirname, '../../fixtures/servers/hostile-tools.mjs');
const DEFINITION = { command: process.execPath, env: {}, cwd: undefined, timeoutMs: undefined, file: 'test' };

describe.skipIf(!hasLocalPython())('tools as code sees them', () => {
  let folder: string;
  let ledger: string;
  let pool: UpstreamPool;
  let harness: Harness;

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'bridge-signatures-'));
    ledger = join(folder, 'ledger');
    const servers = new Map(
      [
        ['booking', SCRIPT, ledger] as const,
        ['names', HOSTILE, 'names'] as const,
        ['schemas', HOSTILE, 'schemas'] as const,
      ].map(([name, ...args]) => [name, { ...DEFINITION, name, args, definitionHash: name }]),
    );
    pool = createUpstreamPool({ logger: silentLogger });
    pool.update(servers);
    harness = await createHarness({
      engine: createLocalPythonEngine(),
      handleCall: createHostCalls({
        pool,
        directory: createServerDirectory(createMetadataSource(pool, undefined), () => servers, silentLogger),
        methods: [
          ...artifactMethods(createArtifacts(folder)),
          ...savedToolMethods(createSavedTools({ stateDir: folder, logger: silentLogger, mode: 'on' })),
        ],
        logger: silentLogger,
      }),
      servers: [...servers.keys()].map((name) => ({ name, alias: name })),
    });
  });

  beforeEach(async () => writeFile(ledger, ''));

  afterAll(async () => {
    await harness.close();
    await pool.close();
    await rm(folder, { recursive: true });
  });

  async function printed(code: string): Promise<string> {
    const answer = await harness.run(code, { servers: ['booking', 'names', 'schemas'], timeoutMs: 25_000 });
    expect(answer.error).toBeUndefined();
    return textOf(answer.stdout);
  }

  async function calls(): Promise<unknown[]> {
    const lines = (await readFile(ledger, 'utf8')).split('\n').filter((line) => line !== '');
    return lines.map((line) => JSON.parse(line) as unknown);
  }

  it('refuses wrong arguments with the reason and the signature, and sends nothing', async () => {
    const out = await printed(`
for given in ({}, {'from_': 5}, {'from_': 'ber'}, {'from_': 'BER', 'seats': 10}, {'from_': 'BER', 'x_class': 'busines'},
              {'from_': 'BER', 'guest': {'name': 'A', 'friends': [{}]}}, {'from_': 'BER', 'seat': 2},
              {'from_': 'BER', 'seats': True}, {'from_': 'BER', 'guest': b'x'}):
    try:
        await mcp_booking.book(**given)
    except TypeError as error:
        print(str(error).splitlines()[0].removeprefix('TOOL_ARGUMENT_INVALID: booking.book: '))
        hint = error.hint
print(hint)`);
    expect(out.split('\n')).toEqual([
      'from_ is missing',
      'from_ must be str, not 5 (int)',
      "from_ must match the pattern '^[A-Z]{3}$', not 'ber' (str)",
      'seats must be at most 9, not 10 (int)',
      "x_class must be one of 'economy', 'business', not 'busines' (str). Did you mean 'business'?",
      'guest.friends[0].name is missing',
      "seat is not a parameter of this tool. Did you mean 'seats'?",
      'seats must be int, not True',
      'guest is bytes; pass a str: data.decode(), or base64.b64encode(data).decode()',
      "The signature is book(from_: Annotated[str, 'matches ^[A-Z]{3}$'], seats: Annotated[int, '1 to 9'] = 1, " +
        "x_class: Literal['economy', 'business'] = ..., guest: BookPerson = ..., when: Annotated[str, 'date'] | None = ...), " +
        'with class BookPerson(TypedDict): name: str; friends: NotRequired[list[BookPerson]].',
      '',
    ]);
    expect(await calls()).toEqual([]);
  });

  it('sends correct ones under the original names, in every calling style', async () => {
    await printed(`
import datetime
await mcp_booking.book('BER', 2, x_class='economy', guest=None, when=None)
await mcp_booking.book(**{'from': 'BER', 'x-class': 'business', 'when': datetime.date(2026, 1, 2)})
await runtime.call_tool('booking', 'book', {'from_': 'BER', 'seats': 2.0})
await mcp_booking.same_name(**{'a-b': 1, 'a.b': 2, 'a_b': 3, 'class': 4, 'self': 5})
await mcp_booking.same_name(a_b_2=1, a_b_3=2, a_b=3, class_=4, self=5)
await mcp_booking.same_name_2(any=1)
await mcp_booking.remote(a={'b': [1]})
await mcp_booking.bomb(a='x', b='a' * 40 + 'b')
await runtime.call_tool_raw('booking', 'book', {'wrong': 1})`);
    const same = { tool: 'same-name', arguments: { 'a-b': 1, 'a.b': 2, a_b: 3, class: 4, self: 5 } };
    expect(await calls()).toEqual([
      { tool: 'book', arguments: { from: 'BER', seats: 2, 'x-class': 'economy', when: null } },
      { tool: 'book', arguments: { from: 'BER', 'x-class': 'business', when: '2026-01-02' } },
      { tool: 'book', arguments: { from: 'BER', seats: 2 } },
      same,
      same,
      { tool: 'same.name', arguments: { any: 1 } },
      { tool: 'remote', arguments: { a: { b: [1] } } },
      { tool: 'bomb', arguments: { a: 'x', b: `${'a'.repeat(40)}b` } },
      { tool: 'book', arguments: { wrong: 1 } },
    ]);
  });

  it('help, inspect.signature, documents and stubs agree', async () => {
    const out = await printed(`
import inspect, io, contextlib
for name in mcp_booking:
    tool = mcp_booking[name]
    document = await runtime.query_tool_docs('booking', name, detail='full')
    shown = io.StringIO()
    with contextlib.redirect_stdout(shown):
        help(tool)
    stub = runtime.stubs('booking', tools=[name])
    assert document.signature == f'{name}{inspect.signature(tool)}', (document.signature, inspect.signature(tool))
    assert document.signature in shown.getvalue(), shown.getvalue()
    assert f'async def {document.signature}:' in stub, stub
    for line in document.get('types', []):
        assert line in shown.getvalue() and line in stub, line
    compile(stub, 'stub', 'exec')
    print(document.signature)`);
    expect(out.split('\n')).toHaveLength(8);
  });

  it('derives the result type from earlier results, and says so', async () => {
    await printed('await mcp_booking.seats()');
    const out = await printed(`
document = await runtime.query_tool_docs('booking', 'seats', detail='full')
print(document.signature, document.resultObserved, *document.types)
print(runtime.stubs('booking', ['seats']).splitlines()[-1])
import inspect
print(inspect.signature(mcp_booking.seats))`);
    expect(out.split('\n')).toEqual([
      'seats(**kwargs) -> list[SeatsResult] True class SeatsResult(TypedDict): row: int; free: NotRequired[bool]',
      "async def seats(**kwargs) -> list[SeatsResult]: 'The tool seats.'  # result as observed so far",
      '(**kwargs) -> list[SeatsResult]',
      '',
    ]);
  });

  it.each(['names', 'schemas'])('hostile %s each get a valid, distinct name and a signature', async (server) => {
    const out = await printed(`
import inspect
tools = list(mcp_servers['${server}'])
assert len(set(tools)) == len(tools) and all(name.isidentifier() for name in tools), tools
for name in tools:
    tool = getattr(mcp_${server}, name)
    assert str(inspect.signature(tool)) in tool.__doc__, (inspect.signature(tool), tool.__doc__)
stub = runtime.stubs('${server}')
compile(stub, 'stub', 'exec')
assert stub.isprintable() or set(c for c in stub if not c.isprintable()) <= {'\\n'} | set('🦊'), ascii(stub)
print(len(tools) > 5, len(stub) < 100_000)`);
    expect(out).toBe('True True\n');
  });

  it('works without await: in functions, callbacks and threads', async () => {
    const out = await printed(`
from concurrent.futures import ThreadPoolExecutor
def seat(n):
    return mcp_booking.book.sync('BER', n)
print(seat(1), sorted([2], key=lambda n: seat(n)), [*map(seat, [3])])
with ThreadPoolExecutor(4) as threads:
    print([*threads.map(seat, range(1, 9))])
    failed = threads.submit(seat, 0)
print(type(failed.exception()).__name__)`);
    expect(out).toBe(
      `done [2] ['done']\n${JSON.stringify(Array.from({ length: 8 }, () => 'done'))
        .replaceAll('"', "'")
        .replaceAll(',', ', ')}\nArgumentError\n`,
    );
    expect(await calls()).toHaveLength(11);
  });

  it('stubs pass a type checker', async () => {
    const stub = await printed("print(runtime.stubs('booking'), end='')");
    const file = join(folder, 'booking.pyi');
    await writeFile(file, stub);
    const checker = join(import.meta.dirname, '../../../node_modules/.bin/basedpyright');
    const report = execFileSync(checker, ['--level', 'error', file], { encoding: 'utf8' });
    expect(report).toContain('0 errors');
  });
});
