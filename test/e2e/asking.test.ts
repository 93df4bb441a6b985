// Tags: anywhere, full
/**
 * Questions to the user, with real clients of both protocol eras, real servers and real sandboxes: approvals of calls, and questions of
 * servers. `UPDATE_ASKING=1` writes the wire traffic to docs/internals/elicitation.md, which is otherwise compared with it.
 */

import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { QuestionQueue } from '../../src/features/waiting-questions/question-queue.ts';
import {
  type Asked,
  type AskingBridge,
  ERAS,
  type Era,
  type PersonReply,
  startAskingBridge,
} from '../support/asking-bridge.ts';
import { fixtureServer, ROOT } from '../support/bridge-client.ts';
import { coverEngines } from '../support/covered-engines.ts';
import { pause } from '../support/pause.ts';
import { isAlive } from '../support/processes.ts';
import { sandboxesOfBridge } from '../support/sandbox.ts';

// No engine knows of questions, so one is enough.
const engines = (await coverEngines()).slice(0, 1);
const POLICY = { rules: [{ effect: 'ask', server: 'echo', tool: 'echo' }] };
const SERVERS = {
  echo: fixtureServer('echo.mjs'),
  old: fixtureServer('asks.mjs'),
  modern: fixtureServer('asks-modern.mjs'),
};
const LOADED = { servers: Object.keys(SERVERS) };
const allow = (answer: string): PersonReply => ({ action: 'accept', content: { answer } });

const open: AskingBridge[] = [];
afterEach(async () => {
  await Promise.all(open.splice(0).map((bridge) => bridge.close()));
});

const cases = engines.flatMap((engine) => ERAS.map((era) => ({ engine, era, name: `${engine.label}, ${era}` })));

describe.each(cases)('asking on $name', ({ engine, era }) => {
  /** A bridge whose user gives these replies in order, and then repeats the last one. */
  async function start(replies: readonly PersonReply[] | undefined, env: Record<string, string> = {}) {
    const asked: Asked[] = [];
    const person = replies && {
      person(question: Asked) {
        asked.push(question);
        return replies[Math.min(asked.length, replies.length) - 1] ?? { action: 'cancel' as const };
      },
    };
    const bridge = await startAskingBridge({ engine, era, servers: SERVERS, policy: POLICY, env, ...person });
    open.push(bridge);
    return { bridge, asked };
  }

  it('asks before the first cell what a scheduled run waits for, or says that it does', async () => {
    const about = { schedule: 'morning', run: '2026-11-30T06-00-00Z', key: 'call 1' };
    const answers = { type: 'string' as const, enum: ['Allow once', 'Do not allow'] };
    const requestedSchema = { type: 'object', properties: { answer: answers }, required: ['answer'] };
    const question = { mode: 'form' as const, message: 'May it?', requestedSchema };
    const mute = await start(undefined);
    await new QuestionQueue(mute.bridge.folder).ask({ ...about, question });
    expect(await mute.bridge.run('print(1)')).toMatch(/Schedule 'morning' has waited for an answer since .* approvals/);
    expect(await mute.bridge.run('print(2)')).not.toContain('Schedule');

    const { bridge, asked } = await start([allow('Allow once')]);
    const queue = new QuestionQueue(bridge.folder);
    await queue.ask({ ...about, question });
    const answer = await bridge.run('print(1)');
    expect(asked.map(({ message }) => message)).toEqual([
      expect.stringMatching(/^Schedule 'morning', run 2026-11-30T06-00-00Z, has waited .*\n\nMay it\?$/),
    ]);
    expect(await queue.answerTo(about)).toMatchObject({ reply: { content: { answer: 'Allow once' } }, by: 'client' });
    expect(answer).not.toContain('Schedule');
  });

  // Neither used to be masked: masking covered only what servers send, not what is in files.
  it('the question shows no secret of an entry, wherever it is stored', async () => {
    const { bridge, asked } = await start([allow('Allow once')]);
    writeFileSync(join(bridge.folder, 'key'), 'file-5ecret-1', { mode: 0o600 });
    const env = { API_TOKEN: '${file:key}', OTHER_KEY: 'entry-5ecret-2' };
    const servers = { ...SERVERS, echo: { ...SERVERS.echo, env } };
    writeFileSync(join(bridge.folder, 'servers.json'), JSON.stringify({ mcpServers: servers }));
    const code = 'await mcp_echo.echo(text="file-5ecret-1 entry-5ecret-2")';
    await bridge.run(`runtime.describe_server("echo")\n${code}`, LOADED);
    expect(asked).toHaveLength(1);
    expect(asked[0]?.message).toContain('text: "*** ***"');
    expect(asked[0]?.message).toContain('    await mcp_echo.echo(text="*** ***")\n');
  });

  it('a call is made if the user allows it and refused if not, and the session continues', async () => {
    const { bridge, asked } = await start([allow('Allow once'), { action: 'decline' }]);
    const code = 'kept = 7\n# A comment\nprint(await mcp_echo.echo(text="hi\\n\\nServer: other"))';
    expect(await bridge.run(code, LOADED)).toContain('hi\n\nServer: other');
    expect(asked.map(({ message }) => message)).toEqual([
      `Code in session 'default' wants to call a tool, and your policy requires your approval.

Server: echo
Tool: echo
Why: rules[0] of ${join(bridge.folder, 'policy.json')} asks for approval

Arguments that the tool does not declare:

    text: "hi\\n\\nServer: other"

Line 3 of the code, as reported by the sandbox:

    print(await mcp_echo.echo(text="hi\\n\\nServer: other"))

Indented lines come from the code or from servers. A session ends with its sandbox; a cell is this one call to run_python.`,
    ]);
    const refused = await bridge.run(`
try:
    await mcp_echo.echo(text="two")
except PolicyError as error:
    print(type(error).__name__, error.code, kept)
try:
    await mcp_echo.echo(text="two")
except PolicyError as error:
    print(error)`);
    expect(refused).toContain('PolicyError APPROVAL_DENIED 7\n');
    expect(refused).toContain('echo.echo was not called: the user was asked and said no');
    expect(asked).toHaveLength(2);
  });

  it('concurrent calls are asked about together, and an answer applies as long as it says', async () => {
    const { bridge, asked } = await start([allow('Allow for this cell'), allow('Allow for this session')]);
    const gather = 'import asyncio\nlen(await asyncio.gather(*[mcp_echo.echo(text=str(i % 3)) for i in range(6)]))';
    expect(
      await bridge.run(`${gather}\nlen(await asyncio.gather(*[mcp_echo.echo(text="x") for _ in range(6)]))`, LOADED),
    ).toContain('6');
    expect(asked).toHaveLength(1);
    expect(asked[0]?.message).toContain('make 3 different tool calls');
    expect(await bridge.run('await mcp_echo.echo(text="y")')).toContain('y');
    expect(await bridge.run('await mcp_echo.echo(text="z")')).toContain('z');
    expect(asked).toHaveLength(2);
    await bridge.run('runtime.reset()');
    expect(await bridge.run('await mcp_echo.echo(text="new")', LOADED)).toContain('new');
    expect(asked).toHaveLength(3);
  });

  it('the deadline of the cell is paused, and other code of the cell keeps running', async () => {
    const bridge = await startAskingBridge({
      engine,
      era,
      servers: SERVERS,
      policy: POLICY,
      person: async () => {
        await pause(2_500, 'the person thinks for longer than the cell may take');
        return allow('Allow once');
      },
    });
    open.push(bridge);
    await bridge.run('1', LOADED);
    const code = `
import asyncio, time
async def tick():
    for _ in range(3): await asyncio.sleep(0.1)
    return time.monotonic()
start = time.monotonic()
ticked, _ = await asyncio.gather(tick(), mcp_echo.echo(text="late"))
print(ticked - start < 2 < time.monotonic() - start)`;
    expect(await bridge.run(code, { timeout: 2 })).toBe('True');
  });

  it('an unanswered question times out, and the cell continues with the exception', async () => {
    const bridge = await startAskingBridge({
      engine,
      era,
      servers: SERVERS,
      policy: POLICY,
      env: { MCP_BRIDGE_APPROVAL_TIMEOUT: '1s' },
      person: async () => {
        await pause(1_500, 'the person thinks for longer than the bridge waits');
        return allow('Allow once');
      },
    });
    open.push(bridge);
    const code = 'try:\n    await mcp_echo.echo(text="x")\nexcept PolicyError as error:\n    print(error.code, error)';
    const text = await bridge.run(code, LOADED);
    expect(text).toContain('APPROVAL_TIMEOUT');
    expect(text).toContain('no one answered the question within 1 s');
  });

  it('a client that cannot ask gets a refusal that explains how the user can allow the call', async () => {
    const { bridge } = await start(undefined);
    const text = await bridge.run('await mcp_echo.echo(text="x")', LOADED);
    expect(text).toContain('APPROVAL_UNAVAILABLE: echo.echo was not called');
    expect(text).toContain('this client cannot ask (it does not support elicitation; exec asks only at a terminal)');
    expect(text).toContain(
      `{"effect":"allow","server":"echo","tool":"echo"} as the first of "rules" in ${bridge.folder}`,
    );
  });

  it('questions of servers of both eras reach the user, marked with the server name', async () => {
    const { bridge, asked } = await start([{ action: 'accept', content: { name: 'Ada' } }]);
    const form = '{"type": "object", "properties": {"name": {"type": "string"}}}';
    const code = `
old = await mcp_old.ask(message="Who?\\nServer 'modern' asks:", requestedSchema=${form})
modern = await mcp_modern.ask(message="Who?")
page = await mcp_modern.page(url="https://example.com/login")
print(old["result"]["content"], modern, page)`;
    const text = await bridge.run(code, LOADED);
    expect(text).toContain("{'name': 'Ada'}");
    expect(asked.map(({ message }) => message.split('\n\n').slice(0, 2))).toEqual([
      ["Server 'old' asks:", "> Who?\n> Server 'modern' asks:"],
      ["Server 'modern' asks:", '> Who?'],
      ["Server 'modern' asks you to open a page:", '> Log in'],
    ]);
    expect(asked[2]).toMatchObject({ mode: 'url', url: 'https://example.com/login' });
  });

  it('a client that disconnects during a question leaves no cell, sandbox or bridge behind', async () => {
    const asking: { begun?: () => void } = {};
    const begun = new Promise<void>((resolve) => {
      asking.begun = resolve;
    });
    const person = (): Promise<PersonReply> => {
      asking.begun?.();
      return new Promise(() => undefined);
    };
    const bridge = await startAskingBridge({ engine, era, servers: SERVERS, policy: POLICY, person });
    const running = bridge.run('await mcp_echo.echo(text="x")', LOADED);
    running.catch(() => undefined); // The connection ends while it runs.
    await begun;
    await bridge.close();
    await expect.poll(() => isAlive(bridge.pid), { timeout: 20_000 }).toBe(false);
    await expect.poll(() => sandboxesOfBridge(engine, bridge.pid), { timeout: 20_000 }).toEqual([]);
  });

  it('the bridge does not answer questions of servers if the user cannot be asked', async () => {
    const { bridge } = await start(undefined);
    const code = 'print((await mcp_old.ask(message="Who?")).error.code)\nawait mcp_modern.ask(message="Who?")';
    expect(await bridge.run(code, LOADED)).toMatch(/-32601\n[^]*modern/);
  });
});

describe.each(cases.filter(({ era }) => era === '2025-11-25'))('cancelling on $name', ({ engine, era }) => {
  it('withdraws the question, and the session continues', async () => {
    const cancel = new AbortController();
    const taken: { back?: Promise<void> } = {};
    const bridge = await startAskingBridge({
      engine,
      era,
      servers: SERVERS,
      policy: POLICY,
      person(_, signal) {
        const back = new Promise<void>((resolve) => {
          signal.addEventListener('abort', () => resolve());
        });
        taken.back = back;
        cancel.abort();
        return back.then(() => ({ action: 'cancel' }));
      },
    });
    open.push(bridge);
    await bridge.run('kept = 1', LOADED);
    await expect(bridge.run('await mcp_echo.echo(text="x")', {}, cancel)).rejects.toThrow();
    await taken.back;
    expect(await bridge.run('kept')).toMatch(
      /^1\nnotices:\nCell 2 ended with status cancelled; its call was cancelled:/,
    );
  });
});

/** Replaces everything that differs from run to run. */
function settle(message: string, folder: string): string {
  return message
    .replaceAll(folder, '/home/you/MCPs')
    .replaceAll(/"requestState":"[\w-]{43}"/g, '"requestState":"(43 unguessable characters)"')
    .replaceAll(/"version":"\d[^"]*"/g, '"version":"…"');
}

function render(wire: readonly string[], folder: string): string {
  const blocks = wire.map((line) => {
    const who = line.startsWith('>') ? 'The client' : 'The bridge';
    const message: unknown = JSON.parse(settle(line.slice(2), folder));
    return `${who}:\n\n\`\`\`json\n${JSON.stringify(message, null, 2)}\n\`\`\``;
  });
  return blocks.join('\n\n');
}

describe.skipIf(engines.length === 0)('docs/internals/elicitation.md', () => {
  it.each(ERAS)('shows the wire traffic (%s)', async (era: Era) => {
    const [engine] = engines;
    if (engine === undefined) {
      throw new Error('no engine');
    }
    const person = () => allow('Allow once');
    const bridge = await startAskingBridge({ engine, era, servers: SERVERS, policy: POLICY, person });
    open.push(bridge);
    await bridge.run('1', { servers: ['echo'] });
    bridge.wire.length = 0;
    expect(await bridge.run('await mcp_echo.echo(text="hi")')).toBe("'hi'");
    // The bridge's first id is used by a ping, which may come at any time.
    const wire = bridge.wire.filter(
      (line) => !/"method":"ping"|"id":0,"result":\{\}|"result":\{\},.*"id":0/.test(line),
    );
    const file = join(ROOT, 'docs/internals/elicitation.md');
    const marker = new RegExp(`(<!-- recorded: ${era} -->\n)[^]*?(\n<!-- end -->)`);
    const text = readFileSync(file, 'utf8');
    expect(text).toMatch(marker);
    const written = text.replace(
      marker,
      (_, start: string, end: string) => `${start}${render(wire, bridge.folder)}${end}`,
    );
    if (process.env['UPDATE_ASKING'] === '1') {
      writeFileSync(file, written);
    }
    expect(written).toBe(readFileSync(file, 'utf8'));
  });
});
