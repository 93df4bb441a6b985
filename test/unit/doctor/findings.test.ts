/** What `doctor` reports about bad values and directories. Its reports about engines and servers are tested with real ones. */

import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, readdir, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { createContext } from '../../../src/app/bridge/context.ts';
import { findingOf, firstOf, joinAbsent, notInstalled, tryOne, whyNoCell } from '../../../src/app/doctor/engines.ts';
import { examineStateDirectory, judgeDisk, judgeMemory } from '../../../src/app/doctor/machine.ts';
import { renderFindings } from '../../../src/app/doctor/run.ts';
import { judgeBounds } from '../../../src/app/doctor/session.ts';
import { examineSettings } from '../../../src/app/doctor/settings.ts';
import { BridgeError } from '../../../src/core/base/errors.ts';
import type { Engine } from '../../../src/core/session/engine.ts';
import { discoverServers } from '../../../src/edges/servers/discover.ts';
import { loadSettings } from '../../../src/edges/settings/settings.ts';
import type { StoredSettings } from '../../../src/edges/settings/stored-settings.ts';
import { findingOfIssue, noCellRuns, renderLine } from '../../../src/edges/terminal/finding.ts';

const MEBIBYTE = 1024 ** 2;
const HINT = 'Run: this';

describe('a finding', () => {
  const finding = { section: 'engines', level: 'problem', text: 'no', hint: HINT } as const;

  it('is one line in a log, and two lines on a terminal, with colors if enabled', () => {
    expect(renderLine(finding)).toBe('no → Run: this');
    expect(renderLine({ ...finding, level: 'ok', hint: undefined })).toBe('no');
    expect(renderFindings([finding], false)).toBe('Engines\n  problem  no\n           → Run: this\n');
    expect(renderFindings([finding], true)).toContain('\u001B[31mproblem\u001B[39m  no');
  });

  it('shows names and messages of servers as data: they control no terminal and look like no other finding', () => {
    const forged = { ...finding, text: 'x\u001b[2J\u009b1m\n  ok       all is well\rover', hint: 'a\nb\u202e' };
    expect(renderFindings([forged], false)).toBe(
      [
        'Engines',
        '  problem  x\\x1b[2J\\x9b1m',
        '             ok       all is well\\x0dover',
        '           → a',
        '           b\\x202e',
        '',
      ].join('\n'),
    );
  });

  it('keeps the message and the code of an error', () => {
    const error = new BridgeError('IMAGE_MISSING', 'the image x is not here', { hint: HINT });
    expect(noCellRuns(error)).toEqual({
      section: 'engines',
      level: 'problem',
      text: 'no cell can run: the image x is not here',
      hint: HINT,
      code: 'IMAGE_MISSING',
    });
  });

  it.each([
    ['error', 'problem'],
    ['warning', 'warning'],
    ['debug', 'ok'],
  ] as const)('about an issue of level %s in a server file has the level %s', (level, expected) => {
    const found = findingOfIssue({ level, file: '/a.json', path: 'mcpServers.a', message: 'is missing' });
    expect(found).toMatchObject({ level: expected, text: '/a.json: mcpServers.a is missing' });
    expect(found.hint?.startsWith('Correct the file. ')).toBe(level === 'debug' ? undefined : true);
  });

  it('about a missing file names the setting, not the format of server files', () => {
    const { issues } = discoverServers({ stateDir: '/nowhere', extraFile: '/nowhere/a.json', env: {} });
    expect(issues.map(findingOfIssue).map(renderLine)).toEqual([
      '/nowhere/a.json is named in MCP_SERVERS_CONFIG but does not exist → Correct MCP_SERVERS_CONFIG, or create the file.',
    ]);
  });
});

describe('the machine', () => {
  it('is reported if it has too little memory or disk space', () => {
    expect(judgeMemory(600 * MEBIBYTE, 512 * MEBIBYTE).level).toBe('ok');
    expect(judgeMemory(500 * MEBIBYTE, 512 * MEBIBYTE)).toMatchObject({
      level: 'warning',
      text: '500 MiB of memory available; one session may use 512 MiB',
      hint: expect.stringContaining('MCP_BRIDGE_MEMORY'),
    });
    expect(judgeDisk(201 * MEBIBYTE).level).toBe('ok');
    expect(judgeDisk(199 * MEBIBYTE)).toMatchObject({
      level: 'warning',
      hint: expect.stringContaining('Free some space'),
    });
  });

  it('is reported if a session has no limits or no system-call filter', () => {
    const held = { report: 'started', memory_limit_bytes: 512 * MEBIBYTE, pids_limit: 128, seccomp: true } as const;
    expect(judgeBounds(held).map(({ level, text }) => [level, text])).toEqual([
      ['ok', 'limits measured inside the sandbox: 512 MiB of memory, 128 processes'],
      ['ok', 'the system-call filter (seccomp) is active'],
    ]);
    expect(judgeBounds({ ...held, memory_limit_bytes: null, seccomp: false })).toMatchObject([
      { level: 'warning', text: expect.stringMatching(/^the engine enforces no memory or process limit/) },
      { level: 'warning', text: expect.stringMatching(/^the bridge has no system-call filter/) },
    ]);
  });
});

describe('the state directory', () => {
  let folder = '';
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'state-'));
    onTestFinished(() => rm(folder, { recursive: true }));
  });

  it('is usable, and the attempt to write leaves nothing behind', async () => {
    expect(await examineStateDirectory(folder, false)).toMatchObject([
      { level: 'ok', text: `state directory ${folder}` },
      { level: 'ok', text: expect.stringMatching(/ MiB free on the disk/) },
    ]);
    expect(await readdir(folder)).toEqual([]);
  });

  it('does not exist yet, and only --fix creates it', async () => {
    const path = join(folder, 'a', 'MCPs');
    expect((await examineStateDirectory(path, false))[0]).toMatchObject({
      level: 'ok',
      text: expect.stringMatching(/ does not exist yet; it is created when it is first needed$/),
    });
    expect(await readdir(folder)).toEqual([]);
    await examineStateDirectory(path, true);
    expect((await stat(path)).mode & 0o777).toBe(0o700);
  });

  it.each([
    ['is a file', ['file'], /cannot be used: it is a file, not a directory$/],
    ['is inside a file', ['file', 'MCPs'], /cannot be used: .*ENOTDIR/],
    // Not even root can create anything there.
    ['is inside a folder that cannot hold files', ['/proc/none/MCPs'], /cannot be used: E/],
  ])('%s', async (_name, path, text) => {
    await writeFile(join(folder, 'file'), '');
    const [, absolute] = /^(\/.*)$/.exec(path[0] ?? '') ?? [];
    expect(await examineStateDirectory(absolute ?? join(folder, ...path), false)).toEqual([
      {
        section: 'machine',
        level: 'problem',
        text: expect.stringMatching(text),
        hint: expect.stringMatching(/^Set MCP_BRIDGE_STATE_DIR to a folder that you own\./),
        code: 'STATE_WRITE_FAILED',
      },
    ]);
  });

  const hasProc = existsSync('/proc/self');
  it.skipIf(!hasProc)(
    `${hasProc ? '' : 'not covered: there is no /proc: '}is not writable: the hint names it, not its parent`,
    async () => {
      const [finding] = await examineStateDirectory('/proc', false);
      expect(finding?.hint).toMatch(/^Fix the permissions of \/proc, /);
    },
  );

  it('is writable by other users', async () => {
    const path = join(folder, 'MCPs');
    await mkdir(path);
    await import('node:fs/promises').then(({ chmod }) => chmod(path, 0o777));
    expect((await examineStateDirectory(path, false))[0]).toMatchObject({
      level: 'problem',
      hint: expect.stringContaining('chmod go-w'),
    });
    expect((await examineStateDirectory(path, true))[0]).toMatchObject({ level: 'ok' });
    expect((await stat(path)).mode & 0o777).toBe(0o755);
  });
});

describe('the settings', () => {
  const created = {
    createContext: async (env: NodeJS.ProcessEnv, stored: StoredSettings) => createContext(env, stored),
  };

  it('are listed without their values', async () => {
    const { context, findings } = await examineSettings({
      env: { MCP_BRIDGE_IMAGE: 'secret/image', PATH: '' },
      ...created,
    });
    expect(findings).toEqual([{ section: 'settings', level: 'ok', text: 'set in the environment: MCP_BRIDGE_IMAGE' }]);
    expect(context.settings.image).toBe('secret/image');
  });

  it('that are invalid are one problem each, and the others still apply', async () => {
    const env = {
      MCP_BRIDGE_TIMEOUT: 'soon',
      MCP_BRIDGE_MEMORY: '1',
      MCP_BRIDGE_IMAGE: 'mine',
      MCP_BRIDGE_TIMOUT: '1',
    };
    const { context, findings } = await examineSettings({ env, ...created });
    expect(findings.map((finding) => `${finding.level}: ${renderLine(finding)}`)).toEqual([
      expect.stringMatching(/^problem: MCP_BRIDGE_TIMEOUT is 'soon'; allowed: .* → Correct or remove it/),
      expect.stringMatching(/^problem: MCP_BRIDGE_MEMORY is '1'; allowed: /),
      'ok: set in the environment: MCP_BRIDGE_IMAGE',
      expect.stringMatching(/^warning: MCP_BRIDGE_TIMOUT is set, but there is no such setting\. Did you mean/),
    ]);
    expect(context.settings).toMatchObject({ image: 'mine', timeoutSeconds: 30 });
  });

  it('are not said to have all their default values if the only one that is set is invalid', async () => {
    const { findings } = await examineSettings({ env: { MCP_BRIDGE_TIMEOUT: 'soon' }, ...created });
    expect(findings.map(({ text }) => text)).toEqual([
      expect.stringMatching(/^MCP_BRIDGE_TIMEOUT is 'soon'/),
      'all others have their default values',
    ]);
    expect((await examineSettings({ env: {}, ...created })).findings.map(({ text }) => text)).toEqual([
      'all have their default values',
    ]);
  });
});

describe('engines that cannot be used', () => {
  const settings = loadSettings({ MCP_BRIDGE_IMAGE: 'none', MCP_BRIDGE_PULL: 'never' });
  const engine = (name: Engine['name'], error: BridgeError): Promise<Awaited<ReturnType<typeof tryOne>>> =>
    tryOne({ name, description: name, isolation: '' } as Engine, settings, error);
  const absent = [{ engine: 'docker', reason: 'docker is not on PATH', hint: 'Install Docker.' }] as const;
  const dead = new BridgeError('ENGINE_UNAVAILABLE', 'podman does not answer', { hint: 'Start it.' });

  it('are all named in the one error that a cell would get', async () => {
    expect(whyNoCell([await engine('podman', dead)], absent)).toMatchObject({
      code: 'ENGINE_UNAVAILABLE',
      message: 'no engine can be used (podman does not answer; docker is not on PATH)',
      hint: 'Start it.',
    });
    expect(whyNoCell([await engine('podman', dead)], [])).toBe(dead);
  });

  it('block weaker ones if only the image is missing', async () => {
    const missing = new BridgeError('IMAGE_MISSING', 'the image none is not here', { hint: 'Run: podman pull none' });
    const tried = [await engine('podman', missing), await engine('bubblewrap', dead)];
    expect(tried[0]?.verdict).toMatchObject({ isUsable: false, isBlocking: true });
    expect(whyNoCell(tried, absent)).toBe(missing);
  });

  it('block only weaker ones if they could not pull the image', async () => {
    const notPulled = new BridgeError('IMAGE_MISSING', 'podman could not pull x', { data: { isPullFailure: true } });
    const mayPull = loadSettings({ MCP_BRIDGE_PULL: 'missing' });
    const podman = await tryOne({ name: 'podman', description: 'podman' } as Engine, mayPull, notPulled);
    expect(podman.verdict).toMatchObject({ isUsable: false, isBlocking: true });
    const docker = { engine: 'docker', isUsable: true } as const;
    const weaker = { engine: 'bubblewrap', isUsable: true } as const;
    expect(firstOf([podman], [podman.verdict, docker, weaker])).toBe(docker);
    expect(firstOf([podman], [podman.verdict, weaker])).toBe(podman.verdict);
  });

  it('need no fix if a stronger engine runs', () => {
    const verdict = { engine: 'docker', isUsable: false, reason: 'it does not answer', hint: 'Start it.' } as const;
    expect(findingOf(verdict, 'podman')).toEqual({
      section: 'engines',
      level: 'ok',
      text: 'docker is not used: it does not answer',
    });
    expect(findingOf(verdict, null)).toMatchObject({ level: 'problem', hint: 'Start it.' });
  });

  // Each once had a warning, and a step, of its own.
  it('have one finding, with the choice, if neither podman nor docker is installed', () => {
    const refusals = (['podman', 'docker', 'bubblewrap'] as const).map((name) => {
      return { engine: name, reason: `${name} is not on PATH`, hint: `Install ${name}.` };
    });
    const verdicts = [...refusals.map(notInstalled), { engine: 'embedded', isUsable: true } as const];
    expect(joinAbsent(verdicts, refusals).map((one) => findingOf(one, 'embedded'))).toMatchObject([
      {
        level: 'warning',
        text: 'podman and docker cannot be used: podman is not on PATH; docker is not on PATH',
        hint: 'Install podman or docker.',
      },
      { level: 'warning', text: 'bubblewrap cannot be used: bubblewrap is not on PATH' },
      { level: 'ok' },
    ]);
    expect(joinAbsent(verdicts, refusals.slice(1))).toBe(verdicts);
  });

  it.each([
    ['podman, rootless', 'podman (rootless) can be used'],
    ['podman as root', 'podman as root can be used'],
  ])('%s is written as %s', (description, text) => {
    expect(findingOf({ engine: 'podman', isUsable: true, description }, 'podman')).toMatchObject({ level: 'ok', text });
  });
});
