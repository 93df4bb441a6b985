// Tags: anywhere
/** Secrets in a running bridge do not leak anywhere, even with a server that repeats its secret everywhere. */
import { readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type BridgeClient, fixtureServer, startBridge } from '../support/bridge-client.ts';
import { coverEngines } from '../support/covered-engines.ts';

// No engine knows of secrets, so one is enough.
const engines = (await coverEngines()).slice(0, 1);

/** The middle of every secret here, which occurs nowhere else. */
const CANARY = `canary${process.pid}x${Date.now()}`;
const SECRETS = { file: `F-"${CANARY}"-1`, cmd: `C+${CANARY}/2`, variable: `V ${CANARY} 3` };

/** Prints everything about a server that code can see, and counts what contains the secret or its mask. */
function cellFor(server: string): string {
  return `
async def look(what):
    try:
        found = await what
    except Exception as error:
        found = (error, error.args, getattr(error, "data", None), getattr(error, "result", None), error.__cause__)
    print(repr(found))
    return repr(found)

s = mcp_${server}
seen = [await look(s.repeat(how=how)) for how in ("text", "json", "structured", "base64", "address", "resource", "meta")]
seen += [await look(s.fail()), await look(s.refuse()), await look(s.report.with_options(on_progress=print)()), await look(s.exit())]
seen += [await look(runtime.call_tool_raw("${server}", "repeat", {"how": "meta"}))]
seen += [await look(s.list_resources()), await look(s.read_resource("x:y")), await look(s.list_prompts())]
seen += [await look(s.get_prompt("p")), await look(runtime.query_tool_docs("${server}", detail="full"))]
seen += [await look(runtime.search_tool_docs("uses", detail="full")), repr(runtime.describe_server("${server}"))]
import os
seen += [repr(dict(os.environ))]
(len(seen), sum("${CANARY.slice(0, 6)}" in one for one in seen), sum("***" in one for one in seen) > 9)
`;
}

/** The text of every file below a folder, except those that may contain secrets. */
function readIfThere(path: string): string | undefined {
  try {
    return readFileSync(path, 'latin1');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') {
      return undefined;
    }
    throw error;
  }
}

function filesBelow(folder: string, ignored: readonly string[]): [string, string][] {
  return readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .map((name) => join(folder, name))
    .filter((path) => !ignored.some((name) => path.endsWith(name)))
    .flatMap((path): [string, string][] => {
      // The bridge still runs, and renames its temporary files.
      const isFile = statSync(path, { throwIfNoEntry: false })?.isFile() === true;
      const text = isFile ? readIfThere(path) : undefined;
      return text === undefined ? [] : [[path, text]];
    });
}

/** Arguments of every process on this machine. */
function commandLines(): string {
  const pids = readdirSync('/proc').filter((name) => /^\d+$/.test(name));
  return pids
    .map((pid) => {
      try {
        return readFileSync(`/proc/${pid}/cmdline`, 'latin1');
      } catch {
        return ''; // It ended in the meantime.
      }
    })
    .join('\n');
}

for (const engine of engines) {
  describe(`secrets on ${engine.label}`, () => {
    let bridge: BridgeClient;
    const said: unknown[] = [];
    let log = '';

    beforeAll(async () => {
      bridge = await startBridge({
        engine,
        env: { OUR_PASSWORD: SECRETS.variable, MCP_BRIDGE_LOG_LEVEL: 'DEBUG' },
        servers: (folder) => {
          writeFileSync(join(folder, 'key'), `${SECRETS.file}\n`, { mode: 0o600 });
          writeFileSync(join(folder, 'other-key'), SECRETS.cmd, { mode: 0o600 });
          const entry = fixtureServer('leaky.mjs');
          return {
            by_file: { ...entry, env: { API_TOKEN: '${file:key}' } },
            by_cmd: { ...entry, env: { API_TOKEN: '${cmd:cat other-key}' } },
            by_variable: { ...entry, env: { API_TOKEN: '${OUR_PASSWORD}' } },
          };
        },
        onLog: (text) => {
          log += text;
        },
        onMessage: (message) => said.push(message),
      });
    });
    afterAll(() => bridge.close());

    it.each(['by_file', 'by_cmd', 'by_variable'])('reach the server and leak nowhere: %s', async (server) => {
      const answer = await bridge.runPython(cellFor(server), { servers: [server], timeout: 60 });
      expect(answer.structured['result']).toBe('(20, 0, True)');
      expect(commandLines()).not.toContain(CANARY);
      expect(JSON.stringify(said)).not.toContain(CANARY);
      expect(log).not.toContain(CANARY);
      const kept = filesBelow(bridge.folder, ['servers.json', '/key', '/other-key']);
      expect(kept.length).toBeGreaterThan(1);
      expect(kept.filter(([, text]) => text.includes(CANARY)).map(([path]) => path)).toEqual([]);
    });
  });
}
