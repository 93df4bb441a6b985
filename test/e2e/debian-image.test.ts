// Tags: full, docker-release
/**
 * An image of Debian packages, made without a registry as docs/packages.md says: `.ci/build-images.sh` makes the one of the tests in
 * the same way, of the same packages.
 */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type BridgeClient, ROOT, startBridge } from '../support/bridge-client.ts';
import { coverContainerEngines } from '../support/covered-engines.ts';
import { readFences } from '../support/documented-samples.ts';
import { TEST_IMAGES } from '../support/engines.ts';

const engines = await coverContainerEngines();

it('is documented with the packages of the image that is tested', () => {
  const [sample = ''] = readFences('docs/packages.md', 'sh');
  const script = readFileSync(join(ROOT, '.ci', 'build-images.sh'), 'utf8');
  const packagesIn = (text: string) => text.match(/\bpython3-[a-z]+/g)?.toSorted() ?? [];
  const ofScript = script.split('\n').filter((line) => line.startsWith('DATASCIENCE_PACKAGES'));
  expect(packagesIn(sample)).toEqual(packagesIn(ofScript.join('\n')));
  expect(packagesIn(sample)).toContain('python3-sklearn');
  for (const part of ['--variant=apt', '--include=', 'mmdebstrap ', ' import ']) {
    expect([sample, script].filter((text) => !text.includes(part))).toEqual([]);
  }
});

const ANALYSIS = `
import matplotlib.pyplot as plt, numpy as np, pandas as pd
from scipy import stats
from sklearn.linear_model import LinearRegression
sales = pd.DataFrame({"month": range(1, 13), "sold": [2 * month + 1 for month in range(1, 13)]})
model = LinearRegression().fit(sales[["month"]], sales["sold"])
line = stats.linregress(sales["month"], sales["sold"])
sales.plot(x="month", y="sold", title="sales")
print(round(float(model.coef_[0]), 6), round(float(line.rvalue), 6), int(sales.groupby(sales["month"] % 2)["sold"].sum().loc[1]))
`;

const OFFICE = `
import io
import docx, icalendar, openpyxl, pypdf
from reportlab.pdfgen.canvas import Canvas
file, word, book = io.BytesIO(), io.BytesIO(), io.BytesIO()
canvas = Canvas(file)
canvas.drawString(72, 700, "Invoice 7")
canvas.save()
document = docx.Document()
document.add_paragraph("Dear reader")
document.save(word)
workbook = openpyxl.Workbook()
workbook.active.append(["a", 1])
workbook.save(book)
display(file, word, book)
print(len(icalendar.Calendar().to_ical()) > 0)
`;

describe.each(engines)('an image of Debian packages on $label', (engine) => {
  let bridge: BridgeClient;
  beforeAll(async () => {
    bridge = await startBridge({
      engine,
      env: { MCP_BRIDGE_IMAGE: TEST_IMAGES.datascience, MCP_BRIDGE_PACKAGES: 'off' },
    });
  });
  afterAll(async () => bridge.close());

  const run = async (code: string) => (await bridge.runPython(code, { timeout: '110' })).text;

  it('has pandas, SciPy, scikit-learn and matplotlib', async () => {
    expect(await run(ANALYSIS)).toMatch(/^2\.0 1\.0 78\n\[1: image\/png \d+×\d+: sales\]$/);
  });

  it('makes and shows documents', async () => {
    const said = (await run(OFFICE)).replaceAll(/[\d,]+ bytes/g, 'N bytes').split('\n');
    expect(said).toEqual([
      'PDF, N bytes, 1 page:',
      '--- page 1',
      'Invoice 7',
      'Word document, N bytes:',
      'Dear reader',
      'workbook, N bytes, 1 sheet:',
      "'Sheet': 1 row × 2 columns",
      '  a | 1',
      'True',
    ]);
  });
});
