import { describe, expect, it } from 'vitest';
import { bubblewrapStartError } from '../../../../src/edges/engines/bubblewrap/start-failure.ts';
import type { NamespaceSettings } from '../../../../src/edges/engines/namespace-settings.ts';

describe('a failed start of bubblewrap', () => {
  const exit = { exitCode: 1, signal: undefined };
  const open: NamespaceSettings = { isInContainer: false };
  const said: readonly [string, string, NamespaceSettings, RegExp, RegExp][] = [
    [
      'a sysctl of Debian',
      'bwrap: No permissions to create new namespace, likely because the kernel does not allow non-privileged user namespaces.',
      { ...open, unprivilegedClone: '0' },
      /^bubblewrap may not create namespaces: bwrap: No permissions/,
      /unprivileged_userns_clone=1/,
    ],
    [
      'no namespaces left',
      'bwrap: Creating new namespace failed: nesting depth or /proc/sys/user/max_*_namespaces exceeded (ENOSPC)',
      { ...open, maxNamespaces: '0' },
      /may not create namespaces/,
      /max_user_namespaces=15000/,
    ],
    [
      'AppArmor, at the map',
      'bwrap: setting up uid map: Permission denied',
      { ...open, appArmorRestricts: '1' },
      /may not create namespaces/,
      /AppArmor/,
    ],
    [
      'AppArmor, at the network',
      'bwrap: loopback: Failed RTM_NEWADDR: Operation not permitted',
      { ...open, appArmorRestricts: '1' },
      /may not create namespaces/,
      /AppArmor/,
    ],
    [
      'a profile that forbids mounts in the sandbox',
      'mounting /tmp with noexec failed (Operation not permitted)',
      open,
      /^bubblewrap cannot restrict its scratch space: mounting \/tmp/,
      /bwrap-userns-restrict/,
    ],
    [
      'a container',
      "bwrap: Can't mount proc on /newroot/proc: Operation not permitted",
      { ...open, isInContainer: true },
      /may not create namespaces/,
      /^The bridge runs in a container/,
    ],
    [
      'no known setting',
      'bwrap: Creating new namespace failed: Operation not permitted',
      open,
      /may not create namespaces/,
      /^Allow this user/,
    ],
    ['an old bubblewrap', 'bwrap: Unknown option --disable-userns', open, /^bubblewrap is too old/, /0\.8 or newer/],
    [
      'no Python',
      'bwrap: execvp /usr/bin/python3.11: No such file or directory',
      open,
      /^bubblewrap cannot run python3/,
      /3\.10 or newer/,
    ],
  ];
  it.each(said)('is explained: %s', (...[, stderr, settings, message, hint]) => {
    const error = bubblewrapStartError(exit, `${stderr}\n`, settings);
    expect(error).toMatchObject({ code: 'ENGINE_UNAVAILABLE', data: { engine: 'bubblewrap', retryNow: false } });
    expect(error.message).toMatch(message);
    expect(error.hint).toMatch(hint);
  });

  it('names a program that this machine does not have', () => {
    const report = 'prlimit: failed to execute go: No such file or directory\n';
    expect(bubblewrapStartError({ exitCode: 127, signal: undefined }, report, open, 'go')).toMatchObject({
      code: 'IMAGE_UNSUITABLE',
      message: expect.stringContaining('bubblewrap cannot run go'),
    });
  });

  it('is quoted if the reason is unknown', () => {
    const error = bubblewrapStartError(exit, 'bwrap: something new\n', open);
    expect(error).toMatchObject({
      code: 'ENGINE_FAILED',
      message: 'bubblewrap did not start the sandbox (exit code 1): bwrap: something new',
    });
    expect(bubblewrapStartError({ exitCode: undefined, signal: 'SIGKILL' }, '', open).message).toContain(
      '(signal SIGKILL): no error output',
    );
  });
});
