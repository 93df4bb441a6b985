// Tags: full, docker-release
/** Charts as agents draw them: `plt.show()` shows each figure where it is called, and once. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type BridgeClient, startBridge } from '../support/bridge-client.ts';
import { coverContainerEngines } from '../support/covered-engines.ts';
import { TEST_IMAGES } from '../support/engines.ts';

const engines = await coverContainerEngines();

const IMAGE = /\[(\d+): image\/png [^\]:]*: ([^\]]*)\]/g;

describe.each(engines)('charts on $label', (engine) => {
  let bridge: BridgeClient;
  beforeAll(async () => {
    bridge = await startBridge({ engine, env: { MCP_BRIDGE_IMAGE: TEST_IMAGES.datascience } });
    await run('import matplotlib.pyplot as plt');
  });
  afterAll(async () => bridge.close());

  /** The text of a cell, and the titles of its images. */
  async function run(code: string) {
    const args = { code, timeout: 60 };
    const result = await bridge.client.callTool({ name: 'run_python', arguments: args });
    const first = result.content[0];
    const text = first?.type === 'text' ? first.text : '';
    const titles = [...text.matchAll(IMAGE)].map(([, , title]) => title);
    expect(result.content.filter(({ type }) => type === 'image')).toHaveLength(titles.length);
    return { text, titles };
  }

  it('are shown in order by plt.show(), which closes them', async () => {
    // The second chart was drawn into the first one, and both were shown as one at the end.
    const { text } = await run(
      'plt.plot([1, 2]); plt.title("one"); plt.show()\nprint("between", plt.get_fignums())\nplt.plot([3, 2]); plt.title("two"); plt.show()',
    );
    expect(text.replaceAll(/ \d+×\d+/g, '')).toBe('[1: image/png: one]\nbetween []\n[2: image/png: two]');
  });

  it('are shown once, also if they are the value of the cell', async () => {
    expect((await run('fig, ax = plt.subplots(); ax.set_title("once"); plt.show()\nfig')).titles).toEqual(['once']);
    expect((await run('fig, ax = plt.subplots(); ax.set_title("once"); fig.show()\nfig')).titles).toEqual(['once']);
    expect((await run('fig, ax = plt.subplots(); ax.set_title("once")\nplt.show()\nplt.show()')).titles).toEqual([
      'once',
    ]);
    const changed = 'fig, ax = plt.subplots(); ax.set_title("old"); plt.show()\nax.set_title("new"); fig';
    expect((await run(changed)).titles).toEqual(['old', 'new']);
  });

  it('are all shown if many are made in a loop, with any backend', async () => {
    const code =
      'import matplotlib\nmatplotlib.use("Agg")\nfor n in range(6):\n    plt.figure(figsize=(1, 1)); plt.title(n); plt.show()';
    expect((await run(code)).titles).toEqual(['0', '1', '2', '3', '4', '5']);
  });

  it('warn once about characters and fonts that are missing', async () => {
    const code =
      'plt.rcParams["font.family"] = ["Nowhere", "DejaVu Sans"]\nfor title in ("日本", "中文"):\n    plt.title(title); plt.xlabel("x"); plt.show()';
    const { text } = await run(code);
    expect(text.match(/missing from/g)).toHaveLength(1);
    expect(text.match(/'Nowhere' not found/g)).toHaveLength(1);
    expect(text).not.toContain('bridge_kernel');
    expect((await run(code)).text).not.toMatch(/missing from|not found/);
  });
});
