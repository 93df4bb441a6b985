/** Making a bridge: what is open if a part of it cannot be made. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it, onTestFinished, vi } from 'vitest';
import { AuditTrail } from '../../../src/audit/trail.ts';
import { silentLogger } from '../../../src/base/log.ts';
import { createBridge } from '../../../src/bridge/bridge.ts';
import { LiveHub } from '../../../src/live/index.ts';
import { readKernelSources } from '../../../src/session/boot.ts';
import { loadSettings } from '../../../src/settings/settings.ts';

vi.mock('../../../src/session/boot.ts', { spy: true });

// Servers, records and the local API stayed open, once for each cell that tried again.
it('closes what it has opened if a later part cannot be made', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'bridge-parts-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const [joined, left] = [vi.spyOn(LiveHub.prototype, 'join'), vi.spyOn(LiveHub.prototype, 'leave')];
  const closed = vi.spyOn(AuditTrail.prototype, 'close');
  vi.mocked(readKernelSources).mockRejectedValueOnce(new Error('no sources'));
  const settings = loadSettings({ MCP_BRIDGE_STATE_DIR: folder });
  await expect(createBridge(settings, silentLogger, { client: () => 'a client' })).rejects.toThrow('no sources');
  expect([joined, left, closed].map(({ mock }) => mock.calls.length)).toEqual([1, 1, 1]);
});
