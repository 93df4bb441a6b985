// Tags: anywhere, full
/** Servers that are started before the first cell: the built command, a real client, and processes that are observed. */
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { type BridgeClient, type BridgeOptions, fixtureServer, startBridge } from '../support/bridge-client.ts';
import { coverEngines } from '../support/covered-engines.ts';
import { descendantsOf, isAlive } from '../support/processes.ts';
import { until } from '../support/upstream.ts';

const engines = await coverEngines();
/** What happens before the first cell needs no engine. */
const [engine] = engines.toSorted((one, other) => Number(one.isContainer) - Number(other.isContainer));

if (engine === undefined) {
  it.skip('not covered: needs an engine', () => undefined);
} else {
  describe(`servers started ahead, on ${engine.label}`, () => {
    /** A state directory with these servers, and a project folder; bridges that use them, one after another. */
    const setUp = (mcpServers: Readonly<Record<string, object>>) => {
      const folder = mkdtempSync(join(tmpdir(), 'prestart-e2e-'));
      onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
      const [stateDir, project] = [join(folder, 'state'), join(folder, 'project')];
      [stateDir, project].forEach((path) => mkdirSync(path));
      const file = join(stateDir, 'servers.json');
      writeFileSync(file, JSON.stringify({ mcpServers }));
      const open = async (env: Record<string, string> = {}, more: Partial<BridgeOptions> = {}) => {
        let log = '';
        const bridge = await startBridge({
          engine,
          cwd: project,
          env: { MCP_BRIDGE_STATE_DIR: stateDir, MCP_BRIDGE_LOG_LEVEL: 'INFO', ...env },
          onLog: (text) => {
            log += text;
          },
          ...more,
        });
        onTestFinished(() => bridge.close());
        return { ...bridge, log: () => log };
      };
      const memory = join(stateDir, '.cache', 'prestart');
      /** Written in the background of the first call. */
      const usedServers = () => {
        const names = existsSync(memory) ? readdirSync(memory).filter((name) => name.endsWith('.jsonl')) : [];
        // Beside what is remembered of imports and results.
        return names.filter((name) => readFileSync(join(memory, name), 'utf8').includes('"hadLogin"'));
      };
      const remembered = () => until(() => usedServers().length > 0);
      return {
        stateDir,
        open,
        remembered,
        usedServers,
        written: () => readdirSync(stateDir).filter((name) => name !== 'servers.json'),
      };
    };

    const ping = { servers: ['crashing'], timeout: 60 };
    const PID = 'await mcp_crashing.pid()';

    for (const protocolVersion of [undefined, '2026-07-28'] as const) {
      it(`are those of the last session, with a client of ${protocolVersion ?? '2025-11-25'}`, async () => {
        const { open, remembered } = setUp({
          crashing: fixtureServer('crashing.mjs'),
          other: fixtureServer('echo.mjs'),
        });
        const more = protocolVersion === undefined ? {} : { protocolVersion };
        const first = await open({}, more);
        await first.client.listTools();
        expect((await first.runPython(PID, ping)).isError).toBe(false);
        await remembered();
        await first.close();

        const second = await open({}, more);
        await second.client.listTools();
        await until(() => second.log().includes("Server 'crashing' started: process"));
        const ahead = processesOf(second, 'crashing.mjs');
        expect([ahead.length, processesOf(second, 'echo.mjs')]).toEqual([1, []]);
        expect((await second.runPython(PID, ping)).text).toBe(`'${ahead[0]}'`);
        expect(processesOf(second, 'crashing.mjs')).toEqual(ahead);
        expect(second.log().split("Server 'crashing' started")).toHaveLength(2);
        await second.close();
        await until(() => !isAlive(ahead[0] ?? 0));
      });
    }

    it('are none for a client that lists the tools and leaves, and for one that lists none', async () => {
      const { open, written } = setUp({ crashing: fixtureServer('crashing.mjs') });
      const leaving = await open({ MCP_BRIDGE_PRESTART: 'crashing' });
      await leaving.client.listTools();
      await leaving.close();
      await until(() => !isAlive(leaving.pid));
      const silent = await open({ MCP_BRIDGE_PRESTART: 'crashing' });
      await silent.client.ping();
      expect(written()).toEqual([]);
      const present = await open({ MCP_BRIDGE_PRESTART: 'crashing' });
      await present.client.listTools();
      // By then, the one that listed nothing would have started it, too.
      await until(() => present.log().includes("Server 'crashing' started"));
      expect([leaving, silent].map((bridge) => bridge.log().includes('started'))).toEqual([false, false]);
      expect(processesOf(silent, 'crashing.mjs')).toEqual([]);
      await Promise.all([silent.close(), present.close()]);
    });

    it('are none with `off`, and nothing is remembered', async () => {
      const { open, remembered, usedServers } = setUp({ crashing: fixtureServer('crashing.mjs') });
      const first = await open({ MCP_BRIDGE_PRESTART: 'off' });
      await first.client.listTools();
      await first.runPython(PID, ping);
      await first.close();
      expect(usedServers()).toEqual([]);

      // With something to remember, it makes no difference.
      const second = await open();
      await second.runPython(PID, ping);
      await remembered();
      await second.close();
      const third = await open({ MCP_BRIDGE_PRESTART: 'off' });
      const beside = await open();
      await Promise.all([third.client.listTools(), beside.client.listTools()]);
      await until(() => beside.log().includes("Server 'crashing' started"));
      expect(processesOf(third, '.mjs')).toEqual([]);
      expect((await third.runPython(PID, ping)).isError).toBe(false);
      expect(third.log()).toContain("Server 'crashing' started");
    });

    it('that crash at their start fail at their first call, in the same words', async () => {
      const { open } = setUp({ crashing: fixtureServer('crashing.mjs', 'at-start') });
      const words = async (env: Record<string, string>, isTried: boolean): Promise<string> => {
        // A sandbox that is started ahead may warn of limits that the machine does not enforce.
        const bridge = await open({ MCP_BRIDGE_PREWARM: '0', ...env });
        await bridge.client.listTools();
        await until(() => !isTried || bridge.log().includes('INFO Not started ahead, so the first call tries again'));
        expect(bridge.log()).not.toMatch(/ (?:WARNING|ERROR) /);
        const { text, isError } = await bridge.runPython(PID, ping);
        expect(isError).toBe(true);
        await bridge.close();
        return text;
      };
      const ahead = await words({ MCP_BRIDGE_PRESTART: 'crashing' }, true);
      expect(ahead).toContain('exit code 3');
      expect(ahead).toBe(await words({ MCP_BRIDGE_PRESTART: 'off' }, false));
    });

    it('know which questions the client can show', async () => {
      const { open } = setUp({ asks: fixtureServer('asks.mjs') });
      const bridge = await open(
        { MCP_BRIDGE_PRESTART: 'asks' },
        { capabilities: { elicitation: { form: {}, url: {} } } },
      );
      await bridge.client.listTools();
      await until(() => bridge.log().includes("Server 'asks' started"));
      const { structured } = await bridge.runPython('await mcp_asks.capabilities()', {
        servers: ['asks'],
        timeout: 60,
      });
      expect(structured['result']).toContain("'elicitation': {'form': {}, 'url': {}}");
      expect(bridge.log().split("Server 'asks' started")).toHaveLength(2);
    });
  });
}

/** The processes that this bridge has started with such a script. */
function processesOf({ pid }: BridgeClient, script: string): number[] {
  return descendantsOf(pid).filter((one) => {
    try {
      return readFileSync(`/proc/${one}/cmdline`, 'utf8').split('\0')[1]?.endsWith(script);
    } catch {
      return false; // It ended in the meantime.
    }
  });
}
