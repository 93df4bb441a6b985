/**
 * What is given to the scheduler of an operating system, read by other programs: Python's parsers of plists and XML, and systemd's own
 * of units. Stand-ins for systemctl and launchctl are run as programs.
 */
import { execFileSync, spawnSync } from 'node:child_process';
import { chmodSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { findSystemScheduler } from '../../../src/app/schedule/system/find.ts';
import type { SystemScheduler } from '../../../src/app/schedule/system/scheduler.ts';
import { hasLocalPython } from '../../support/local-python.ts';

const FIXTURES = join(import.meta.dirname, '../../fixtures/schedulers');
const HOSTILE = 'a b"c\'d%h$HOME ${HOME}\\e <é>&amp; ♥';
const ARGS = ['', ' x ', '$$', '%%', 'a\nb', ';', '</string>', ']]>', '--', 'schedule', 'tick'];
const isWindows = process.platform === 'win32';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'bridge-system-'));
  vi.stubEnv('STATE', folder);
  vi.stubEnv('PATH', `${FIXTURES}${delimiter}${process.env['PATH']}`);
  vi.stubEnv('XDG_CONFIG_HOME', undefined);
  vi.stubEnv('XDG_RUNTIME_DIR', folder);
});
afterEach(() => rmSync(folder, { recursive: true }));

async function found(platform: NodeJS.Platform, command = [process.execPath, ...ARGS], home = join(folder, HOSTILE)) {
  const stateDir = join(home, 'state');
  const scheduler = await findSystemScheduler({ command, env: { MCP_BRIDGE_A: HOSTILE }, stateDir, home, platform });
  expect(scheduler).not.toHaveProperty('why');
  return scheduler as SystemScheduler;
}

/** The path of a file that the scheduler has. */
function fileOf(scheduler: SystemScheduler, end: string): string {
  return new RegExp(`^(/.*\\${end}):$`, 'm').exec(scheduler.describe())?.[1] ?? '';
}

function ran(): string[] {
  return readFileSync(join(folder, 'ran'), 'utf8').trim().split('\n');
}

function python(code: string, file: string): unknown {
  return JSON.parse(execFileSync('python3', ['-c', `import json, sys\n${code}`, file], { encoding: 'utf8' }));
}

describe.skipIf(isWindows)('systemd', () => {
  it('is run with its commands, once', async () => {
    const scheduler = await found('linux');
    await scheduler.install();
    await scheduler.install();
    expect(ran().filter((line) => / enable| daemon-reload/.test(line))).toHaveLength(2);
    expect(await scheduler.isInstalled()).toBe(true);
    await scheduler.remove();
    expect(await scheduler.isInstalled()).toBe(false);
    await scheduler.remove();
  });

  it.skipIf(spawnSync('systemd-analyze', ['--version']).status !== 0)('accepts the units', async () => {
    const program = join(folder, HOSTILE, 'node');
    mkdirSync(join(folder, HOSTILE));
    writeFileSync(program, '#!/bin/sh\n');
    chmodSync(program, 0o755);
    const scheduler = await found('linux', [program, ...ARGS]);
    await scheduler.install();
    const units = ['.service', '.timer'].map((end) => fileOf(scheduler, end));
    const verified = spawnSync('systemd-analyze', ['--user', '--man=no', 'verify', ...units], { encoding: 'utf8' });
    // It may complain about units of the machine.
    const about = verified.stderr.split('\n').filter((line) => line.includes('mcp-code-schedules'));
    expect(about).toEqual([]);
    // It does find faults in a unit.
    writeFileSync(units[0] ?? '', '[Service]\nType=oneshot\nExecStart="/bin/sh" "\n');
    const broken = spawnSync('systemd-analyze', ['--user', '--man=no', 'verify', units[0] ?? ''], { encoding: 'utf8' });
    expect(broken.stderr).toContain('mcp-code-schedules');
  });
});

describe.skipIf(isWindows)('launchd', () => {
  it('gets a new command only when the old one is gone', async () => {
    await (await found('darwin')).install();
    await (await found('darwin', [process.execPath, 'other'])).install();
    const commands = ran().filter((line) => !line.endsWith('print'));
    expect(commands).toEqual(
      ['enable', 'bootstrap', 'bootout', 'enable', 'bootstrap'].map((one) => `launchctl ${one}`),
    );
  });

  it.skipIf(!hasLocalPython())('reads the command and its variables as they are', async () => {
    const scheduler = await found('darwin');
    await scheduler.install();
    const plist = fileOf(scheduler, '.plist');
    const code = 'import plistlib\nprint(json.dumps(plistlib.load(open(sys.argv[1], "rb"))))';
    const output = join(folder, HOSTILE, 'state', 'system-scheduler.log');
    expect(python(code, plist)).toEqual({
      Label: expect.stringMatching(/^mcp-code-schedules-/),
      ProgramArguments: ['/bin/sh', '-c', 'exec "$@" >"$0" 2>&1', output, process.execPath, ...ARGS],
      EnvironmentVariables: { PATH: process.env['PATH'], MCP_BRIDGE_A: HOSTILE },
      WorkingDirectory: join(folder, HOSTILE),
      StartInterval: 60,
    });
  });

  it('keeps the output of the last minute only', async () => {
    const scheduler = await found('darwin', [process.execPath, '-p', '1+1']);
    await scheduler.install();
    const [, program = '', ...words] =
      /<array>(.*)<\/array>/s.exec(readFileSync(fileOf(scheduler, '.plist'), 'utf8'))?.[1]?.split(/<\/?string>\s*/) ??
      [];
    const plain = words.map((word) =>
      word.replace(/&#(\d+);/g, (_, code: string) => String.fromCharCode(Number(code))),
    );
    const args = plain.filter((word) => word.trim() !== '');
    execFileSync(program, args);
    execFileSync(program, args);
    const output = join(folder, HOSTILE, 'state', 'system-scheduler.log');
    expect(readFileSync(output, 'utf8')).toBe('2\n');
    await scheduler.remove();
    expect(() => readFileSync(output)).toThrow('ENOENT');
  });
});

describe.skipIf(isWindows)('the Task Scheduler', () => {
  const home = () => join(folder, 'a b & <é> ♥');
  const ok = {
    endedBy: 'exit',
    signal: undefined,
    stdout: Buffer.alloc(0),
    stderr: Buffer.alloc(0),
    reason: '',
  } as const;

  async function installed(command: readonly string[]): Promise<SystemScheduler> {
    let isThere = false;
    const scheduler = await findSystemScheduler({
      command,
      env: { MCP_BRIDGE_A: HOSTILE },
      stateDir: home(),
      home: home(),
      platform: 'win32',
      run: async (words) => {
        isThere ||= words.includes('/Create');
        return { ...ok, exitCode: isThere ? 0 : 1 };
      },
    });
    await (scheduler as SystemScheduler).install();
    return scheduler as SystemScheduler;
  }

  it.skipIf(!hasLocalPython())('gets a task in UTF-16 that starts Node without a window', async () => {
    const scheduler = await installed(['/my node', 'x']);
    const task = fileOf(scheduler, '.xml');
    expect(readFileSync(task).subarray(0, 2)).toEqual(Buffer.from([0xff, 0xfe]));
    const code = `import xml.etree.ElementTree as tree
all = [(one.tag.split('}')[1], one.text) for one in tree.parse(sys.argv[1]).iter() if not len(one)]
print(json.dumps(all))`;
    expect(Object.fromEntries(python(code, task) as [string, string][])).toMatchObject({
      Interval: 'PT1M',
      MultipleInstancesPolicy: 'IgnoreNew',
      ExecutionTimeLimit: 'PT0S',
      Command: 'C:\\Windows\\System32\\conhost.exe',
      Arguments: `--headless "/my node" "${join(home(), 'system-scheduler.mjs')}"`,
      WorkingDirectory: home(),
    });
  });

  it('gives the command its words and variables, and keeps the output of the last minute only', async () => {
    const show = 'console.log(JSON.stringify([process.argv.slice(1), process.env.MCP_BRIDGE_A, process.env.PATH]))';
    const scheduler = await installed([process.execPath, '-e', show, '--', ...ARGS]);
    vi.stubEnv('MCP_BRIDGE_A', undefined);
    const script = fileOf(scheduler, '.mjs');
    execFileSync(process.execPath, [script], { env: { PATH: '/other' } });
    execFileSync(process.execPath, [script], { env: { PATH: '/other' } });
    const output = readFileSync(script.replace(/mjs$/, 'log'), 'utf8');
    expect(JSON.parse(output)).toEqual([ARGS, HOSTILE, process.env['PATH']]);
  });
});
