// Tags: full, docker-release
/** Data in and out, as an agent works with it: a table from a server, a chart for the model, a workbook for the user. */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type BridgeClient, packageServer, startBridge } from '../support/bridge-client.ts';
import { coverContainerEngines } from '../support/covered-engines.ts';
import { TEST_IMAGES } from '../support/engines.ts';

const engines = await coverContainerEngines();

const SALES = 'region,month,units\nnorth,Jan,3\nsouth,Jan,4\nnorth,Feb,5\nsouth,Feb,6\n';

const REPORT = `
import io, pandas as pd, matplotlib.pyplot as plt
text = await mcp_files.read_text_file(path="sales.csv")
sales = pd.read_csv(io.StringIO(text))
totals = sales.groupby("region")["units"].sum()
totals.plot.bar(title="Units by region")
plt.show()
with runtime.open_artifact("totals.xlsx", "wb") as file:
    totals.to_frame().to_excel(file)
totals.to_dict()
`;

const READ_BACK = `
with runtime.open_artifact("totals.xlsx") as file:
    print(pd.read_excel(file).to_dict("list"))
with runtime.open_artifact("totals.csv", "w") as file:
    totals.to_csv(file)
print(runtime.load_artifact("totals.csv"))
from PIL import Image
picture = Image.open(io.BytesIO((await mcp_files.read_media_file(path="dot.png")).data))
picture.size
`;

const DOT = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';

describe.each(engines)('data on $label', (engine) => {
  let bridge: BridgeClient;
  beforeAll(async () => {
    bridge = await startBridge({
      engine,
      env: { MCP_BRIDGE_IMAGE: TEST_IMAGES.datascience, MCP_BRIDGE_TIMEOUT: '120' },
      servers: (folder) => {
        writeFileSync(join(folder, 'sales.csv'), SALES);
        writeFileSync(join(folder, 'dot.png'), Buffer.from(DOT, 'base64'));
        return { files: { ...packageServer('@modelcontextprotocol/server-filesystem', [folder]), cwd: folder } };
      },
    });
  });
  afterAll(async () => bridge.close());

  it('comes from a server as a table, and leaves as a chart and a workbook', async () => {
    const args = { code: REPORT, servers: ['files'] };
    const result = await bridge.client.callTool({ name: 'run_python', arguments: args });
    const kinds = result.content.map(({ type }) => type);
    const text = JSON.stringify(result.content.filter(({ type }) => type === 'text'));
    expect(text).toContain("{'north': 8, 'south': 10}");
    expect(text).not.toContain('Warning');
    expect(kinds.filter((type) => type === 'image')).toHaveLength(1);
    expect(kinds).toContain('resource_link');
    const saved = readFileSync(join(bridge.folder, 'artifacts', 'default', 'totals.xlsx'));
    // A workbook is a ZIP archive.
    expect(saved.subarray(0, 2).toString()).toBe('PK');
  });

  it('is read from artifacts and pictures without detours', async () => {
    const { text } = await bridge.runPython(READ_BACK, { servers: ['files'] });
    expect(text).toContain("{'region': ['north', 'south'], 'units': [8, 10]}");
    expect(text).toContain("b'region,units\\nnorth,8\\nsouth,10\\n'");
    expect(text).toContain('(1, 1)');
  });

  it('stays bounded when a large table is printed', async () => {
    const code =
      'import numpy as np\nlarge = pd.DataFrame(np.zeros((1_000_000, 60), dtype="int8"))\nprint(large)\nlarge';
    const { text } = await bridge.runPython(code);
    expect(text).toContain('DataFrame, 1,000,000 rows × 60 columns');
    expect(text.length).toBeLessThan(20_000);
  });
});
