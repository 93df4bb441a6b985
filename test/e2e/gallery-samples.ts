/** One cell per kind of value, and what a client must get for it. */

export interface Sample {
  readonly title: string;
  readonly code: string;
  /** The expected text block. */
  readonly text: RegExp;
  /** The blocks after it, in short. */
  readonly blocks: readonly string[];
  /** Servers that it loads. */
  readonly servers?: readonly string[];
}

/** What the server `files` has. */
export const SALES_CSV = 'region,month,units\nnorth,Jan,3\nsouth,Jan,4\nnorth,Feb,5\nsouth,Feb,6\n';

const IMAGE = 'image image/png in size';

export const SAMPLES: readonly Sample[] = [
  {
    title: 'A table',
    code: `import pandas as pd
sales = pd.DataFrame({"month": pd.date_range("2026-01-01", periods=400).strftime("%d %b"),
                      "units": range(400), "note": ["a long remark " * 10] * 400})
sales`,
    text: /^DataFrame, 400 rows × 3 columns \(\w+, int64, \w+\)\n[\s\S]*01 Jan +0 +a long remark[\s\S]*\.\.\.\n[\s\S]*399/,
    blocks: [],
  },
  {
    title: 'A column',
    code: 'sales["units"]',
    text: /^0 +0\n[\s\S]*\n399 +399\nName: units, Length: 400, dtype: int64$/,
    blocks: [],
  },
  {
    title: 'A large array',
    code: `import numpy as np
np.arange(1_000_000).reshape(1000, 1000)`,
    text: /^array\(\[\[[\s\S]*shape=\(1000, 1000\)\)$/,
    blocks: [],
  },
  {
    title: 'A small array',
    code: 'np.eye(2)',
    text: /^array\(\[\[1\., 0\.\],\n {7}\[0\., 1\.\]\]\)$/,
    blocks: [],
  },
  {
    title: 'A figure that the cell leaves open',
    code: `import matplotlib.pyplot as plt
plt.plot(sales["units"][:50] ** 2)
plt.title("Units sold, squared")
print("plotted")`,
    text: /^plotted\n\[1: image\/png \d+×\d+: Units sold, squared\]$/,
    blocks: [IMAGE],
  },
  {
    title: 'A figure as the last expression, shown once',
    code: `figure, axes = plt.subplots(figsize=(30, 10), dpi=200)
axes.bar(["a", "b", "c"], [3, 1, 2])
figure`,
    text: /^\[1: image\/png \d+×\d+\]$/,
    blocks: [IMAGE],
  },
  {
    title: 'No figure is left over',
    code: 'plt.get_fignums()',
    text: /^\[\]$/,
    blocks: [],
  },
  {
    title: 'An image, scaled down',
    code: `from PIL import Image
picture = Image.radial_gradient("L").resize((4000, 3000))
picture`,
    text: /^\[1: image\/png 1568×1176\]$/,
    blocks: [IMAGE],
  },
  {
    title: 'Several values in the order of the text',
    code: `thumbnail = picture.resize((80, 60))
print("before")
display(thumbnail, {"and": "a dict"}, thumbnail, alt="a light spot")
print("after")`,
    text: /^before\n\[1: image\/png 80×60: a light spot\]\n\{'and': 'a dict'\}\n\[2: image\/png 80×60: a light spot\]\nafter$/,
    blocks: [IMAGE, IMAGE],
  },
  {
    title: 'The bytes of a large PNG',
    code: `import io
buffer = io.BytesIO()
Image.effect_noise((1200, 1200), 100).save(buffer, "PNG")
print(len(buffer.getvalue()) > 1_048_576)
display(buffer.getvalue())`,
    text: /^True\n\[1: image\/jpeg 1200×1200\]$/,
    blocks: ['image image/jpeg'],
  },
  {
    title: 'A damaged image',
    code: 'display(buffer.getvalue()[:5000])\nprint("the rest is there")',
    text: /^\[bytes, not shown: the image is damaged; .* keeps it as a file\]\nthe rest is there$/,
    blocks: [],
  },
  {
    title: 'HTML and SVG',
    code: `class Chart:
    def _repr_svg_(self):
        return '<svg xmlns="http://www.w3.org/2000/svg"><circle r="9"/></svg>'
class Page:
    def _repr_html_(self):
        return "<h1>Sales</h1>"
display(Chart())
Page()`,
    text: /^\[1: image\/svg\+xml 61 characters\]\n\[2: text\/html 14 characters\]$/,
    blocks: ['resource image/svg+xml', 'resource text/html'],
  },
  {
    title: 'A file that is kept',
    code: 'runtime.save_artifact("sales.csv", sales.to_csv(index=False))["size"] > 1000',
    text: /^True$/,
    blocks: ['resource_link artifact:///default/sales.csv'],
  },
  {
    title: 'A table from a server, a chart of it, and a workbook',
    code: `import io
units = pd.read_csv(io.StringIO(await mcp_files.read_text_file(path="sales.csv")))
totals = units.groupby("region")["units"].sum()
totals.plot.bar(title="Units by region", figsize=(4, 3))
plt.show()
with runtime.open_artifact("totals.xlsx", "wb") as file:
    totals.to_frame().to_excel(file)
totals`,
    text: /^\[1: image\/png \d+×\d+: Units by region\]\nregion\nnorth +8\nsouth +10\nName: units, dtype: int64/,
    blocks: [IMAGE, 'resource_link artifact:///default/totals.xlsx'],
    servers: ['files'],
  },
];
