// Tags: full, docker-release
/** What people and models know from Python and notebooks, in real sandboxes, with a server that returns what it is told to. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type BridgeClient, fixtureServer, startBridge } from '../support/bridge-client.ts';
import { coverEngines } from '../support/covered-engines.ts';

const engines = await coverEngines();

for (const engine of engines) {
  describe(`known Python on ${engine.label}`, () => {
    let bridge: BridgeClient;
    const run = (code: string) => bridge.runPython(code, { servers: ['odd'] });

    beforeAll(async () => {
      bridge = await startBridge({ engine, servers: () => ({ odd: fixtureServer('odd-results.mjs') }) });
    });
    afterAll(() => bridge.close());

    it('nothing is lost of results that are not as MCP defines them', async () => {
      // Each of the first two was None, the third a repr, the last its first line.
      const code = `odd = ["a text", {"rows": [1]}, [{"type": "text", "text": {"a": 1}}], [{"type": "text", "text": '{"a": 1}\\n{"a": 2}'}]]
found = [await mcp_odd.raw(result={"content": content}) for content in odd]
found[0].lines(), found[1].rows, found[2].text.a, found[3].json(), await mcp_odd.raw(result={"toolResult": 5})`;
      expect((await run(code)).structured['result']).toBe(
        "(['a text'], [1], 1, [{'a': 1}, {'a': 2}], {'toolResult': 5})",
      );
    });

    it('a star import hides no builtin, and says what it left out', async () => {
      const answer = await run(
        'from mcp.servers.odd import *\nprint(len(list("abc")), await mcp_odd.print(), raw.__name__)',
      );
      expect(answer.text).toContain('3 print raw');
      expect(answer.text).toContain(
        'import * left out names that would hide those of Python or the bridge; call mcp_odd.print',
      );
    });

    it('a magic does not cost the cell: it works, has no effect, or is left out', async () => {
      const code = `%matplotlib inline
%sql select 1
def tenfold(n):
    return 10 * n
found = %time await mcp_odd.raw(result={"content": [{"type": "text", "text": "42"}]})
%timeit -n 2 -r 2 tenfold(2)`;
      const { text } = await run(code);
      expect(text).toContain('line 2 was left out: there is no magic %sql here');
      expect(text).toContain('Wall time: ');
      expect(text).toMatch(/per loop \(mean ± std\. dev\. of 2 runs, 2 loops each\)/);
      expect((await run('%%time\ntenfold(int(found))')).structured['result']).toBe('420');
      expect((await run('%cd nowhere')).text).toMatch(
        /line 1, in <module>\n {4}%cd nowhere\n(?:.*\n)?FileNotFoundError/,
      );
    });

    it('code sees the data of an error of a server', async () => {
      const code = `try:
    await mcp_odd.refuse(data={"limit": ["too high", None]})
except MCPError as error:
    print(error.message)
    print(error.data["rpc_data"])`;
      expect((await run(code)).structured['stdout']).toEqual([
        `server 'odd' refused 'refuse': Invalid params: {"limit":["too high",null]}`,
        "{'limit': ['too high', None]}",
      ]);
    });

    it('a progress bar ends as its last state, on both streams and in pieces', async () => {
      const code = String.raw`import sys
for done in range(0, 101, 5):
    for stream in (sys.stdout, sys.stderr):
        print(f"\r\x1b[32m{done}%\x1b[0m of a", end="\n", file=stream)
        print(f"\r{done}% of b\x1b[K\x1b[", end="", file=stream, flush=True)
        print("A", end="", file=stream, flush=True)
print("\n\n\x1b[1mdone\x1b[0m")`;
      const { structured } = await run(code);
      expect(structured['stdout']).toEqual(['100% of a', '100% of b', 'done']);
      expect(structured['stderr']).toEqual(['100% of a', '100% of b']);
    });

    it.each([
      ['breakpoint()', /EOFError: no one can type at a debugger here: print what you want to see/],
      ['import pdb\npdb.set_trace()', /EOFError: no one can type at a debugger here/],
      ['from getpass import getpass\ngetpass()', /EOFError: no one can type here, and no password belongs in code/],
    ])('%j says what to do instead', async (code, hint) => {
      const answer = await run(code);
      expect(answer.isError).toBe(true);
      expect(answer.text).toMatch(hint);
      expect(answer.text).not.toContain('Pdb');
    });

    it('modules of the working folder win as in a script, but not over those of Python, which is said', async () => {
      const write = String.raw`import pathlib, sys
folder = next(entry for entry in [*sys.path, "/workspace/site-packages"] if entry.endswith("-packages"))
taken = next((path.stem for path in pathlib.Path(folder).glob("*.py") if path.stem not in sys.modules), "own")
for name in (taken, "random"):
    pathlib.Path(f"/workspace/{name}.py").write_text("where = 'workspace'\n")
mine = __import__(taken)
mine.where, sys.modules[taken].__file__ == f"/workspace/{taken}.py"`;
      expect((await run(write)).structured['result']).toBe("('workspace', True)");
      const { text } = await run('import random\nrandom.random() < 1');
      expect(text).toContain(
        "import random is Python's own module, not /workspace/random.py: rename the file to import it",
      );
      expect(text).toContain('True');
    });
  });
}
