import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { buildRunArguments, OMITTABLE_FLAGS, type RunRequest } from '../../../../src/edges/engines/container/argv.ts';
import { parseHardLimits } from '../../../../src/edges/engines/process-limits.ts';

const MIB = 1024 * 1024;
const request: RunRequest = {
  engine: 'podman',
  name: 'mcp-bridge-a1-1',
  image: 'python:3.14-slim',
  user: '65534:65534',
  limits: { memoryBytes: 512 * MIB, pids: 128, cpus: undefined, tmpBytes: 64 * MIB, workspaceBytes: 128 * MIB },
  labels: { 'product.instance': 'a1' },
  command: ['python3', '-I', '-c', 'pass'],
};

const commonBeforeEngine = (owner: string) => [
  '--rm',
  '--interactive',
  '--pull=never',
  '--name=mcp-bridge-a1-1',
  '--label=product.instance=a1',
  '--network=none',
  '--hostname=sandbox',
  '--ipc=private',
  '--cgroupns=private',
  '--cap-drop=ALL',
  '--security-opt=no-new-privileges',
  '--user=65534:65534',
  '--read-only',
  `--tmpfs=/tmp:rw,noexec,nosuid,nodev,mode=1777,${owner},size=67108864`,
  `--tmpfs=/workspace:rw,noexec,nosuid,nodev,mode=1777,${owner},size=134217728`,
  '--shm-size=16777216',
  '--workdir=/workspace',
  '--memory=536870912',
  '--memory-swap=536870912',
  '--pids-limit=128',
  '--ulimit=nofile=1024:1024',
  '--ulimit=nproc=4096:4096',
  '--ulimit=core=0:0',
  '--oom-score-adj=500',
  '--log-driver=none',
  '--stop-signal=KILL',
  '--stop-timeout=1',
  '--no-healthcheck',
];
const COMMON_AFTER_ENGINE = [
  '--env=HOME=/workspace',
  '--env=PYTHONUNBUFFERED=1',
  '--env=PYTHONIOENCODING=utf-8',
  '--env=PYTHONDONTWRITEBYTECODE=1',
  '--entrypoint',
  'python3',
  'python:3.14-slim',
  '-I',
  '-c',
  'pass',
];

describe('arguments of a start', () => {
  it('pins every flag for podman', () => {
    expect(buildRunArguments(request)).toEqual([
      'run',
      ...commonBeforeEngine('U,notmpcopyup'),
      '--no-hosts',
      '--http-proxy=false',
      '--read-only-tmpfs=false',
      '--systemd=false',
      '--umask=0077',
      '--image-volume=ignore',
      ...COMMON_AFTER_ENGINE,
    ]);
  });

  it('passes a descriptor on instead of stdin', () => {
    const withDescriptor = buildRunArguments({ ...request, usesDescriptor: true });
    expect(withDescriptor.filter((flag) => !buildRunArguments(request).includes(flag))).toEqual(['--preserve-fds=1']);
    expect(withDescriptor).not.toContain('--interactive');
  });

  it('pins every flag for docker', () => {
    expect(buildRunArguments({ ...request, engine: 'docker' })).toEqual([
      'run',
      ...commonBeforeEngine('uid=65534,gid=65534'),
      '--env=HTTP_PROXY=',
      '--env=http_proxy=',
      '--env=HTTPS_PROXY=',
      '--env=https_proxy=',
      '--env=FTP_PROXY=',
      '--env=ftp_proxy=',
      '--env=NO_PROXY=',
      '--env=no_proxy=',
      '--env=ALL_PROXY=',
      '--env=all_proxy=',
      ...COMMON_AFTER_ENGINE,
    ]);
  });

  it('puts the OCI runtime where each engine expects it', () => {
    expect(buildRunArguments({ ...request, ociRuntime: 'runsc' }).slice(0, 3)).toEqual(['--runtime', 'runsc', 'run']);
    expect(buildRunArguments({ ...request, engine: 'docker', ociRuntime: 'runsc' }).slice(0, 3)).toEqual([
      'run',
      '--runtime',
      'runsc',
    ]);
  });

  it('mounts the package store read-only in sessions', () => {
    const packages = { volume: 'packages', folder: '/unused', network: 'default' as const };
    const ofPodman = buildRunArguments({ ...request, packages });
    expect(ofPodman).toContain('--mount=type=volume,source=packages,target=/packages,ro');
    expect(ofPodman).toContain('--network=none');
    const ofDocker = buildRunArguments({ ...request, engine: 'docker', packages });
    expect(ofDocker).toContain('--mount=type=volume,source=packages,target=/packages,ro,volume-nocopy');
    expect(() => buildRunArguments({ ...request, packages: { ...packages, volume: 'a,source=/' } })).toThrow(
      /sandbox package store .* is invalid/,
    );
  });

  it('gives a builder a network and the store, and nothing else that a session has not', () => {
    const packages = { volume: 'packages', folder: '/unused', network: 'default' as const };
    const mounts = [{ source: '/srv/out', target: '/out', isWritable: true }];
    const session = buildRunArguments({ ...request, packages, mounts: [] });
    const builder = buildRunArguments({ ...request, packages, mounts, isBuilder: true });
    const added = ['CHOWN', 'SETUID', 'SETGID'].map((name) => `--cap-add=${name}`);
    expect(builder.filter((flag) => !session.includes(flag))).toEqual([
      ...added,
      '--user=0:0',
      '--mount=type=volume,source=packages,target=/packages',
    ]);
    expect(session.filter((flag) => !builder.includes(flag))).toEqual([
      '--network=none',
      '--user=65534:65534',
      '--mount=type=volume,source=packages,target=/packages,ro',
      '--no-hosts',
    ]);
    const owned = { ...packages, volume: 'packages-of-one', operators: { volume: 'packages', folder: '/unused' } };
    expect(buildRunArguments({ ...request, packages: owned }).join(' ')).not.toContain('source=packages,');
    expect(buildRunArguments({ ...request, packages: owned, isBuilder: true })).toEqual(
      expect.arrayContaining([
        '--mount=type=volume,source=packages-of-one,target=/packages',
        '--mount=type=volume,source=packages,target=/packages-of-operator,ro',
      ]),
    );
    const local = { ...packages, network: 'host' as const };
    expect(buildRunArguments({ ...request, packages: local, isBuilder: true })).toContain('--network=host');
    const offline = buildRunArguments({ ...request, packages: local, isBuilder: true, isOffline: true });
    expect(offline.filter((flag) => flag.startsWith('--network'))).toEqual(['--network=none']);
  });

  it('gives a program its own image and limits, and neither folders nor packages', () => {
    const packages = { volume: 'packages', folder: '/unused', network: 'default' as const };
    const mounts = [{ source: '/srv/out', target: '/out', isWritable: true }];
    const limits = { ...request.limits, memoryBytes: 1024 * MIB, pids: 64, workspaceBytes: 256 * MIB };
    const program = { image: 'golang:1.26', limits, canExecuteFiles: true, binds: ['/opt/go'] };
    const session = buildRunArguments(request);
    const seccompProfile = '/opt/bridge/program-seccomp.json';
    const ofProgram = buildRunArguments({ ...request, packages, mounts, program, seccompProfile });
    const owner = 'U,notmpcopyup';
    expect(ofProgram.filter((flag) => !session.includes(flag))).toEqual([
      `--tmpfs=/tmp:rw,exec,nosuid,nodev,mode=1777,${owner},size=67108864`,
      `--tmpfs=/workspace:rw,exec,nosuid,nodev,mode=1777,${owner},size=268435456`,
      '--memory=1073741824',
      '--memory-swap=1073741824',
      '--pids-limit=64',
      '--ulimit=nproc=2048:2048',
      '--ulimit=data=2147483648:2147483648',
      '--security-opt=seccomp=/opt/bridge/program-seccomp.json',
      'golang:1.26',
    ]);
    expect(session.filter((flag) => !ofProgram.includes(flag))).toHaveLength(7);
    const plain = buildRunArguments({ ...request, packages, mounts, program: {} });
    expect(plain.filter((flag) => !session.includes(flag))).toEqual(['--ulimit=data=1610612736:1610612736']);
    expect(() => buildRunArguments({ ...request, program: { image: '--privileged' } })).toThrow(/image .* is invalid/);
  });

  it('starts a runner as root, with only the right to become the user', () => {
    const session = buildRunArguments({ ...request, user: '1000:2000' });
    const ofProgram = buildRunArguments({ ...request, user: '1000:2000', program: { hasRunner: true } });
    expect(ofProgram.filter((flag) => !session.includes(flag))).toEqual([
      '--cap-add=SETUID',
      '--user=0:2000',
      '--env=BRIDGE_UID=1000',
      '--ulimit=data=1610612736:1610612736',
    ]);
    expect(session.filter((flag) => !ofProgram.includes(flag))).toEqual(['--user=1000:2000']);
  });

  it('lets the user read what code writes to a mounted folder', () => {
    const writable = { source: '/srv/out', target: '/out', isWritable: true };
    expect(buildRunArguments({ ...request, mounts: [writable] })).toContain('--umask=0022');
    expect(buildRunArguments({ ...request, mounts: [{ ...writable, isWritable: false }] })).toContain('--umask=0077');
  });

  it('mounts folders read-only by default', () => {
    const mounts = [
      { source: '/srv/data set', target: '/data', isWritable: false },
      { source: '/srv/out', target: '/out', isWritable: true },
    ];
    expect(buildRunArguments({ ...request, mounts })).toEqual(
      expect.arrayContaining([
        '--mount=type=bind,source=/srv/data set,target=/data,readonly',
        '--mount=type=bind,source=/srv/out,target=/out',
      ]),
    );
  });

  it('refuses a mount that would be read as more than one option', () => {
    const mounts = [{ source: '/srv/a,source=/', target: '/data', isWritable: false }];
    expect(() => buildRunArguments({ ...request, mounts })).toThrow(/sandbox mount .* is invalid/);
  });

  it('gives a user without a group the group with the same number, not that of root', () => {
    expect(buildRunArguments({ ...request, user: '1000' })).toContain('--user=1000:1000');
  });

  it('limits the processors if requested', () => {
    const limits = { ...request.limits, cpus: 1.5 };
    expect(buildRunArguments({ ...request, limits })).toContain('--cpus=1.5');
  });

  it('sets a process limit above what all sandboxes together may use', () => {
    const limits = { ...request.limits, pids: 1000 };
    expect(buildRunArguments({ ...request, limits })).toContain('--ulimit=nproc=32000:32000');
  });

  it('stays within the hard limits of this process', () => {
    const flags = buildRunArguments({ ...request, hardLimits: { processes: 1000, openFiles: 256 } });
    expect(flags).toEqual(expect.arrayContaining(['--ulimit=nproc=1000:1000', '--ulimit=nofile=256:256']));
  });

  it('omits flags that the engine refused, but none that protects the host', () => {
    const omit = new Set([...Object.keys(OMITTABLE_FLAGS), '--cap-drop', '--network', '--read-only', '--user']);
    const withoutValues = buildRunArguments({ ...request, omit }).map((argument) => argument.split('=', 1)[0]);
    for (const flag of Object.keys(OMITTABLE_FLAGS)) {
      expect(withoutValues).not.toContain(flag);
    }
    expect(withoutValues).toEqual(expect.arrayContaining(['--cap-drop', '--network', '--read-only', '--user']));
  });
});

it('reads hard limits as Linux writes them', () => {
  const text = [
    'Limit                     Soft Limit           Hard Limit           Units     ',
    'Max processes             1000                 96365                processes ',
    'Max open files            1024                 unlimited            files     ',
  ].join('\n');
  expect(parseHardLimits(text)).toEqual({ processes: 96365, openFiles: undefined });
  expect(parseHardLimits('')).toEqual({ processes: undefined, openFiles: undefined });
});

describe('invalid values', () => {
  const refusals: [string, Partial<RunRequest>][] = [
    ['an image that is a flag', { image: '--privileged' }],
    ['an image with a space', { image: 'python --privileged' }],
    ['an image with a line end', { image: 'python\n--privileged' }],
    ['an empty image', { image: '' }],
    ['a user that is a flag', { user: '-v/:/host' }],
    ['a user with three parts', { user: '1:2:3' }],
    ['a user by name', { user: 'root' }],
    ['a runtime that is a flag', { ociRuntime: '--debug' }],
    ['a label with a line end', { labels: { 'product.session': 'a\nb' } }],
    ['a label key with a second equals sign', { labels: { 'a=b': 'c d' } }],
    ['a memory limit of zero', { limits: { ...request.limits, memoryBytes: 0 } }],
    ['a memory limit that is not a number', { limits: { ...request.limits, memoryBytes: Number.NaN } }],
    ['a fraction of a process', { limits: { ...request.limits, pids: 1.5 } }],
    ['infinitely many processors', { limits: { ...request.limits, cpus: Number.POSITIVE_INFINITY } }],
  ];
  it.each(refusals)('are refused: %s', (_name, change) => {
    expect(() => buildRunArguments({ ...request, ...change })).toThrow(
      expect.objectContaining({ code: 'CONFIG_INVALID' }),
    );
  });
});

it('explains every flag in test/unit/engines/arguments.md', () => {
  const docs = readFileSync(join(import.meta.dirname, '..', 'arguments.md'), 'utf8');
  const limits = { ...request.limits, cpus: 2 };
  const flags = (['podman', 'docker'] as const)
    .flatMap((engine) => buildRunArguments({ ...request, engine, limits }))
    .filter((argument) => argument.startsWith('--'))
    .map((argument) => argument.split('=', 1)[0] ?? argument);
  expect([...new Set(flags)].filter((flag) => !docs.includes(flag))).toEqual([]);
});
