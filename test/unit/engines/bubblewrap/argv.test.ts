import { describe, expect, it } from 'vitest';
import {
  type BubblewrapRequest,
  buildBubblewrapCommand,
  launcher,
} from '../../../../src/edges/engines/bubblewrap/argv.ts';
import { ownFiles } from '../../../../src/edges/engines/bubblewrap/etc-files.ts';

const MIB = 1024 * 1024;
/** No file that can hold a secret, even if everyone may read it: see `etc-files.ts`. */
const SHOWN = [
  'ld.so.cache ld.so.conf ld.so.conf.d alternatives localtime timezone os-release debian_version mime.types magic magic.mime',
  'protocols services locale.alias terminfo matplotlibrc fonts xml sgml dictionaries-common/words',
  'ssl/certs/ca-certificates.crt ssl/ca-bundle.pem ssl/cert.pem pki/tls/certs/ca-bundle.crt pki/tls/cert.pem',
].flatMap((line) => line.split(' '));
const request: BubblewrapRequest = {
  tools: { bwrap: '/usr/bin/bwrap', choom: '/usr/bin/choom', prlimit: '/usr/bin/prlimit' },
  name: 'mcp-bridge-a1-1',
  limits: { memoryBytes: 512 * MIB, pids: 128, cpus: undefined, tmpBytes: 64 * MIB, workspaceBytes: 128 * MIB },
  user: '65534:65534',
  interpreter: { path: '/usr/bin/python3.11' },
  folders: [{ path: '/bin', linkTarget: 'usr/bin' }, { path: '/lib' }],
  command: ['python3', '-I', '-c', 'pass'],
};

describe('the command of a bubblewrap sandbox', () => {
  it('pins every argument', () => {
    expect(buildBubblewrapCommand(request).join(' ')).toBe(
      [
        '/usr/bin/choom --adjust=500 --',
        '/usr/bin/prlimit --nofile=1024:1024 --nproc=4096:4096 --core=0:0 --',
        '/usr/bin/bwrap',
        '--unshare-user --unshare-pid --unshare-net --unshare-ipc --unshare-uts --unshare-cgroup',
        '--disable-userns --as-pid-1 --die-with-parent --new-session',
        '--uid 65534 --gid 65534 --hostname sandbox --cap-drop ALL --cap-add CAP_SYS_ADMIN --cap-add CAP_SETPCAP --clearenv --unsetenv mcp-bridge-a1-1',
        '--setenv PATH /usr/bin:/bin --setenv HOME /workspace --setenv LANG C.UTF-8',
        '--setenv PYTHONUNBUFFERED 1 --setenv PYTHONIOENCODING utf-8 --setenv PYTHONDONTWRITEBYTECODE 1',
        '--ro-bind /usr /usr --symlink usr/bin /bin --ro-bind /lib /lib',
        ...SHOWN.map((name) => `--ro-bind-try /etc/${name} /etc/${name}`),
        '--proc /proc --ro-bind /proc/sys /proc/sys --dev /dev --dev-bind /dev/full /dev/zero',
        '--perms 1777 --size 67108864 --tmpfs /tmp --perms 1777 --size 134217728 --tmpfs /workspace',
        '--perms 1777 --size 16777216 --tmpfs /dev/shm',
        '--chdir /workspace --remount-ro /dev --remount-ro /',
        '-- /usr/bin/python3.11 -I -c pass',
      ].join(' '),
    );
  });

  it('gives a program no capabilities, no folders and no packages, but a filter and limits of its own', () => {
    const program = { limits: { ...request.limits, pids: 64 }, binds: ['/opt/go'] };
    const mounts = [{ source: '/srv/out', target: '/out', isWritable: true }];
    const words = buildBubblewrapCommand({
      ...request,
      mounts,
      packages: '/var/packages',
      program,
      hasFilter: true,
      countsProcesses: true,
      command: ['sh', '-c', 'true'],
    });
    const session = buildBubblewrapCommand(request);
    expect(words.filter((word) => !session.includes(word))).toEqual([
      '--nproc=2048:2048',
      '--data=1610612736:1610612736',
      '/opt/go',
      '/opt/go',
      '--seccomp',
      '3',
      '--nproc=64:64',
      'sh',
      'true',
    ]);
    expect(words.join(' ')).toContain('--ro-bind /opt/go /opt/go --chdir');
    expect(words.slice(-7)).toEqual(['--', '/usr/bin/prlimit', '--nproc=64:64', '--', 'sh', '-c', 'true']);
    expect(words).not.toContain('--cap-add');
  });

  it('gives only a runner a right, and names what takes it from its program', () => {
    const tools = { ...request.tools, setprivOfRunner: '/usr/bin/setpriv' };
    const words = (given: Partial<BubblewrapRequest>): string =>
      buildBubblewrapCommand({ ...request, ...given }).join(' ');
    const added = ' --cap-add CAP_WAKE_ALARM --setenv BRIDGE_SETPRIV /usr/bin/setpriv';
    const ofRunner = words({ tools, program: { hasRunner: true } });
    expect(ofRunner).toContain(added);
    expect(ofRunner.replace(added, '')).toBe(words({ tools, program: {} }));
    expect(words({ program: { hasRunner: true } })).toBe(words({ program: {} }));
  });

  it('makes files of its own from descriptors, and reads the filter from the next one', () => {
    const files = ownFiles('65534:65534');
    const words = buildBubblewrapCommand({ ...request, files, program: {}, hasFilter: true }).join(' ');
    expect(ownFiles('65533', true).map(({ path }) => path)).toEqual(['/etc/passwd', '/etc/group']);
    expect(words).toContain(
      [
        '--perms 0444 --ro-bind-data 3 /etc/passwd --perms 0444 --ro-bind-data 4 /etc/group',
        '--perms 0444 --ro-bind-data 5 /etc/hosts --perms 0444 --ro-bind-data 6 /etc/nsswitch.conf',
      ].join(' '),
    );
    expect(words).toContain('--seccomp 7 -- ');
  });

  it('drops root first, also on the host', () => {
    const tools = { ...request.tools, setpriv: '/usr/bin/setpriv' };
    expect(buildBubblewrapCommand({ ...request, tools, user: '1000' }).slice(0, 6)).toEqual([
      '/usr/bin/setpriv',
      '--reuid=1000',
      '--regid=1000',
      '--clear-groups',
      '--',
      '/usr/bin/choom',
    ]);
  });

  it('mounts the folder of a Python outside /usr, and puts it first on PATH', () => {
    const interpreter = { path: '/opt/python/bin/python3.12', prefix: '/opt/python' };
    const words = buildBubblewrapCommand({ ...request, interpreter }).join(' ');
    expect(words).toContain('--ro-bind /opt/python /opt/python --chdir');
    expect(words).toContain('--setenv PATH /opt/python/bin:/usr/bin:/bin');
    expect(words).toContain('-- /opt/python/bin/python3.12 -I');
  });

  it('shows sessions only finished sets of packages, and gives a builder a network', () => {
    const packages = '/srv/store';
    const session = buildBubblewrapCommand({ ...request, packages }).join(' ');
    expect(session).toContain('--ro-bind /srv/store/sets /packages/sets --chdir');
    expect(session).toContain('--unshare-net');
    const mounts = [{ source: '/srv/out', target: '/out', isWritable: true }];
    const builder = buildBubblewrapCommand({ ...request, packages, mounts, isBuilder: true }).join(' ');
    expect(builder).toContain('--bind /srv/store /packages --chdir');
    expect(builder).toContain('--ro-bind-try /etc/resolv.conf /etc/resolv.conf');
    expect(builder).toContain(`--data=${request.limits.memoryBytes}:${request.limits.memoryBytes} --`);
    expect(buildBubblewrapCommand({ ...request, isBuilder: true, hasFilter: true }).join(' ')).toContain(
      '--remount-ro / --seccomp 3 -- ',
    );
    expect(builder).not.toMatch(/--unshare-net|--cap-add|\/srv\/out/);
    const owned = { ...request, packages, operatorsPackages: '/srv/operators' };
    expect(buildBubblewrapCommand({ ...owned, isBuilder: true }).join(' ')).toContain(
      '--bind /srv/store /packages --ro-bind-try /srv/operators /packages-of-operator --chdir',
    );
    expect(buildBubblewrapCommand(owned).join(' ')).not.toContain('operator');
    const offline = buildBubblewrapCommand({ ...request, packages, isBuilder: true, isOffline: true });
    expect(offline).toContain('--unshare-net');
  });

  it('stays within the hard limits of this process', () => {
    const words = buildBubblewrapCommand({ ...request, hardLimits: { processes: 1000, openFiles: 256 } });
    expect(words).toEqual(expect.arrayContaining(['--nproc=1000:1000', '--nofile=256:256']));
  });

  it.each(['root', '-1', '1:2:3', '1 --'])('refuses the user %s', (user) => {
    expect(() => launcher({ tools: request.tools, user })).toThrow(expect.objectContaining({ code: 'CONFIG_INVALID' }));
  });
});
