/** A login that is revoked while code runs: the call fails with a hint, and the code continues. */
import { expect, it } from 'vitest';
import { silentLogger } from '../../../src/core/base/log.ts';
import { createHostCalls } from '../../../src/core/calls/host-calls.ts';
import { createServerDirectory } from '../../../src/core/directory/server-directory.ts';
import { createMetadataSource } from '../../../src/core/directory/server-metadata.ts';
import { createUpstreamPool } from '../../../src/edges/upstream/pool.ts';
import { startMini, textResult } from '../../support/http-servers.ts';
import { createLocalPythonEngine, hasLocalPython } from '../../support/local-python.ts';
import { useLogins } from '../../support/logins.ts';
import { startOAuth } from '../../support/oauth-provider.ts';
import { createHarness, textOf } from '../../support/session-harness.ts';
import { definitions } from '../../support/upstream.ts';

it.skipIf(!hasLocalPython())('a login that is revoked during a cell fails the calls to its server', async () => {
  const logins = useLogins();
  let calls = 0;
  const tracker = await startOAuth({
    onCall({ reply }) {
      calls += 1;
      reply(textResult(`call ${calls}`));
      if (calls === 1) {
        tracker.revoke();
      }
    },
  });
  await logins.logIn(tracker.url);
  const servers = definitions({ tracker: { url: tracker.url }, other: { url: (await startMini()).url } });
  const pool = createUpstreamPool({ logger: silentLogger, logins: logins.store() });
  pool.update(servers);
  const directory = createServerDirectory(createMetadataSource(pool, undefined), () => servers, silentLogger);
  const harness = await createHarness({
    engine: createLocalPythonEngine(),
    handleCall: createHostCalls({
      pool,
      directory,
      logger: silentLogger,
    }),
    servers: [...servers.keys()].map((name) => ({ name, alias: name })),
  });
  try {
    const code = `
kept = await mcp_tracker.act()
try:
    await mcp_tracker.act()
except Exception as error:
    print(kept, error.code, error.hint, sep="; ")
print(await mcp_other.act())`;
    const answer = await harness.run(code, { servers: ['tracker', 'other'] });
    expect(answer.error).toBeUndefined();
    expect(textOf(answer.stdout)).toBe(
      'call 1; LOGIN_REQUIRED; Run this in a terminal: mcp-server-code-execution-mode servers login tracker\ndone\n',
    );
    await logins.logIn(tracker.url);
    expect((await harness.run('kept, await mcp_tracker.act()')).value).toBe("('call 1', 'call 2')");
  } finally {
    await harness.close();
    await pool.close();
  }
});
