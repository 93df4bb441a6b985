// Tags: full, docker-release
/** A large result, which the host passes on as bytes, is to code and to the audit log what a small one is. */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { jsonBytes } from '../../src/record/audit/shape.ts';
import { type BridgeClient, fixtureServer, startBridge } from '../support/bridge-client.ts';
import { coverEngines } from '../support/covered-engines.ts';

const SECRET = 'sk-canary-0123456789';
/** As no JavaScript server would write it. Line feeds and what looks like a frame must not end or interrupt anything. */
const ROW = String.raw`{"id": 12345678901234567890, "whole": 1.0, "part": 0.10, "e": 1E+2, "n": -0,
 "text": "zwölf \ud83d\ude00 \ud83d \n{\"type\":\"interrupt\"}", "\u0061": null}`.replace('\n', '');
const TIMES = 20_000;

for (const engine of await coverEngines()) {
  describe(`large results on ${engine.label}`, () => {
    let bridge: BridgeClient;
    beforeAll(async () => {
      const huge = { ...fixtureServer('huge-output.mjs'), env: { API_KEY: SECRET } };
      bridge = await startBridge({ engine, servers: () => ({ huge }) });
    });
    afterAll(async () => bridge.close());

    async function run(code: string): Promise<string> {
      return (await bridge.runPython(code, { servers: ['huge'], timeout: 120 })).text;
    }

    it('are the same values as small ones', async () => {
      const text = await run(`
row = ${JSON.stringify(ROW)}
(small,) = (await mcp_huge.written(json=row, times=1)).rows
large = (await mcp_huge.written(json=row, times=${TIMES})).rows
print(ascii(small))
len(large), {repr(one) for one in large} == {repr(small)}`);
      expect(text).toContain("{'id': 12345678901234567890, 'whole': 1, 'part': 0.1, 'e': 100, 'n': 0");
      expect(text).toContain(`(${TIMES}, True)`);
    });

    it('raise an error if the tool failed', async () => {
      const text = await run(`
try: await mcp_huge.written(json=${JSON.stringify(ROW)}, times=${TIMES}, is_error=True)
except runtime.ToolError as error: print("failed", len(str(error)) > 1_000_000)`);
      expect(text).toContain('failed True');
    });

    it('have secrets masked', async () => {
      const text = await run(`
rows = (await mcp_huge.written(json='"my ${SECRET}!"', times=${TIMES})).rows
len(rows), set(rows)`);
      expect(text).toContain(`(${TIMES}, {'my ***!'})`);
    });

    it('are in the audit log with their size', async () => {
      const rows = Array.from({ length: TIMES }, () => JSON.parse(ROW) as Record<string, unknown>);
      const digits = '12345678901234567890'.length - String(rows[0]?.['id']).length;
      const size = jsonBytes({ content: [], isError: false, structuredContent: { rows } }) + digits * TIMES;
      await expect
        .poll(() => {
          const folder = join(bridge.folder, 'audit');
          const text = readdirSync(folder)
            .map((name) => readFileSync(join(folder, name), 'utf8'))
            .join('');
          return text.includes(`"result_bytes":${size},`) || text.includes(`"result_bytes":${size}}`);
        })
        .toBe(true);
    });
  });
}
