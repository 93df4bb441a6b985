// Tags: full, bubblewrap, docker-release
/** Sandboxes started ahead that have imported what earlier sessions of the same client did. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { type BridgeClient, startBridge } from '../support/bridge-client.ts';
import { coverEngines } from '../support/covered-engines.ts';
import { TEST_IMAGES } from '../support/engines.ts';
import { PATIENCE } from '../support/patience.ts';

/** A session that comes too early ends the imports of its sandbox, so each attempt leaves the next one some time. */
const READY = { timeout: 120_000 * PATIENCE, interval: 4_000 };

/** The embedded engine brings no modules. */
const engines = (await coverEngines()).filter(({ runsCommands }) => runsCommands);

describe.each(engines)('imports of a sandbox started ahead on $label', (engine) => {
  // The host's Python, from Debian, has this one.
  const module = engine.isContainer ? 'pandas' : 'yaml';

  function newState(): string {
    const folder = mkdtempSync(join(tmpdir(), 'bridge-imports-'));
    onTestFinished(() => rmSync(folder, { recursive: true, force: true, maxRetries: 5 }));
    return folder;
  }

  async function withBridge(
    state: string,
    mode: string | undefined,
    use: (bridge: BridgeClient) => Promise<void>,
  ): Promise<void> {
    const bridge = await startBridge({
      engine,
      env: {
        MCP_BRIDGE_STATE_DIR: state,
        MCP_BRIDGE_IMAGE: TEST_IMAGES.datascience,
        MCP_BRIDGE_PREWARM: '1',
        ...(mode !== undefined && { MCP_BRIDGE_PREWARM_IMPORTS: mode }),
      },
    });
    try {
      await bridge.client.listTools();
      await use(bridge);
    } finally {
      await bridge.close();
    }
  }

  /** Opens sessions until the sandbox of one has imported these modules before any of its cells did. Returns its name. */
  async function expectImported(bridge: BridgeClient, ...modules: readonly string[]): Promise<string> {
    let session = '';
    let attempts = 0;
    const code = `import sys\n{*${JSON.stringify(modules)}} <= {*sys.modules}`;
    const attempt = async (): Promise<string> => {
      session = `attempt-${(attempts += 1)}`;
      return (await bridge.runPython(code, { session })).text;
    };
    await expect.poll(attempt, READY).toContain('True');
    return session;
  }

  it('are what a session of the last run imported, and work as if its own code had', async () => {
    const state = newState();
    await withBridge(state, undefined, async (bridge) => {
      await bridge.runPython(`import ${module}${engine.isContainer ? '\nimport matplotlib.pyplot as plt' : ''}`);
    });
    await withBridge(state, undefined, async (bridge) => {
      const session = await expectImported(bridge, module, ...(engine.isContainer ? ['matplotlib.pyplot'] : []));
      if (!engine.isContainer) {
        expect((await bridge.runPython('import yaml\nyaml.safe_load("a: [1]")', { session })).text).toBe("{'a': [1]}");
        return;
      }
      const table = 'import pandas as pd\nprint(pd.DataFrame({"a": [1, 2]}).a.sum())';
      expect((await bridge.runPython(table, { session })).text).toBe('3');
      const chart =
        'import matplotlib.pyplot as plt\nplt.plot([1, 2]); plt.title("one"); plt.show()\nplt.get_fignums()';
      expect((await bridge.runPython(chart, { session })).text).toMatch(/^\[1: image\/png [^\]]*: one\]\n\[\]$/);
      // Restored by a sandbox that has imported the same.
      await bridge.runPython('frame = pd.DataFrame({"a": [5]})\nruntime.checkpoint("here")', { session });
      await bridge.runPython('frame = None\nruntime.restore("here")', { session });
      expect((await bridge.runPython('frame.a.sum().item(), pd.__name__', { session })).text).toContain(
        "(5, 'pandas')",
      );
    });
  });

  it('are those of a session in the same run, for the next one', async () => {
    await withBridge(newState(), undefined, async (bridge) => {
      await bridge.runPython(`import ${module}`);
      await expectImported(bridge, module);
    });
  });

  it('are what the setting names, except for what is missing', async () => {
    await withBridge(newState(), 'no_such_module,wsgiref.util', async (bridge) => {
      await expectImported(bridge, 'wsgiref.util');
    });
  });
});
