// Tags: bubblewrap
/**
 * Code that wants the key or another host, and APIs that give the key back or never end: in real sandboxes, through the built command, to
 * an internet that exists only in the test.
 */
import { describe, expect, it } from 'vitest';
import { type BridgeClient, startBridge } from '../support/bridge-client.ts';
import { coverEngines } from '../support/covered-engines.ts';
import { startFakeInternet } from '../support/fake-internet.ts';
import { byHost, createSdkApis } from '../support/fake-sdk-apis.ts';
import { ECHO_PATHS, hostileApis, REDIRECT_PATHS, SHAPE_PATHS } from '../support/hostile-apis.ts';
import { faultsOf, HOSTILE_CODE_SERVERS, HOSTILE_PROGRAMS, hostileCode } from '../support/hostile-code.ts';

const engines = await coverEngines();
const PATHS = [...ECHO_PATHS, ...SHAPE_PATHS, ...REDIRECT_PATHS].map((path) => [path]);
const SERVERS = Object.keys(HOSTILE_CODE_SERVERS);

function entries() {
  return Object.fromEntries(
    Object.entries(HOSTILE_CODE_SERVERS).map(([name, entry]) => [name, { ...entry, policy: { default: 'allow' } }]),
  );
}

for (const engine of engines) {
  // There, no library can connect: code has only `runtime.fetch`, which goes the same way on the host.
  describe.skipIf(engine.name === 'embedded')(`egress on ${engine.label}`, { timeout: 600_000 }, () => {
    async function start(): Promise<{
      bridge: BridgeClient;
      internet: Awaited<ReturnType<typeof startFakeInternet>>;
    }> {
      const internet = await startFakeInternet({ ...byHost(createSdkApis()), ...hostileApis() });
      const bridge = await startBridge({
        engine,
        servers: () => entries() as never,
        env: {
          HTTPS_PROXY: internet.proxyUrl,
          HTTP_PROXY: internet.proxyUrl,
          NODE_EXTRA_CA_CERTS: internet.certificateFile,
        },
      });
      return { bridge, internet };
    }

    it.each(Object.keys(HOSTILE_PROGRAMS))('%s gets nothing', async (file) => {
      const { bridge, internet } = await start();
      try {
        let printed = '';
        // An answer of the bridge leaves out the middle of a long output.
        for (const paths of file === 'answers.py' ? PATHS : [[]]) {
          const code = `# timeout: 120s\n${hostileCode(file, paths)}`;
          printed += `${(await bridge.runPython(code, { servers: SERVERS })).text.replace('stdout:', '')}\n`;
        }
        expect(faultsOf(file, printed, internet)).toEqual([]);
        const after = await bridge.runPython('print("alive")');
        expect(after.text).toContain('alive');
      } finally {
        await bridge.close();
        await internet.close();
      }
    });
  });
}
