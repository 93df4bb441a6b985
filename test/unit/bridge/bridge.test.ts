/** Making a bridge: what is open if a part of it cannot be made. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it, onTestFinished, vi } from 'vitest';
import { createBridge } from '../../../src/app/bridge/bridge.ts';
import { silentLogger } from '../../../src/core/base/log.ts';
import { readKernelSources } from '../../../src/core/session/boot.ts';
import { loadSettings } from '../../../src/edges/settings/settings.ts';
import { AuditTrail } from '../../../src/record/audit/trail.ts';
import { LiveHub } from '../../../src/record/live/index.ts';

vi.mock('../../../src/core/session/boot.ts', { spy: true });

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
