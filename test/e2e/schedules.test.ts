// Tags: anywhere
/** Schedules, from the first run in front of a person to runs that wait, are killed, and are told of in a chat. */
import { spawn } from 'node:child_process';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { CLI, environmentOf, fixtureServer, ROOT, startBridge } from '../support/bridge-client.ts';
import { coverEngines } from '../support/covered-engines.ts';
import { PATIENCE } from '../support/patience.ts';

const STAND_INS = join(ROOT, 'test/fixtures/schedulers');
const WAIT_MS = 60_000 * PATIENCE;

const CODE = `import datetime
today = datetime.date.today().isoformat()
await mcp_ledger.record(note=f"report of {today}: 3 open")
await mcp_ledger.record_slowly(channel="C42", seconds=0)
print("3 open")`;

interface End {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

for (const engine of await coverEngines()) {
  describe(`schedules on ${engine.label}`, () => {
    let folder: string;
    let script: string;
    let ledger: string;

    beforeAll(() => {
      folder = mkdtempSync(join(tmpdir(), 'schedules-'));
      ledger = join(folder, 'ledger');
      script = join(folder, 'report.py');
      writeFileSync(
        join(folder, 'servers.json'),
        JSON.stringify({ mcpServers: { ledger: fixtureServer('ledger.mjs', ledger) } }),
      );
    });
    afterAll(() => rmSync(folder, { recursive: true }));

    function start(...words: string[]) {
      const path = `${STAND_INS}:${process.env['PATH']}`;
      const env = {
        ...environmentOf(engine, folder),
        PATH: path,
        STATE: folder,
        HOME: folder,
        XDG_CONFIG_HOME: folder,
      };
      return spawn(process.execPath, [CLI, ...words], { env, stdio: ['ignore', 'pipe', 'pipe'] });
    }

    async function run(...words: string[]): Promise<End> {
      const child = start(...words);
      const [stdout, stderr] = [child.stdout, child.stderr].map((stream) => {
        let text = '';
        stream.on('data', (chunk: Buffer) => {
          text += chunk.toString('utf8');
        });
        return () => text;
      });
      const code = await new Promise<number | null>((resolve) => child.on('close', resolve));
      return { code, stdout: stdout?.() ?? '', stderr: stderr?.() ?? '' };
    }

    const json = async (...words: string[]) => JSON.parse((await run(...words, '--json')).stdout);
    const made = (): { tool: string; arguments: Record<string, unknown> }[] =>
      existsSync(ledger)
        ? readFileSync(ledger, 'utf8')
            .trim()
            .split('\n')
            .filter(Boolean)
            .map((line) => JSON.parse(line))
        : [];
    const write = (code: string) => writeFileSync(script, code);

    it('learn from a first run what later ones may do, and are woken by the system', async () => {
      write(CODE);
      const added = await run(
        'schedule',
        'add',
        'morning',
        '0 7 * * *',
        '--timezone',
        'Europe/Berlin',
        '-f',
        script,
        '--server',
        'ledger',
        '-y',
      );
      expect(added.stderr).toMatch(/ledger\.record: at most 7 calls in a run\n {6}note: "report of #-#-#: # open"/);
      expect(added).toMatchObject({ code: 0, stdout: expect.stringContaining('channel: "C42"') });
      expect(made()).toHaveLength(2);
      const [listed] = await json('schedule', 'list');
      expect(listed).toMatchObject({ name: 'morning', problems: [], last: { status: 'succeeded' }, questions: 0 });
      expect(listed.next[0]).toMatch(/T0[56]:00:00\.000Z$/);
      expect(await run('schedule', 'check', 'morning')).toMatchObject({ code: 0, stdout: 'A run can work now.\n' });
      const twice = await run('schedule', 'add', 'morning', '0 7 * * *', '-c', '1');
      expect(twice).toMatchObject({ code: 64, stderr: expect.stringContaining('schedule remove morning') });
    });

    it('do the same again without a person', async () => {
      const { code, stdout } = await run('schedule', 'run', 'morning');
      expect({ code, stdout }).toEqual({ code: 0, stdout: '3 open\n' });
      expect(made()).toHaveLength(4);
    });

    it('do nothing if the code has changed since it was accepted', async () => {
      write(CODE.replace('C42', 'D42'));
      const { code, stdout } = await run('schedule', 'check', 'morning');
      expect({ code, stdout }).toMatchObject({ code: 77, stdout: expect.stringContaining('its code has changed') });
      makeDue('morning');
      expect((await run('schedule', 'tick')).code).toBe(0);
      expect((await json('schedule', 'log', 'morning')).at(-1)).toMatchObject({ status: 'refused', exitCode: 77 });
      expect(made()).toHaveLength(4);
      write(CODE);
    });

    it('wait with what is beyond their rights, and go on with the answer, without a second call', async () => {
      accept('morning', ({ tools }) => {
        const slow = tools.find(({ tool }) => tool === 'record_slowly');
        Object.assign(slow?.arguments ?? {}, { channel: { kind: 'shapes', shapes: ['C1'] } });
      });
      makeDue('morning');
      expect((await run('schedule', 'tick')).code).toBe(0);
      expect((await json('schedule', 'log', 'morning')).at(-1)).toMatchObject({ status: 'waiting', calls: 2 });
      expect(made()).toHaveLength(5);
      // Nothing happens before there is an answer.
      expect((await run('schedule', 'tick')).code).toBe(0);
      const questions = await json('approvals', 'list');
      expect(questions).toHaveLength(1);
      const [{ id }] = questions;
      const shown = await run('approvals', 'show', id);
      expect(shown.stdout).toContain('"channel": "C42"');
      expect(shown.stdout).toContain('its argument \'channel\' may be "C1"');
      expect((await run('approvals', 'allow', id, '--for', 'always')).code).toBe(0);
      expect((await run('schedule', 'tick')).code).toBe(0);
      expect((await json('schedule', 'log', 'morning')).at(-1)).toMatchObject({
        status: 'succeeded',
        output: expect.stringContaining('3 open'),
      });
      expect(
        made()
          .slice(4)
          .map(({ tool }) => tool),
      ).toEqual(['record', 'record_slowly']);
      expect(await json('approvals', 'list')).toEqual([]);
      // Always: the next run does not ask.
      makeDue('morning');
      await run('schedule', 'tick');
      expect((await json('schedule', 'log', 'morning')).at(-1)).toMatchObject({ status: 'succeeded' });
      expect(made()).toHaveLength(8);
    });

    it('do not go on with a first run that was killed, because its calls were not noted', async () => {
      const before = made().length;
      const code = `await mcp_ledger.record_slowly(seconds=${4 * PATIENCE})`;
      const child = start('schedule', 'add', 'first', 'every 1d', '-c', code, '--server', 'ledger', '-y');
      await vi.waitFor(() => expect(made()).toHaveLength(before + 1), WAIT_MS);
      child.kill('SIGKILL');
      await new Promise((resolve) => child.on('close', resolve));
      expect((await run('schedule', 'tick')).code).toBe(0);
      expect(await json('schedule', 'log', 'first')).toMatchObject([
        { status: 'failed', reason: 'It was interrupted.' },
      ]);
      expect(made()).toHaveLength(before + 1);
      await run('schedule', 'remove', 'first');
    });

    it('never send a call twice that may have been made before a kill', async () => {
      const slow = `await mcp_ledger.record(note="first")\nawait mcp_ledger.record_slowly(seconds=${4 * PATIENCE})`;
      const added = await run('schedule', 'add', 'slow', 'every 1d', '-c', slow, '--server', 'ledger', '-y');
      expect(added.code).toBe(0);
      const before = made().length;
      makeDue('slow');
      const child = start('schedule', 'tick');
      await vi.waitFor(() => expect(made()).toHaveLength(before + 2), WAIT_MS);
      child.kill('SIGKILL');
      await new Promise((resolve) => child.on('close', resolve));
      expect((await json('schedule', 'log', 'slow')).at(-1)).toMatchObject({ status: 'running', attempts: 1 });
      expect((await run('schedule', 'tick')).code).toBe(0);
      const last = (await json('schedule', 'log', 'slow')).at(-1);
      expect(last).toMatchObject({ status: 'failed', attempts: 2, exitCode: 70, unknown: ['ledger.record_slowly'] });
      expect(last.reason).toContain('OUTCOME_UNKNOWN');
      expect(made()).toHaveLength(before + 2);
      await run('schedule', 'remove', 'slow');
    });

    it('are told of once in the next answer to a client', async () => {
      const bridge = await startBridge({ engine, env: { MCP_BRIDGE_STATE_DIR: folder } });
      const { text } = await bridge.runPython('1 + 1');
      expect(text).toMatch(/Schedule 'morning', run of \d{4}-\d\d-\d\d \d\d:\d\d, succeeded: 3 open/);
      expect((await bridge.runPython('1 + 1', { session: 'other' })).text).not.toContain("Schedule 'morning'");
      await bridge.close();
    });

    it('can be paused, and leave nothing behind', async () => {
      expect((await run('schedule', 'pause', 'morning')).code).toBe(0);
      const runs = (await json('schedule', 'log', 'morning')).length;
      makeDue('morning');
      await run('schedule', 'tick');
      expect(await json('schedule', 'log', 'morning')).toHaveLength(runs);
      expect(readFileSync(join(folder, 'ran'), 'utf8')).toContain('enable');
      expect((await run('schedule', 'remove', 'morning')).code).toBe(0);
      expect(readFileSync(join(folder, 'ran'), 'utf8')).toContain('disable');
      expect((await run('schedule', 'list')).stdout).toBe('There are no schedules.\n');
      expect(readdirSync(join(folder, 'schedules'))).toEqual([]);
    });

    interface Rights {
      source: string;
      readonly tools: readonly { readonly tool: string; readonly arguments: Record<string, unknown> }[];
    }

    function readEntry(name: string): { when: string; from: string; rights: Rights } {
      return JSON.parse(readFileSync(join(folder, 'schedules', name, 'entry.json'), 'utf8'));
    }

    function change(name: string, by: (entry: { when: string; from: string; rights: Rights }) => void): void {
      const entry = readEntry(name);
      by(entry);
      writeFileSync(join(folder, 'schedules', name, 'entry.json'), JSON.stringify(entry));
    }

    function accept(name: string, by: (rights: Rights) => void): void {
      change(name, ({ rights }) => by(rights));
    }

    /** Since a second ago. */
    function makeDue(name: string): void {
      const from = new Date(Date.now() - 61_000).toISOString();
      change(name, (entry) => Object.assign(entry, { when: 'every 1m', from }));
    }
  });
}
