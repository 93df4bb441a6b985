// Tags: anywhere, full
/**
 * One principal against another, with real sandboxes: what Alice has and leaves, Bob tries to reach by its name, by guesses and by
 * paths. Attacks on the front itself are in `http.test.ts`.
 */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { enginesForBridge } from '../support/attacks.ts';
import { fixtureServer } from '../support/bridge-client.ts';
import { type HttpClient, startHttpBridge } from '../support/http-bridge.ts';
import { pause } from '../support/pause.ts';

// Each engine runs JavaScript.
const PROGRAM = '"javascript", "setTimeout(() => {}, 15000)"';
const HELLO = '"javascript", "console.log(\'hello\')"';
const SECRET = 'the-secret-of-alice';
const POLICY = {
  rules: [{ effect: 'ask', server: 'echo', tool: 'structured' }],
  limits: [{ server: 'echo', tool: 'echo', callsPerMinute: 2 }],
  profiles: { all: { servers: 'echo' } },
};

for (const engine of await enginesForBridge()) {
  describe(`Bob against Alice on ${engine.label}`, () => {
    let bridge: Awaited<ReturnType<typeof startHttpBridge>>;
    let alice: HttpClient;
    let bob: HttpClient;

    beforeAll(async () => {
      bridge = await startHttpBridge({
        engine,
        servers: { echo: fixtureServer('echo.mjs'), changing: fixtureServer('changing-list.mjs') },
        policy: POLICY,
        tokens: ['alice', 'bob', 'carol'],
        env: { MCP_BRIDGE_TOOLS: 'run_python,sessions', MCP_BRIDGE_RUNTIME_IDLE_TIMEOUT: '100ms' },
      });
      const [forAlice = '', forBob = ''] = bridge.tokens;
      const person = () => ({ action: 'accept', content: { answer: 'Allow for this session' } }) as const;
      alice = await bridge.connect({ era: '2026-07-28', token: forAlice, person });
      bob = await bridge.connect({ era: '2026-07-28', token: forBob });
      await alice.run(
        `secret = "${SECRET}"
def greet_alice():
    """Greets."""
    return secret
runtime.save_tool(greet_alice)
runtime.save_artifact("notes.txt", secret)
print(secret)`,
        { session: 'work', servers: ['echo'] },
      );
    });
    afterAll(async () => {
      await Promise.all([alice.close(), bob.close()]);
      await bridge.remove();
    });

    it('a session, its checkpoint and its last answer', async () => {
      const checkpoints = join(bridge.folder, 'http/principals/of-alice/checkpoints');
      await expect.poll(() => existsSync(checkpoints)).toBe(true);
      // Its own state is there again after the sandbox has ended.
      expect(await alice.run('print(secret)', { session: 'work' })).toContain(SECRET);
      const look = 'print(sorted(name for name in globals() if "secret" in name), runtime.last_answer())';
      for (const session of ['work', 'Work', 'of-alice/work', '../of-alice/checkpoints/work', 'work\u0000']) {
        expect(await bob.run(look, { session })).not.toContain(SECRET);
      }
    });

    it('a session through the tool that lists and resets them', async () => {
      expect(await bob.call('sessions', {})).not.toContain('alice');
      await alice.run('1', { session: 'hers' });
      expect(await bob.call('sessions', {})).not.toContain('hers');
      const reset = async (name: string) =>
        (await bob.call('sessions', { action: 'reset', session: name })).replaceAll(name, 'NAME');
      expect(await reset('hers')).toBe(await reset('no-such'));
      expect(await alice.run('print(secret)', { session: 'work' })).toContain(SECRET);
    });

    it('a file, by name, by path and by address', async () => {
      const code = `
for name, session in (("notes.txt", "work"), ("../work/notes.txt", None), ("../../../of-alice/artifacts/work/notes.txt", None),
                      ("notes.txt", "../../of-alice/artifacts/work"), ("notes.txt", "work/../../../of-alice/artifacts/work")):
    try:
        print("got", runtime.load_artifact(name, session))
    except Exception as error:
        print(type(error).__name__)
print(runtime.list_artifacts())`;
      const text = await bob.run(code, { session: 'work' });
      expect(text).not.toMatch(/got|notes\.txt|secret/);
      const uri = (await alice.resources()).find((one) => one.includes('notes.txt')) ?? '';
      expect(await alice.read(uri)).toBe(SECRET);
      expect((await bob.resources()).join('\n')).not.toContain('notes.txt');
      const unknown = (await bob.read(uri.replace('notes', 'no-such')).catch(String)).replaceAll('no-such', 'notes');
      const guesses = [
        uri,
        uri.replace('work', '..%2F..%2Fof-alice%2Fartifacts%2Fwork'),
        uri.replace('work', '../work'),
      ];
      for (const guess of guesses) {
        const answer = await bob.read(guess).catch(String);
        expect(answer).not.toContain(SECRET);
      }
      expect(await bob.read(uri).catch(String)).toBe(unknown);
    });

    it('a saved function', async () => {
      const text = await bob.run('print("greet_alice" in globals(), [t for t in dir(runtime) if "alice" in t])');
      expect(text).toContain('False []');
      expect(await bob.run('print(await runtime.search_tool_docs("greet alice"))')).not.toContain('greet_alice');
      expect(await alice.run('print(greet_alice.__doc__)', { session: 'new' })).toContain('Greets.');
    });

    it('a file of the state directory from inside a sandbox', async () => {
      const code = `
import glob, os
found = [path for path in (${JSON.stringify(bridge.folder)}, "/proc/1/root${bridge.folder}") if os.path.exists(path)]
for root in ("/tmp", "/workspace", "/dev/shm", "/var/tmp"):
    for folder, _, files in os.walk(root):
        for name in files:
            try:
                text = open(os.path.join(folder, name), "rb").read(1_000_000)
            except OSError:
                continue
            if b"the-secret-of-" + b"alice" in text:
                found.append(name)
print("found", found)`;
      expect(await bob.run(code)).toContain('found []');
    });

    it('a tool that a server shows on her connection', async () => {
      const look = 'print(await runtime.search_tool_docs("merger with acme"))';
      const adds =
        'print(await mcp_changing.add_tool(name="merger_with_acme"))\nimport asyncio\nawait asyncio.sleep(2)';
      expect(await alice.run(`${adds}\n${look}`, { servers: ['changing'] })).toContain('mcp_changing.merger_with_acme');
      expect(await bob.run(look)).not.toContain('merger_with_acme');
      // What it shows everyone is known without another start.
      expect(await bob.run('print(await runtime.search_tool_docs("add a tool"))')).toContain('add_tool');
    });

    it('a connection to a server, which is a process of each principal', async () => {
      const code = 'import json\nprint("pid", json.dumps((await mcp_echo.process())["pid"]))';
      const more = { session: 'connects', servers: ['echo'] };
      const pids = await Promise.all([alice, alice, bob].map((client) => client.run(code, more)));
      const [first, second, other] = pids.map((text) => /pid (\d+)/.exec(text)?.[1] ?? text);
      expect(first).toMatch(/^\d+$/);
      expect(second).toBe(first);
      expect(other).toMatch(/^\d+$/);
      expect(other).not.toBe(first);
    });

    it('a checkpoint that has a name', async () => {
      await alice.run('runtime.checkpoint("before")', { session: 'work' });
      const text = await bob.run(
        `for name in ("before", "nothing"):
    try:
        runtime.restore(name)
    except Exception as error:
        print("refused:", str(error).split(chr(10))[0].replace(name, "NAME"))`,
        { session: 'work' },
      );
      expect(text.match(/refused: .*/g)).toEqual(
        Array.from({ length: 2 }, () => expect.stringContaining("no checkpoint 'NAME'")),
      );
      expect(await bob.run('print(runtime.checkpoints())', { session: 'work' })).not.toContain('before');
    });

    it('a limit on sessions, whose refusal names none of hers', async () => {
      const sessions = Array.from({ length: 20 }, (_, index) => `many-${index}`);
      const answers = await Promise.all(
        sessions.map((session) => bob.run('import time\ntime.sleep(2)', { session }).catch(String)),
      );
      const refused = answers.filter((text) => text.includes('SESSION_LIMIT'));
      expect(refused.length).toBeGreaterThan(0);
      expect(refused.join('\n')).not.toMatch(/\bwork\b|hers|asks|alice/);
      expect(await alice.run('print(secret)', { session: 'work' })).toContain(SECRET);
    });

    it('an approval', async () => {
      const code = 'print(await mcp_echo.structured(a=1))';
      const servers = ['echo'];
      expect(await alice.run(code, { session: 'asks', servers })).toContain("'a'");
      expect(await bob.run(code, { session: 'asks', servers })).toContain('APPROVAL_UNAVAILABLE');
    });

    it('the count of a limit, which is that of each principal', async () => {
      // In one cell, so that the minute does not pass meanwhile.
      const code = (calls: number): string =>
        `for number in range(${calls}):\n    print(await mcp_echo.echo(text=f"once more {number}"))`;
      const more = { session: 'counts', servers: ['echo'] };
      expect(await alice.run(code(3), more)).toMatch(/once more 1[^]*POLICY_LIMIT/);
      expect(await bob.run(code(2), more)).toContain('once more 1');
    });

    it('a limit counts all profiles of a principal together', async () => {
      const path = '/mcp/p/all';
      const inProfile = await bridge.connect({ era: '2026-07-28', token: bridge.tokens[2] ?? '', path });
      const carol = await bridge.connect({ era: '2026-07-28', token: bridge.tokens[2] ?? '' });
      const code = 'print(await mcp_echo.echo(text="one of carol"))\nprint(await mcp_echo.echo(text="two of carol"))';
      const more = { session: 'counts', servers: ['echo'] };
      expect(await carol.run(code, more)).toContain('two of carol');
      expect(await inProfile.run(code, more)).toMatch(/POLICY_LIMIT/);
      await Promise.all([carol.close(), inProfile.close()]);
    });

    it('the turns of programs, in a session of the same name', async () => {
      const many = `import asyncio
programs = [asyncio.ensure_future(runtime.run(${PROGRAM}, timeout=20)) for _ in range(18)]
await asyncio.wait(programs, timeout=2)`;
      const one = `try:\n    print((await runtime.run(${HELLO})).stdout)\nexcept Exception as error:\n    print(error)`;
      const ofAlice = alice.run(`${many}\nawait asyncio.wait(programs, timeout=15)`, { session: 'programs' });
      await pause(3_000, 'nothing outside shows that her programs run or wait');
      expect(await bob.run(one, { session: 'programs' })).toContain('hello');
      await ofAlice;
    });

    it('its place in the audit log', async () => {
      await bob.run('print("seen by the operator")', { session: 'work' });
      const lines = (await bridge.command('audit', '--json')).split('\n');
      const shown = lines.map((line) => JSON.parse(line) as { started?: { principal?: string; code?: string } });
      const cells = shown.flatMap(({ started }) => started ?? []);
      expect(new Set(cells.map(({ principal }) => principal))).toEqual(new Set(['alice', 'bob', 'carol']));
      const ofBob = cells.filter(({ principal }) => principal === 'bob');
      expect(ofBob.map(({ code }) => code)).toContain('print("seen by the operator")');
      expect(JSON.stringify(ofBob)).not.toContain(SECRET);
    });
  });
}
