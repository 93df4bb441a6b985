/** The unit in `deploy/systemd`: how it ends the bridge, and that the drop-in for Podman undoes what Podman cannot live with. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { ERROR_CODES } from '../../../src/core/base/errors.ts';
import { loadSettings } from '../../../src/edges/settings/settings.ts';
import { ROOT } from '../../support/bridge-client.ts';

/** Values by key, in order. */
function readUnit(file: string): Map<string, string[]> {
  const text = readFileSync(join(ROOT, 'deploy/systemd', file), 'utf8');
  const values = new Map<string, string[]>();
  for (const [, key = '', value = ''] of text.matchAll(/^(\w+)=(.*)$/gm)) {
    values.set(key, [...(values.get(key) ?? []), value]);
  }
  return values;
}

const unit = readUnit('mcp-bridge.service');
const podman = readUnit('podman.conf');
const one = (key: string, from = unit): string => from.get(key)?.at(-1) ?? '';
const settingsOf = (...units: Map<string, string[]>[]) =>
  loadSettings(
    Object.fromEntries(
      units.flatMap((each) => each.get('Environment') ?? []).map((text) => text.split('=') as [string, string]),
    ),
  );

describe('the unit', () => {
  it('runs the bridge as a user of its own, with its state in a private folder', () => {
    expect(one('ExecStart')).toMatch(
      /^\/usr\/local\/bin\/mcp-server-code-execution-mode serve --http 127\.0\.0\.1:7411$/,
    );
    expect([one('User'), one('StateDirectory'), one('StateDirectoryMode')]).toEqual([
      'mcp-bridge',
      'mcp-bridge',
      '0700',
    ]);
    expect(settingsOf(unit)).toMatchObject({ runtime: 'bubblewrap', stateDir: '/var/lib/mcp-bridge/state' });
    expect(settingsOf(unit, podman)).toMatchObject({ runtime: 'podman' });
  });

  it('lets it drain, and does not repeat what cannot work', () => {
    expect([one('KillMode'), one('RestartPreventExitStatus')]).toEqual([
      'mixed',
      String(ERROR_CODES.CONFIG_INVALID.exitCode),
    ]);
    expect(Number(one('TimeoutStopSec'))).toBeGreaterThanOrEqual(20 + 10 + 5);
  });

  it('leaves out what sandboxes could not live with', () => {
    const against = ['ProtectKernelTunables', 'ProtectKernelLogs', 'ProtectProc', 'ProcSubset', 'PrivateUsers'];
    const others = ['RestrictNamespaces', 'ProtectHostname', 'MemoryDenyWriteExecute'];
    expect([...against, ...others].filter((key) => unit.has(key) || podman.has(key))).toEqual([]);
  });
});

describe('the drop-in for Podman', () => {
  it('undoes everything with which systemd sets no_new_privs for a user', () => {
    // systemd.exec(5), NoNewPrivileges, of the settings that the unit has.
    const implying =
      /^(?:NoNewPrivileges|PrivateDevices|ProtectClock|ProtectKernelModules|LockPersonality|Restrict\w+|SystemCall(?:Filter|Architectures))$/;
    const set = [...unit.keys()].filter((key) => implying.test(key));
    expect(set.length).toBeGreaterThan(8);
    expect(set.filter((key) => !['no', ''].includes(podman.get(key)?.at(-1) ?? 'kept'))).toEqual([]);
  });
});
