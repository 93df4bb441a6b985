// Tags: full, docker-release
/** What office tasks need, with the real packages of an index: PDF, Word, Excel and calendars are made, read and shown. */
import { randomUUID } from 'node:crypto';
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type BridgeClient, startBridge } from '../support/bridge-client.ts';
import { coverEngines, coverPackageEngines } from '../support/covered-engines.ts';

const covered = await coverEngines();
const engines = await coverPackageEngines(covered);
// It takes wheels only from an index with metadata files, which not every one has.
const embedded = covered.filter(({ name }) => name === 'embedded');

const MAKE_PDF = `
import io
from reportlab.pdfgen.canvas import Canvas
file = io.BytesIO()
canvas = Canvas(file)
for number in range(1, 6):
    canvas.drawString(72, 700, f"This is page {number}")
    canvas.showPage()
canvas.save()
`;

const MAKE_OTHERS = `
from datetime import date
import docx, icalendar, openpyxl
document = docx.Document()
document.add_heading("Report", 0)
document.add_paragraph("in short", style="List Bullet")
table = document.add_table(1, 2)
table.cell(0, 0).text, table.cell(0, 1).text = "North", "12"
word = io.BytesIO()
document.save(word)
book = openpyxl.Workbook()
book.active.title = "Sales"
for row in range(9):
    book.active.append([row, f"=A{row + 1}*2", date(2026, 1, 2)])
book.create_sheet("Empty")
book.save("/tmp/book.xlsx")
calendar = icalendar.Calendar.from_ical("BEGIN:VCALENDAR\\nBEGIN:VEVENT\\nSUMMARY:Lunch\\nEND:VEVENT\\nEND:VCALENDAR")
str(calendar.walk("VEVENT")[0]["SUMMARY"])
`;

describe.each([...engines, ...embedded])('documents on $label', (engine) => {
  const isEmbedded = engine.name === 'embedded';
  const store = `bridge-test-documents-${randomUUID().slice(0, 8)}`;
  let bridge: BridgeClient;
  beforeAll(async () => {
    const packages = {
      MCP_BRIDGE_PACKAGES: 'common',
      MCP_BRIDGE_PACKAGES_STORE: store,
      MCP_BRIDGE_PACKAGES_MIN_AGE: '0',
    };
    bridge = await startBridge({ engine, env: { ...packages, MCP_BRIDGE_TIMEOUT: '120' } });
  });
  afterAll(async () => {
    await bridge.close();
    if (engine.isContainer) {
      await engine.run('volume', 'rm', '--force', store);
    } else {
      rmSync(join('/var/lib/mcp-server-code-execution-mode', store), { recursive: true, force: true });
    }
  });

  async function run(code: string) {
    const { content } = await bridge.client.callTool({ name: 'run_python', arguments: { code, timeout: 110 } });
    const first = content[0];
    return {
      text: first?.type === 'text' ? first.text : '',
      pictures: content.filter(({ type }) => type === 'image').length,
    };
  }

  it('shows the text of a PDF, or what would', async () => {
    const made = await run(isEmbedded ? 'pdf = b"%PDF-1.4"' : `${MAKE_PDF}\npdf = file.getvalue()`);
    expect(made.text).not.toContain('Error');
    expect((await run('display(pdf)')).text).toMatch(
      /^\[PDF, [\d,]+ bytes, not shown: with \w+, display shows its \w+: await runtime\.install\('\w+'\)\]$/,
    );
    if (isEmbedded) {
      return;
    }
    const { pictures, text } = await run('import pypdf\ndisplay(pdf)');
    expect(text).toMatch(/^PDF, [\d,]+ bytes, 5 pages, text of the first 3:\n--- page 1\nThis is page 1\n/);
    expect(text).toMatch(/--- page 3\nThis is page 3$/);
    expect(pictures).toBe(0);
  });

  it.runIf(!isEmbedded)('shows the first pages of a PDF as pictures, also without Pillow', async () => {
    const { pictures, text } = await run(
      'import pypdfium2, sys\nsys.modules["PIL"] = None\ndisplay(file)\ndel sys.modules["PIL"]',
    );
    expect(text).toMatch(/^PDF, [\d,]+ bytes, 5 pages, the first 3:\n(\[\d: image\/png 778×1100\]\n?){3}$/);
    expect(pictures).toBe(3);
  });

  it.runIf(!isEmbedded)('makes and shows Word documents and workbooks, and reads calendars', async () => {
    expect((await run(MAKE_OTHERS)).text).toBe("'Lunch'");
    expect((await run('display(word)')).text).toMatch(
      /^Word document, [\d,]+ bytes:\n# Report\n- in short\n\| North \| 12 \|$/,
    );
    const { text } = await run('from pathlib import Path\ndisplay(Path("/tmp/book.xlsx"))');
    const rows = [0, 1, 2, 3, 4].map((row) => `  ${row} | =A${row + 1}*2 | 2026-01-02 00:00:00`);
    const sheets = [`'Sales': 9 rows × 3 columns`, ...rows, '  … 4 more rows', "'Empty': 1 row × 1 column"];
    expect(text.replace(/[\d,]+ bytes/, 'N bytes')).toBe(['workbook, N bytes, 2 sheets:', ...sheets].join('\n'));
  });

  it('prints no bytes raw', async () => {
    const { text } = await run('display(bytes(range(256)) * 400, b"a,b")');
    expect(text).toBe("[102,400 bytes: 00 01 02 03 04 05 06 07 08 09 0a 0b 0c 0d 0e 0f …]\n[text, 3 bytes: 'a,b']");
  });
});
