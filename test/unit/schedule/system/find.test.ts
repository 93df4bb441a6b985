import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { findSystemScheduler } from '../../../../src/app/schedule/system/find.ts';
import type { RunTool, SystemScheduler } from '../../../../src/app/schedule/system/scheduler.ts';
import type { ProcessEnd } from '../../../../src/core/base/run-process.ts';

let home: string;
let node: string;
beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), 'bridge-scheduler-'));
  node = join(home, 'bin', 'node');
  mkdirSync(dirname(node));
  writeFileSync(node, '');
  vi.stubEnv('PATH', '/my/bin:/usr/bin');
  vi.stubEnv('XDG_CONFIG_HOME', undefined);
});
afterEach(() => rmSync(home, { recursive: true }));

/** The tools of an operating system: what runs, and whether the entry is started. */
class Machine {
  readonly ran: string[] = [];
  isStarted = false;
  /** What a command answers instead, by its first words or a part of it. */
  readonly answers: Record<string, Partial<ProcessEnd>> = {};

  readonly run: RunTool = async (words) => {
    const line = words.join(' ');
    this.ran.push(line);
    const own = Object.entries(this.answers).find(([part]) => line.includes(part))?.[1];
    const end = own === undefined ? this.#answer(line) : ended(own);
    if (end.exitCode === 0) {
      this.isStarted = /enable --now|bootstrap|\/Create/.test(line.replace('disable', '')) || this.isStarted;
      this.isStarted = !/disable|bootout|\/Delete/.test(line) && this.isStarted;
    }
    return end;
  };

  /** What it changed, without what it looked at. */
  changes(): string[] {
    const looks = /is-system-running|show-user|is-enabled|is-active|launchctl print|\/Query/;
    return this.ran.splice(0).filter((line) => !looks.test(line));
  }

  #answer(line: string): ProcessEnd {
    if (line.includes('is-system-running')) {
      return ended({ stdout: Buffer.from('running\n') });
    }
    const needsEntry = /is-enabled|is-active|disable|print gui\/\w+\/|bootout|\/Query|\/Delete/.test(line);
    return needsEntry && !this.isStarted ? ended({ exitCode: 1, stderr: Buffer.from('No such thing.\n') }) : ended({});
  }
}

function ended(end: Partial<ProcessEnd>): ProcessEnd {
  const none = Buffer.alloc(0);
  return { endedBy: 'exit', exitCode: 0, signal: undefined, stdout: none, stderr: none, reason: '', ...end };
}

interface Options {
  readonly platform?: NodeJS.Platform;
  readonly command?: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  readonly stateDir?: string;
}

function find(machine: Machine, options: Options = {}) {
  const stateDir = join(home, 'state');
  const command = [node, join(home, 'bin', 'node'), 'schedule', 'tick'];
  return findSystemScheduler({ command, env: {}, stateDir, home, platform: 'linux', run: machine.run, ...options });
}

async function found(machine: Machine, options?: Options): Promise<SystemScheduler> {
  const scheduler = await find(machine, options);
  expect(scheduler).not.toHaveProperty('why');
  machine.ran.splice(0);
  return scheduler as SystemScheduler;
}

const SYSTEMS = [
  { platform: 'linux', files: 2, start: 2 },
  { platform: 'darwin', files: 1, start: 2 },
  { platform: 'win32', files: 2, start: 1 },
] as const;

describe.each(SYSTEMS)('on $platform', ({ files, platform, start }) => {
  it('is installed once, replaced if the command changes, and removed without a trace', async () => {
    const machine = new Machine();
    const scheduler = await found(machine, { platform });
    expect(await scheduler.isInstalled()).toBe(false);

    await scheduler.install();
    expect(machine.changes()).toHaveLength(start);
    expect(await scheduler.isInstalled()).toBe(true);
    const paths = [...scheduler.describe().matchAll(/^((?:\/|[A-Z]:\\).*):$/gm)].map(([, path = '']) => path);
    expect(paths).toHaveLength(files + 1);
    expect(paths.every((path) => existsSync(path))).toBe(true);

    await scheduler.install();
    expect(machine.changes()).toEqual([]);

    const other = await found(machine, { platform, command: [node, 'new'], env: { MCP_BRIDGE_A: '1' } });
    await other.install();
    expect(machine.changes()).toHaveLength(start + 1);
    expect(readFileSync(paths.at(-1) ?? '', 'utf8')).toContain('"MCP_BRIDGE_A": "1"');

    await other.remove();
    expect(machine.changes()).toHaveLength(1);
    expect(await other.isInstalled()).toBe(false);
    expect(paths.filter((path) => existsSync(path))).toEqual([]);
    await other.remove();
  });

  it('starts what has its files but does not run, as after a crash of an installation', async () => {
    const machine = new Machine();
    const scheduler = await found(machine, { platform });
    await scheduler.install();
    machine.isStarted = false;
    machine.ran.splice(0);
    await scheduler.install();
    expect(machine.changes()).toHaveLength(start);
  });

  // The files were the new ones and the old command ran, so a second attempt changed nothing.
  it('replaces a command after an attempt that was cut off', async () => {
    const machine = new Machine();
    await (await found(machine, { platform })).install();
    const other = await found(machine, { platform, command: [node, 'new'] });
    machine.answers['disable'] = machine.answers['bootout'] = machine.answers['/Delete'] = { exitCode: 9 };
    await expect(other.install()).rejects.toThrow('exit code 9');
    machine.answers['disable'] = machine.answers['bootout'] = machine.answers['/Delete'] = {};
    machine.ran.splice(0);
    await other.install();
    expect(machine.changes()).toHaveLength(start + 1);
  });

  it('shows every file with the PATH of this shell, and every command', async () => {
    const text = (await found(new Machine(), { platform, env: { MCP_BRIDGE_A: 'b' } })).describe();
    expect(text).toContain('/my/bin:/usr/bin');
    expect(text).toContain('MCP_BRIDGE_A');
    expect(text).toMatch(/enable --now|bootstrap|\/Create/);
    expect(text).toMatch(/disable --now|bootout|\/Delete/);
    expect(text).toContain('logged in');
  });

  it('is not installed if its program is gone, and names it', async () => {
    const machine = new Machine();
    const scheduler = await found(machine, { platform });
    expect(await scheduler.missingProgram()).toBeUndefined();
    await scheduler.install();
    expect(await scheduler.missingProgram()).toBeUndefined();
    rmSync(node);
    expect(await scheduler.isInstalled()).toBe(false);
    expect(await scheduler.missingProgram()).toBe(node);
  });

  it('says which command failed and why, when it is started and when it is stopped', async () => {
    const machine = new Machine();
    const scheduler = await found(machine, { platform });
    machine.answers[platform === 'win32' ? '/Create' : 'enable'] = {
      exitCode: 5,
      stderr: Buffer.from('Access denied.\n'),
    };
    await expect(scheduler.install()).rejects.toMatchObject({
      code: 'STATE_WRITE_FAILED',
      message: expect.stringMatching(/^'.*(?:daemon-reload|enable|Create).*' failed: Access denied$/),
      hint: 'Run that command yourself to see its full output.',
    });
    const started = new Machine();
    const again = await found(started, { platform });
    await again.install();
    started.answers['disable'] = started.answers['bootout'] = started.answers['/Delete'] = { exitCode: 9 };
    await expect(again.remove()).rejects.toThrow(/' failed: exit code 9$/);
    expect(await again.isInstalled()).toBe(true);
  });

  it('has a name of its own for each state directory', async () => {
    const nameIn = async (stateDir: string) =>
      /mcp-code-schedules-[0-9a-f]{12}/.exec((await found(new Machine(), { platform, stateDir })).describe())?.[0];
    const [one, two] = [await nameIn('/a'), await nameIn('/b')];
    expect(one).toBeDefined();
    expect(one).not.toBe(two);
    expect(await nameIn('/a')).toBe(one);
  });

  it('cannot pass on control characters', async () => {
    expect(await find(new Machine(), { platform, env: { MCP_BRIDGE_A: 'a\u0007' } })).toEqual({
      why: 'it cannot pass on a control character, as in "a\\u0007"',
    });
  });
});

it('does not start what could not be written, and names the file', async () => {
  const machine = new Machine();
  writeFileSync(join(home, '.config'), 'not a folder');
  await expect((await found(machine)).install()).rejects.toMatchObject({
    code: 'STATE_WRITE_FAILED',
    message: expect.stringContaining(join(home, '.config', 'systemd', 'user')),
  });
  expect(machine.changes()).toEqual([]);
});

it.each([
  ['running', true],
  ['degraded', true],
  ['starting', true],
  ['offline', false],
  ['stopping', false],
  ['', false],
])('systemd that is "%s": works is %s', async (state, works) => {
  const machine = new Machine();
  machine.answers['is-system-running'] = {
    exitCode: state === 'running' ? 0 : 1,
    stdout: Buffer.from(`${state}\n`),
    stderr: Buffer.from(works ? '' : 'Failed to connect to bus: No medium found\n'),
  };
  const why = 'systemd runs no services for your user here: Failed to connect to bus: No medium found';
  expect(await find(machine)).toEqual(works ? expect.objectContaining({ name: 'systemd' }) : { why });
});

it('says why there is none if systemd is missing, nobody is logged in, or the system is another', async () => {
  const machine = new Machine();
  machine.answers['systemctl'] = { endedBy: 'not found', exitCode: undefined };
  machine.answers['launchctl'] = { exitCode: 125 };
  expect(await find(machine)).toEqual({ why: 'systemd runs no services for your user here: not found' });
  expect(await find(machine, { platform: 'darwin' })).toEqual({ why: expect.stringContaining('logged in') });
  expect(await find(machine, { platform: 'freebsd' })).toEqual({ why: 'no scheduler of freebsd is known' });
  const odd = { platform: 'win32', command: ['C:\\100%\\node.exe', 'x'] } as const;
  expect(await find(machine, odd)).toEqual({ why: expect.stringContaining('C:\\100%\\node.exe') });
});

it('asks for lingering only if it is off', async () => {
  const machine = new Machine();
  expect((await found(machine)).describe()).toContain('loginctl enable-linger');
  machine.answers['show-user'] = { stdout: Buffer.from('Linger=yes\n') };
  expect((await found(machine)).describe()).not.toContain('enable-linger');
});

it('writes units where systemd looks for them', async () => {
  vi.stubEnv('XDG_CONFIG_HOME', join(home, 'xdg'));
  await (await found(new Machine())).install();
  expect(existsSync(join(home, 'xdg/systemd/user'))).toBe(true);
  vi.stubEnv('XDG_CONFIG_HOME', 'relative');
  expect((await found(new Machine())).describe()).toContain(join(home, '.config/systemd/user'));
});
