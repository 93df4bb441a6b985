/** Pins the command lines of the layers. `test/integration/engines/embedded.test.ts` tests their effect. */
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { buildBubblewrapLayer } from '../../../../src/edges/engines/embedded/bubblewrap-layer.ts';
import { FILTER_PROGRAMS } from '../../../../src/edges/engines/embedded/filter-programs.ts';
import type { HostMachine, LayerName, LayerRefusal } from '../../../../src/edges/engines/embedded/layer.ts';
import { chooseSurroundings } from '../../../../src/edges/engines/embedded/layers.ts';
import { buildSeatbeltLayer, seatbeltProfile } from '../../../../src/edges/engines/embedded/seatbelt-layer.ts';
import { buildUnshareLayer } from '../../../../src/edges/engines/embedded/unshare-layer.ts';

const machine: HostMachine = {
  platform: 'linux',
  arch: 'x64',
  env: { PATH: '' },
  node: '/opt/node/bin/node',
  folder: '/opt/bridge/dist/embedded',
  sharedObjects: ['/lib/x86_64-linux-gnu/libc.so.6', '/lib64/ld-linux-x86-64.so.2'],
};
const filter = new Uint8Array(8);

describe('bubblewrap', () => {
  it('has this command line', () => {
    const layer = buildBubblewrapLayer(machine, '/usr/bin/bwrap', filter);
    expect(layer).toMatchObject({ description: 'inside bubblewrap and a system-call filter', folder: '/embedded' });
    const { arguments: words, executable, input } = layer.launch(['--version']);
    expect(executable).toBe('/usr/bin/bwrap');
    expect(input).toBe(filter);
    expect(words).toEqual(
      [
        '--unshare-user --unshare-pid --unshare-net --unshare-ipc --unshare-uts --unshare-cgroup',
        '--disable-userns --as-pid-1 --die-with-parent --new-session',
        '--uid 65534 --gid 65534 --hostname sandbox --cap-drop ALL --clearenv',
        '--ro-bind /opt/node/bin/node /node',
        '--ro-bind /opt/bridge/dist/embedded /embedded',
        '--ro-bind /lib/x86_64-linux-gnu/libc.so.6 /lib/x86_64-linux-gnu/libc.so.6',
        '--ro-bind /lib64/ld-linux-x86-64.so.2 /lib64/ld-linux-x86-64.so.2',
        '--ro-bind-try /etc/ld.so.cache /etc/ld.so.cache',
        '--seccomp 3 --chdir / --remount-ro / -- /node --version',
      ]
        .join(' ')
        .split(' '),
    );
  });

  it('omits the filter on other architectures, and says so', () => {
    const layer = buildBubblewrapLayer(machine, '/usr/bin/bwrap', undefined);
    expect(layer.description).toBe('inside bubblewrap');
    expect(layer.launch([])).toMatchObject({ input: undefined });
    expect(layer.launch([]).arguments).not.toContain('--seccomp');
  });

  it.each(['x64', 'arm64'])('has a filter for %s that consists of whole instructions', (arch) => {
    const program = Buffer.from(FILTER_PROGRAMS[arch] ?? '', 'base64');
    expect(program.length).toBeGreaterThan(50 * 8);
    expect(program.length % 8).toBe(0);
  });
});

describe('unshare', () => {
  it('gets the mounts and the command as arguments, never as part of the script', () => {
    const { arguments: words, executable } = buildUnshareLayer(machine, '/usr/bin/unshare').launch(['--version']);
    expect(executable).toBe('/usr/bin/unshare');
    expect(words.slice(0, 13)).toEqual(
      '--user --map-root-user --mount --pid --fork --kill-child --net --ipc --uts --cgroup -- /bin/sh -c'.split(' '),
    );
    expect(words.slice(14)).toEqual([
      'sh',
      '/usr/bin/unshare',
      '/sys /mnt /media /srv /boot /home /tmp',
      '4',
      '/opt/node/bin/node',
      '/node',
      '/opt/bridge/dist/embedded',
      '/embedded',
      ...machine.sharedObjects.flatMap((path) => [path, path]),
      '/node',
      '--version',
    ]);
  });
});

describe('setpriv around unshare', () => {
  it('ends unshare with the bridge', () => {
    const alone = buildUnshareLayer(machine, '/usr/bin/unshare').launch(['--version']);
    const { arguments: words, executable } = buildUnshareLayer(machine, '/usr/bin/unshare', '/usr/bin/setpriv').launch([
      '--version',
    ]);
    expect(executable).toBe('/usr/bin/setpriv');
    expect(words).toEqual('--pdeathsig KILL --no-new-privs -- /usr/bin/unshare'.split(' ').concat(alone.arguments));
  });
});

describe('the root of unshare', () => {
  it('is not mounted over a folder with a file that is needed', () => {
    const busy = { ...machine, node: '/home/someone/node/bin/node', folder: '/mnt/bridge/dist/embedded' };
    const { arguments: words } = buildUnshareLayer(busy, '/srv/bin/unshare').launch([]);
    expect(words).toContain('/sys /media /boot /tmp');
  });
});

describe('the sandbox of macOS', () => {
  it('allows only running Node and reading its files', () => {
    expect(seatbeltProfile({ node: '/opt/no"de', folder: '/opt/bridge' }).split('\n')).toEqual([
      '(version 1)',
      '(deny default)',
      '(allow process-exec (literal "/opt/no\\"de"))',
      '(allow sysctl-read)',
      '(allow file-read-metadata)',
      '(allow file-read* (literal "/opt/no\\"de") (subpath "/opt/bridge"))',
      '(allow file-read* (subpath "/usr/lib") (subpath "/System/Library") (subpath "/private/var/db/dyld"))',
      '(allow file-read* (literal "/") (literal "/dev/null") (literal "/dev/urandom") (literal "/dev/random"))',
    ]);
  });

  it('has this command line', () => {
    const { arguments: words, executable } = buildSeatbeltLayer(machine).launch(['--version']);
    expect([executable, ...words]).toEqual([
      '/usr/bin/sandbox-exec',
      '-p',
      seatbeltProfile(machine),
      '/opt/node/bin/node',
      '--version',
    ]);
  });
});

describe('the choice', () => {
  // Once only the program itself was killed. Its child kept the pipes open, and the session waited for it.
  it.skipIf(process.platform === 'win32')('skips a layer whose program hangs in a child process', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'bridge-layers-'));
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    onTestFinished(() => {
      vi.useRealTimers();
      rmSync(folder, { recursive: true });
    });
    const started = join(folder, 'started');
    writeFileSync(join(folder, 'unshare'), `#!/bin/sh\necho > '${started}'\n/bin/sleep 60\n`, { mode: 0o755 });
    const refused: LayerRefusal[] = [];
    let layer: LayerName | 'undecided' | undefined = 'undecided';
    void chooseSurroundings({ ...machine, platform: 'linux', env: { PATH: folder } }, refused).then((chosen) => {
      layer = chosen.layer;
    });
    // The program may start before the timer is set.
    while (layer === 'undecided') {
      if (existsSync(started)) {
        vi.advanceTimersByTime(10_000);
      }
      await new Promise(setImmediate);
    }
    expect(layer).toBeUndefined();
    expect(refused.at(-1)).toEqual({ layer: 'unshare', reason: expect.stringMatching(/^no answer within 10 s/) });
  });

  it.each([
    ['linux', ['bwrap is not on PATH', 'unshare is not on PATH']],
    ['darwin', [expect.stringMatching(/sandbox-exec/)]],
    ['win32', []],
  ] as const)('on %s records why each layer cannot be used', async (platform, reasons) => {
    const refused: LayerRefusal[] = [];
    const chosen = await chooseSurroundings({ ...machine, platform }, refused);
    expect(chosen.layer).toBeUndefined();
    expect(chosen.description).toBe('without an operating-system sandbox around it');
    expect(refused.map(({ reason }) => reason)).toEqual(reasons);
  });
});
