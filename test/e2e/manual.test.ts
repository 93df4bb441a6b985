// Tags: full, docker-release
/** Whether the manual says only what is true on the engine in use: it once promised a shell, and programs in Go, everywhere. */
import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type BridgeClient, startBridge } from '../support/bridge-client.ts';
import { coverEngines } from '../support/covered-engines.ts';

const MANUAL = 'resource://mcp-server-code-execution-mode/capabilities';
/** Each prints 42; those of Go and of other images take long, or are not on every machine. */
const PROGRAMS: Readonly<Record<string, string>> = {
  javascript: 'console.log(42)',
  typescript: 'const x: number = 42; console.log(x)',
  bash: 'echo 42',
  python: 'print(42)',
};
const OF_SESSION_IMAGE = ['bash', 'python'];

function printed({ structured }: Awaited<ReturnType<BridgeClient['runPython']>>): string {
  return [structured['stdout']].flat().join('\n');
}

describe.each(await coverEngines())('the manual on $label', (engine) => {
  const store = `bridge-test-manual-${randomUUID().slice(0, 8)}`;
  let bridge: BridgeClient;
  let manual: string;
  beforeAll(async () => {
    bridge = await startBridge({ engine, env: { MCP_BRIDGE_PACKAGES: 'common', MCP_BRIDGE_PACKAGES_STORE: store } });
    manual = printed(await bridge.runPython('print(runtime.capability_summary())'));
  });
  afterAll(async () => {
    await bridge.close();
    if (engine.isContainer && engine.name !== 'kubernetes') {
      await engine.run('volume', 'rm', '--force', store);
    }
  });

  it('promises a shell where there is one', async () => {
    const answer = await bridge.runPython('!echo from a shell');
    expect([manual.includes('`!ls`'), manual.includes('**Missing here.** Programs in go and bash. A shell')]).toEqual(
      engine.name === 'embedded' ? [false, true] : [true, false],
    );
    expect(answer.isError ? '' : printed(answer)).toBe(manual.includes('`!ls`') ? 'from a shell' : '');
  });

  it('names the languages that run, and no others', async () => {
    const named = /runs programs in (.*?)\./.exec(manual)?.[1]?.split(/, | and /) ?? [];
    const chosen = Object.keys(PROGRAMS).filter((name) => !engine.isContainer || OF_SESSION_IMAGE.includes(name));
    const run = async (name: string): Promise<boolean> => {
      const code = `(await runtime.run("${name}", ${JSON.stringify(PROGRAMS[name])})).stdout`;
      return (await bridge.runPython(code, { timeout: 60 })).structured['result'] === "'42\\n'";
    };
    const ran = await Promise.all(chosen.map(async (name) => ((await run(name)) ? [name] : [])));
    expect(ran.flat()).toEqual(chosen.filter((name) => named.includes(name)));
    expect(named.length === 0).toBe(engine.name === 'kubernetes');
  });

  it('promises packages where they can be installed, and says the same as a resource', async () => {
    const has = {
      pure: manual.includes('**Packages in pure Python arrive'),
      any: manual.includes('**Packages arrive'),
    };
    const expected = { pure: engine.name === 'embedded', any: !['embedded', 'kubernetes'].includes(engine.name) };
    expect(has).toEqual(expected);
    expect(manual.includes('The installation of packages.')).toBe(engine.name === 'kubernetes');
    const { contents } = await bridge.client.readResource({ uri: MANUAL });
    const ending = manual.slice(manual.indexOf('**Available here.**'), manual.indexOf('**Here:**')).trim();
    expect(contents).toMatchObject([{ text: expect.stringContaining(ending) }]);
  });
});
