// Tags: full, bubblewrap
/** What a session has outlives its sandbox: with the built command, real sandboxes, and a real client. */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type BridgeClient, ROOT, startBridge } from '../support/bridge-client.ts';
import { coverEngines } from '../support/covered-engines.ts';

interface Kind {
  readonly name: string;
  readonly code: string;
  readonly check?: string;
  /** Variables that no checkpoint holds, with a part of the reason. */
  readonly lost?: Readonly<Record<string, string>>;
}

const KINDS = JSON.parse(readFileSync(join(ROOT, 'test/fixtures/state-kinds.json'), 'utf8')) as readonly Kind[];
const EVENT_MS = 20_000;

for (const engine of await coverEngines()) {
  describe(`the state of a session on ${engine.label}`, () => {
    let bridge: BridgeClient;
    let log = '';
    beforeAll(async () => {
      bridge = await startBridge({
        engine,
        env: { MCP_BRIDGE_RUNTIME_IDLE_TIMEOUT: '2s', MCP_BRIDGE_LOG_LEVEL: 'DEBUG' },
        onLog: (text) => {
          log += text;
        },
      });
    });
    afterAll(() => bridge.close());

    /** Resolves once the log has this. */
    const logged = (what: string | RegExp) =>
      expect.poll(() => log, { timeout: EVENT_MS, interval: 20 }).toMatch(new RegExp(what));
    const isIdle = (session: string) => logged(`session ${session}: sandbox .* ended, because it was idle`);
    const isSaved = (session: string, cell: number) => logged(`session ${session}: checkpoint after cell ${cell}\\b`);

    it('is restored equal or named when it was idle, for every kind of value', async () => {
      const session = 'kinds';
      for (const { code } of KINDS) {
        expect((await bridge.runPython(code, { session })).isError).toBe(false);
      }
      await isIdle(session);
      const { text } = await bridge.runPython('1', { session });
      expect(text).toMatch(/Restored 1\d\d variables \([^)]*\) and \d files( after a pause\.| as they were)/);
      const lost = KINDS.flatMap((kind) => Object.keys(kind.lost ?? {}));
      const named = [...(/Not restored: (.*)\.$/m.exec(text)?.[1] ?? '').matchAll(/(\w+) \(/g)].map(([, name]) => name);
      expect(new Set(named)).toEqual(new Set(lost));

      const checks = KINDS.filter(({ check }) => check !== undefined);
      const code = `_wrong = []
for _name, _check in ${JSON.stringify(checks.map(({ name, check }) => [name, check]))}:
    try:
        _good = eval(_check)
    except BaseException as _error:
        _good, _name = False, f"{_name}: {_error!r}"
    if _good is not True and not (_good and _good is not False):
        _wrong.append(f"{_name}: {_good}")
_wrong`;
      expect((await bridge.runPython(code, { session })).structured['result']).toBe('[]');
    });

    it('is that of the last checkpoint after the sandbox has died; what is missing is named', async () => {
      const session = 'dies';
      await bridge.runPython('a = [1]; b = a\nopen("note", "w").write("kept")', { session });
      await isSaved(session, 1);
      const died = await bridge.runPython('a.append(2)\nimport os, signal\nos._exit(3)', { session });
      expect(died.text).toMatch(
        /SESSION_LOST: .*\nHint: The next cell continues with what the session had after cell 1\./,
      );
      const next = await bridge.runPython('a, a is b, open("note").read()', { session });
      expect(next.structured['result']).toBe("([1], True, 'kept')");
      expect(next.text).toMatch(
        /The earlier sandbox of this session ended because .*\. Restored 2 variables \(a, b\) and 1 file as they were after cell 1 \(\d\d:\d\d\); what cell 2 changed is lost\./,
      );
    });

    if (engine.name === 'embedded') {
      // Whether a checkpoint is complete before the bridge gets the cell depends on the machine; it gives way in keeper.test.ts.
      it('is saved even if cells come while it is being saved', async () => {
        const session = 'large';
        const files = () => readdirSync(join(bridge.folder, 'checkpoints'), { recursive: true }).map(String);
        for (let cell = 1; cell < 6; cell += 2) {
          await bridge.runPython('data = bytes(range(256)) * 400_000', { session });
          await expect
            .poll(() => files().some((name) => name.endsWith('.tmp')), { timeout: EVENT_MS, interval: 5 })
            .toBe(true);
          expect((await bridge.runPython('len(data)', { session })).structured['result']).toBe('102400000');
          await isSaved(session, cell + 1);
        }
      });
    }

    it('is saved by hand, also under a name to which it returns', async () => {
      const session = 'by-hand';
      const saved = await bridge.runPython(
        'import sqlite3\nx = 1; conn = sqlite3.connect(":memory:")\nruntime.checkpoint("start")',
        { session },
      );
      expect(saved.text).toMatch(
        /The checkpoint 'start' is saved: 2 variables and 0 files\. Not kept: conn \(sqlite3\.Connection\)\./,
      );
      const missing = await bridge.runPython('x = 2\nruntime.restore("begin")', { session });
      expect(missing.text).toMatch(/there is no checkpoint 'begin'\n.*There are: start\./s);
      const left = await bridge.runPython('runtime.restore("start")', { session });
      expect(left.text).toContain("The next cell continues from the checkpoint 'start'.");
      const { text, structured } = await bridge.runPython(
        'x, [(each.name, each.cell, each.variables) for each in runtime.checkpoints()]',
        { session },
      );
      expect(structured['result']).toBe("(1, [('start', 1, 2)])");
      expect(text).toMatch(/^Restored 2 variables \([^)]*\) and 0 files as they were after cell 1 /m);
    });

    it('is gone after a reset', async () => {
      const session = 'reset';
      await bridge.runPython('secret = 1', { session });
      await isSaved(session, 1);
      await bridge.runPython('runtime.reset()', { session });
      await bridge.runPython('import os\nos._exit(0)', { session });
      const { text, structured } = await bridge.runPython('"secret" in globals()', { session });
      expect(structured['result']).toBe('False');
      expect(text).toMatch(/^State was lost: /m);
    });

    it('is restored as far as it goes if a class refuses', async () => {
      const session = 'refuses';
      const code = `class Refuses:
    def __init__(self): self.v = 1
    def __setstate__(self, state): raise RuntimeError("not again")
bad = Refuses(); holder = [bad]; good = {"x": 1}`;
      const saved = await bridge.runPython(`${code}\nruntime.checkpoint()`, { session });
      if (engine.name !== 'embedded') {
        // A copy of the process tries to read what it has written. Before, the answer said that all of it is saved.
        expect(saved.text).toMatch(/Not kept: bad \(cannot be saved\), holder \(cannot be saved\)\./);
      }
      await bridge.runPython('import os\nos._exit(0)', { session });
      const { text, structured } = await bridge.runPython('good, "bad" in globals(), "holder" in globals()', {
        session,
      });
      expect(structured['result']).toBe("({'x': 1}, False, False)");
      expect(text).toMatch(/Not restored: bad \(cannot be saved\), holder \(cannot be saved\)\./);
    });

    it('names settings that no checkpoint keeps', async () => {
      const code = `import logging
class Own(logging.Handler): pass
logging.getLogger("own").addHandler(Own())
runtime.checkpoint()`;
      const { text } = await bridge.runPython(code, { session: 'own-handler' });
      expect(text).toContain('Not kept: logging.own.handlers (a handler of its own kind).');
    });

    it.skipIf(engine.name === 'embedded')('opens no file while it tries what is saved', async () => {
      const code = `class Opens:
    def __init__(self): self.path = "precious.txt"
    def __setstate__(self, state): open(state["path"], "w").close()
open("precious.txt", "w").write("kept")
opens = Opens(); plain = lambda: 1
runtime.checkpoint()`;
      const { text } = await bridge.runPython(code, { session: 'precious' });
      expect(text).toContain('The session is saved: 3 variables and 1 file.');
      const { structured } = await bridge.runPython('open("precious.txt").read()', { session: 'precious' });
      expect(structured['result']).toBe("'kept'");
    });

    it('is lost with a notice that holds no text of the code if reading it fails', async () => {
      const session = 'speaks';
      const code = `import builtins, pickle
class Speaks:
    def __reduce__(self): return (exec, ("import asyncio; asyncio.current_task().cancel(); raise SystemExit('IGNORE ALL')",))
s = Speaks()`;
      await bridge.runPython(code, { session });
      await isSaved(session, 1);
      await bridge.runPython('import os\nos._exit(0)', { session });
      const { text } = await bridge.runPython('1', { session });
      expect(text).not.toContain('IGNORE ALL');
      expect(text).toMatch(/State was lost|Not restored: s \(/);
    });

    it('is lost with a notice if code stops the restore', async () => {
      const session = 'stops';
      const code = `import os
class Ends:
    def __reduce__(self): return (os._exit, (1,))
e = Ends()`;
      await bridge.runPython(code, { session });
      await isSaved(session, 1);
      await bridge.runPython('os._exit(0)', { session });
      const { text, structured } = await bridge.runPython('"e" in globals()', { session });
      expect(structured['result']).toBe('False');
      expect(text).toMatch(/^State was lost: .* Its saved state was not restored: /m);
    });

    it('is there for a later bridge if the agent has named the session, and a copy for one beside it', async () => {
      const stateDir = join(bridge.folder, 'lasting');
      const start = () => startBridge({ engine, env: { MCP_BRIDGE_STATE_DIR: stateDir } });
      const session = 'report';
      const first = await start();
      try {
        await first.runPython('rows = [1, 2]', { session });
        const beside = await start();
        try {
          const { text } = await beside.runPython('"rows" in globals()', { session });
          expect(text).toContain(`Another client (process ${first.pid}) uses the session 'report'`);
        } finally {
          await beside.close();
        }
      } finally {
        await first.close();
      }
      const later = await start();
      try {
        const { text, structured } = await later.runPython('rows.append(3); rows', { session });
        expect(text).toMatch(/^Restored 1 variable \(\w+\) and 0 files as they were after cell 1 \(\d\d:\d\d\)\./m);
        expect(structured['result']).toBe('[1, 2, 3]');
        expect((await later.runPython('"rows" in globals()')).structured['result']).toBe('False');
      } finally {
        await later.close();
      }
    });

    it.each([{}, { protocolVersion: '2026-07-28' } as const])('belongs to the client, with %j', async (options) => {
      const env = { MCP_BRIDGE_STATE_DIR: join(bridge.folder, `clients-${Object.keys(options).length}`) };
      const inClient = async (clientName: string, code: string): Promise<unknown> => {
        const one = await startBridge({ engine, env, clientName, ...options });
        try {
          return (await one.runPython(code, { session: 'mine' })).structured['result'];
        } finally {
          await one.close();
        }
      };
      await inClient('editor', 'rows = [1]');
      expect(await inClient('chat', '"rows" in globals()')).toBe('False');
      expect(await inClient('editor', 'rows')).toBe('[1]');
    });

    it('of `default` is left to the next bridge, which says so once, even if it was killed', async () => {
      const start = () =>
        startBridge({ engine, env: { MCP_BRIDGE_STATE_DIR: bridge.folder, MCP_BRIDGE_LOG_LEVEL: 'DEBUG' } });
      const inBridge = async (use: (one: BridgeClient) => Promise<void>): Promise<void> => {
        const one = await start();
        try {
          await use(one);
        } finally {
          await one.close();
        }
      };
      await inBridge(async (one) => {
        expect((await one.runPython('rows = [1, 2]')).text).not.toContain('An earlier state');
      });
      // A state with nothing in it replaces none.
      await inBridge(async (one) => {
        expect((await one.runPython('"rows" in globals()')).text).toMatch(
          /An earlier state of this session is saved: 1 variable \(rows\) and 0 files \(\d\d:\d\d\)\. To load it, run runtime\.restore\("previous"\)\./,
        );
        expect((await one.runPython('[name for name in globals() if name == "rows"]')).text).not.toContain(
          'An earlier state',
        );
      });
      await inBridge(async (one) => {
        const { text } = await one.runPython(
          'print([each.name for each in runtime.checkpoints()])\nruntime.restore("previous")',
        );
        expect(text).toContain("['previous']");
        const next = await one.runPython('rows.append(3); rows');
        expect(next.text).toMatch(/Restored 1 variable \(rows\) and 0 files as they were after cell 1/);
        expect(next.structured['result']).toBe('[1, 2, 3]');
      });
      await inBridge(async (one) => {
        await one.runPython('runtime.restore("previous")');
        expect((await one.runPython('rows')).structured['result']).toBe('[1, 2, 3]');
        await one.runPython('rows.append(4)\nruntime.checkpoint()');
        process.kill(one.pid, 'SIGKILL');
      });
      await inBridge(async (one) => {
        expect((await one.runPython('1')).text).toContain('An earlier state of this session is saved: 1 variable');
        await one.runPython('runtime.restore("previous")');
        expect((await one.runPython('rows')).structured['result']).toBe('[1, 2, 3, 4]');
      });
    });
  });
}
