// Tags: anywhere, full
/** Bridges over HTTP that share a state directory: whichever is asked continues a session that the last one left or was killed with. */
import { once } from 'node:events';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { isQuickRun } from '../support/attacks.ts';
import { fixtureServer } from '../support/bridge-client.ts';
import { coverEngines } from '../support/covered-engines.ts';
import { readFences } from '../support/documented-samples.ts';
import type { TestEngine } from '../support/engines.ts';
import { type HttpBridge, type HttpClient, startHttpBridge } from '../support/http-bridge.ts';
import { PATIENCE } from '../support/patience.ts';

const HAND_OVERS = isQuickRun ? 12 : 50;
const LIMIT_MS = HAND_OVERS * 20_000 * PATIENCE;
const COUNT = 'n = globals().get("n", 0) + 1\nruntime.checkpoint()\nprint("n is", n)';
const WORK = { session: 'work', servers: ['echo'] };
/** Says that it runs, and goes on. */
const ENDLESS = 'n = -1\nawait mcp_echo.echo(text="begun")\nwhile True: pass';

const [SAMPLE = ''] = readFences('docs/several-bridges.md', 'sh');
const [, STATE_DIR = '', COMMAND = ''] =
  /^export (\w+)=\S+\nmcp-server-code-execution-mode (serve .+)$/m.exec(SAMPLE) ?? [];

const engines = await coverEngines();

async function end({ child }: HttpBridge): Promise<void> {
  const exited = child.exitCode !== null || child.signalCode !== null ? undefined : once(child, 'close');
  child.kill('SIGKILL');
  await exited;
}

/** Bridges on one state directory, for one token. */
async function setUp(engine: TestEngine) {
  const folder = mkdtempSync(join(tmpdir(), 'bridge-several-'));
  const running = new Set<HttpBridge>();
  onTestFinished(async () => {
    await Promise.all([...running].map(end));
    rmSync(folder, { recursive: true, force: true });
  });
  let token = '';
  const ledger = join(folder, 'ledger');
  const servers = { echo: { ...fixtureServer('echo.mjs'), env: { FIXTURE_LEDGER: ledger } } };
  const start = async (env = {}): Promise<HttpBridge> => {
    const bridge = await startHttpBridge({
      engine,
      folder,
      argv: COMMAND.replace(':7411', ':0').split(' '),
      servers,
      env: { ...env, [STATE_DIR]: folder },
      tokens: token === '' ? ['team'] : [],
    });
    token = bridge.tokens[0] ?? token;
    running.add(bridge);
    return bridge;
  };
  const connect = (bridge: HttpBridge): Promise<HttpClient> => bridge.connect({ era: '2026-07-28', token });
  const kill = async (bridge: HttpBridge): Promise<void> => {
    running.delete(bridge);
    await end(bridge);
  };
  const begun = (): number => readFileSync(ledger, 'utf8').split('begun').length - 1;
  /** Of sessions; each bridge has another one for itself. */
  const claims = (): string[] =>
    (readdirSync(folder, { recursive: true }) as string[]).filter((name) => /(?<!bridge)\.claim$/.test(name));
  return { start, connect, kill, begun, claims };
}

for (const engine of engines) {
  describe(`several bridges on ${engine.label}`, () => {
    it(
      `hand a session over ${HAND_OVERS} times, when one is killed in the middle of a cell`,
      async () => {
        const { start, connect, kill, begun } = await setUp(engine);
        let [current, next] = [await start(), await start()];
        for (let count = 1; count <= HAND_OVERS; count += 1) {
          const client = await connect(current);
          expect(await client.run(COUNT, WORK)).toContain(`n is ${count}`);
          // Its answer is lost with the bridge.
          client.run(ENDLESS, WORK).catch(() => undefined);
          await expect.poll(begun, { timeout: 20_000 * PATIENCE }).toBe(count);
          await kill(current);
          client.vanish();
          [current, next] = [next, await start()];
        }
      },
      LIMIT_MS,
    );

    it.each([
      ['a session', WORK],
      // It is that of all clients of the token, so it lasts as well.
      ['the session `default`', { servers: ['echo'] }],
    ])('pass %s on when it was idle, and back', async (_what, work) => {
      const { start, connect, claims } = await setUp(engine);
      const idle = { MCP_BRIDGE_RUNTIME_IDLE_TIMEOUT: '1' };
      const clients = [await connect(await start(idle)), await connect(await start(idle))];
      for (const [turn, client] of [...clients, ...clients].entries()) {
        const answer = await client.run('n = globals().get("n", 0) + 1\nprint("n is", n)', work);
        expect(answer).toContain(`n is ${turn + 1}`);
        expect(answer).not.toContain('copy');
        await expect.poll(claims, { timeout: 20_000 * PATIENCE }).toEqual([]);
      }
    });

    it('that both run give the second a copy, and the session once the first has ended', async () => {
      const { start, connect } = await setUp(engine);
      const [first, second] = [await start(), await start()];
      const [one, two] = [await connect(first), await connect(second)];
      expect(await one.run(COUNT, WORK)).toContain('n is 1');
      const copy = await two.run(COUNT, WORK);
      expect(copy).toContain('n is 2');
      expect(copy).toMatch(/uses the session 'work', so this is a copy that is not kept\./);
      // It said that the session is saved.
      const saved = 'is saved only until this MCP server stops: 1 variable and 0 files.';
      expect(await two.run('runtime.checkpoint()', WORK)).toContain(`The session ${saved}`);
      expect(await two.run('runtime.checkpoint("start")', WORK)).toContain(`The checkpoint 'start' ${saved}`);
      expect(await one.run(COUNT, WORK)).toContain('n is 2');
      expect(await one.run('n = 10', WORK)).not.toContain('copy');
      one.vanish();
      await first.stop();
      const third = await connect(await start());
      expect(await third.run(COUNT, WORK)).toContain('n is 11');
    });
  });
}
