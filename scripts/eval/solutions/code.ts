/** Reference solutions as code: one cell for each task, as a capable model would write it. The last line shows the answer. */

export interface CodeSolution {
  readonly servers: readonly string[];
  readonly code: string;
}

const READ = `import asyncio, json, re
fs = mcp_filesystem
async def read(*paths):
    return await asyncio.gather(*[fs.read_text_file(path=path) for path in paths])
async def find(folder, pattern):
    found = await fs.search_files(path=folder, pattern=pattern)
    return sorted(path.replace("\\\\", "/") for path in found.splitlines())
`;

const files = (code: string, ...more: string[]): CodeSolution => ({
  servers: ['filesystem', ...more],
  code: READ + code,
});

const SQL = `import json
async def sql(text):
    result = await mcp_database.execute_sql(sql=text)
    result = json.loads(result) if isinstance(result, str) else result
    return [row for statement in result["data"]["statements"] for row in statement["rows"]]
`;

const database = (code: string): CodeSolution => ({ servers: ['database'], code: SQL + code });

const CODE_SOLUTIONS: Readonly<Record<string, (shop: string, folder: string) => CodeSolution>> = {
  contact: () => files('[text] = await read("contacts.md")\nprint(re.search(r"Ines Okafor: (.*)", text)[1])'),
  journal: () =>
    files(`[text] = await read("house/journal.md")
await fs.write_file(path="house/journal.md", content=text + "- 2026-11-23: boiler serviced\\n")
print("done")`),
  'payment-errors': () =>
    files(`texts = await read(*await find("logs", "*.log"))
rows = [line.split(" ", 3) for text in texts for line in text.splitlines()]
print(sum(row[1] == "ERROR" and "payment" in row[3] for row in rows))`),
  'top-clients': () =>
    files(`from collections import Counter
[text] = await read("web/access.log")
total = Counter()
for fields in map(str.split, text.splitlines()):
    if fields[-2] == "200":
        total[fields[0]] += int(fields[-1])
print(", ".join(f"{address} {size}" for address, size in total.most_common(3)))`),
  'raise-timeouts': () =>
    files(`paths = await find("services", "**/config.json")
for path, text in zip(paths, await read(*paths)):
    if json.loads(text)["tier"] == "gold":
        changed = re.sub(r'("timeout_seconds": )\\d+', r"\\g<1>45", text)
        await fs.write_file(path=path, content=changed)
print("done")`),
  'rename-page': () =>
    files(`await fs.move_file(source="manual/setup.md", destination="manual/install.md")
paths = await find("manual", "**/*.md")
for path, text in zip(paths, await read(*paths)):
    changed = re.sub(r"(\\]\\((?:\\.\\./)?)setup\\.md", r"\\1install.md", text)
    if changed != text:
        await fs.write_file(path=path, content=changed)
print("done")`),
  'add-headers': () =>
    files(`header = "# Copyright 2026 The Library Authors\\n"
paths = await find("library", "**/*.py")
for path, text in zip(paths, await read(*paths)):
    if header not in text:
        first, rest = text.split("\\n", 1) if text.startswith("#!") else (None, text)
        await fs.write_file(path=path, content=(first + "\\n" if first else "") + header + rest)
print("done")`),
  'clean-sales': () =>
    files(`[text] = await read("sales/sales.csv")
seen, cents, skipped = set(), {}, 0
for row in text.splitlines()[1:]:
    id, date, amount = row.split(",", 2)
    if id in seen or not re.fullmatch(r"\\d+\\.\\d\\d", amount):
        skipped += 1
        continue
    seen.add(id)
    cents[date[:7]] = cents.get(date[:7], 0) + int(amount.replace(".", ""))
report = {"months": {month: total / 100 for month, total in cents.items()}, "skipped": skipped}
await fs.write_file(path="sales/report.json", content=json.dumps(report))
print("done")`),
  reconcile: () =>
    files(`paths = await find("invoices", "INV-*.txt")
[ledger] = await read("invoices/ledger.csv")
booked = dict(line.split(",") for line in ledger.splitlines()[1:])
totals = {}
for path, text in zip(paths, await read(*paths)):
    found = re.search(r"Total: ([\\d.]+) EUR", text)
    totals[re.search(r"INV-\\d+", path)[0]] = found and found[1]
def problem(id):
    if id not in totals:
        return "missing"
    if id not in booked:
        return "unbooked"
    if totals[id] is None:
        return "unreadable"
    return None if float(totals[id]) == float(booked[id]) else "amount"
rows = [(id, problem(id)) for id in sorted(booked.keys() | totals.keys())]
lines = ["invoice,problem"] + [f"{id},{what}" for id, what in rows if what]
await fs.write_file(path="invoices/result.csv", content="\\n".join(lines) + "\\n")
print("done")`),
  averages: () =>
    files(`[stations] = await read("weather/stations.txt")
lines = ["station,average"]
for station in stations.split():
    try:
        [text] = await read(f"weather/readings/{station}.txt")
    except runtime.MCPError:
        text = ""
    tenths = [round(float(value) * 10) for value in text.split()]
    lines.append(f"{station},{sum(tenths) // len(tenths) / 10:.1f}" if tenths else f"{station},no data")
await fs.write_file(path="weather/averages.csv", content="\\n".join(lines) + "\\n")
print("done")`),
  'best-customer': () =>
    database(`[best] = await sql("""SELECT name FROM customers JOIN orders ON customer_id = customers.id
  WHERE state = 'paid' AND day LIKE '2025%' GROUP BY name ORDER BY sum(amount_cents) DESC LIMIT 1""")
print(best["name"])`),
  'export-quarter': () => ({
    servers: ['database', 'filesystem'],
    code: `${SQL}
rows = await sql("SELECT * FROM orders WHERE day BETWEEN '2026-07-01' AND '2026-09-30' ORDER BY id")
regions = [row["region"] for row in await sql("SELECT DISTINCT region FROM orders")]
await mcp_filesystem.create_directory(path="exports")
for region in regions:
    lines = [f"{row['id']},{row['day']},{row['amount_cents']}" for row in rows if row["region"] == region]
    await mcp_filesystem.write_file(path=f"exports/{region}.csv", content="\\n".join(["id,day,amount_cents", *lines]) + "\\n")
print("done")`,
  }),
  restock: () => ({
    servers: ['database', 'filesystem'],
    code: `${SQL}
text = await mcp_filesystem.read_text_file(path="warehouse/delivery.csv")
known = {row["sku"] for row in await sql("SELECT sku FROM parts")}
unknown = set()
for sku, quantity in (line.split(";") for line in text.splitlines()[1:]):
    if sku in known:
        await sql(f"UPDATE parts SET quantity = quantity + {int(quantity)} WHERE sku = '{sku}'")
    else:
        unknown.add(sku)
await mcp_filesystem.write_file(path="warehouse/unknown.txt", content="\\n".join(sorted(unknown)) + "\\n")
print("done")`,
  }),
  'find-commit': (_shop, folder) => ({
    servers: ['git'],
    code: `repo = ${JSON.stringify(`${folder}/repos/gateway`)}
commits = (await mcp_git.git_log(path=repo, maxCount=1000)).commits
for newer, older in zip(commits, commits[1:]):
    shown = await mcp_git.git_show(path=repo, object=newer.hash)
    if "+request_limit = 100\\n" in shown.content:
        print(newer.hash)`,
  }),
  release: (_shop, folder) =>
    files(
      `repo = ${JSON.stringify(`${folder}/repos/suite`)}
await mcp_git.git_checkout(path=repo, target="release/2.4.0", createBranch=True)
paths = await find("repos/suite/packages", "**/package.json")
for path, text in zip(paths, await read(*paths)):
    changed = re.sub(r'("(?:version|core)": )"2\\.3\\.1"', r'\\1"2.4.0"', text)
    await fs.write_file(path=path, content=changed)
await mcp_git.git_add(path=repo, all=True)
await mcp_git.git_commit(path=repo, message="Release 2.4.0")
print("done")`,
      'git',
    ),
  'merged-branches': (_shop, folder) => ({
    servers: ['git'],
    code: `repo = ${JSON.stringify(`${folder}/repos/site`)}
main = {commit.hash for commit in (await mcp_git.git_log(path=repo, maxCount=1000)).commits}
for branch in (await mcp_git.git_branch(path=repo)).branches:
    if branch.name != "main" and branch.commitHash in main:
        await mcp_git.git_branch(path=repo, mode="delete", branchName=branch.name)
print("done")`,
  }),
  'store-people': () =>
    files(
      `entities, relations = [], []
for text in await read(*await find("people", "*.md")):
    name = re.match(r"# (.*)", text)[1]
    facts = dict(re.findall(r"^(.*): (.*)$", text, re.M))
    observations = [f"role: {facts['Role']}", f"team: {facts['Team']}"]
    entities.append({"name": name, "entityType": "person", "observations": observations})
    if "Reports to" in facts:
        relations.append({"from": name, "to": facts["Reports to"], "relationType": "reports_to"})
await mcp_memory.create_entities(entities=entities)
await mcp_memory.create_relations(relations=relations)
print("done")`,
      'memory',
    ),
  'affected-systems': () => ({
    servers: ['memory'],
    code: `graph = await mcp_memory.read_graph()
uses = [(r["from"], r["to"]) for r in graph.relations if r["relationType"] == "uses"]
hit, size = {"system-03"}, 0
while size < len(hit):
    size = len(hit)
    hit |= {user for user, used in uses if used in hit}
print(", ".join(sorted(hit - {"system-03"})))`,
  }),
};

/** How code reads a page and orders, in a browser or over HTTP. */
const BROWSER = (shop: string): string => `import asyncio, json, re
async def page(path):
    await mcp_browser.browser_navigate(url="${shop}" + path)
    answer = await mcp_browser.browser_evaluate(function="() => document.body.innerHTML")
    return answer.replace('\\\\"', '"')
async def order(sku, coupon):
    await page("/product/" + sku)
    for field, value in (("quantity", "2"), ("customer", "Mara Lindqvist"), ("coupon", coupon)):
        await mcp_browser.browser_type(target="#" + field, text=value)
    await mcp_browser.browser_click(target="#order")
    return await mcp_browser.browser_evaluate(function="() => document.body.innerText")
`;
const WEB = (shop: string): string => `import asyncio, json, re
from urllib.parse import urlencode
async def curl(**given):
    answer = await mcp_web.curl(**given)
    return (json.loads(answer) if isinstance(answer, str) else answer)["body"]
async def page(path):
    return await curl(url="${shop}" + path)
async def order(sku, coupon):
    form = {"sku": sku, "quantity": 2, "customer": "Mara Lindqvist", "coupon": coupon}
    kind = {"content-type": "application/x-www-form-urlencoded"}
    return await curl(url="${shop}/order", method="POST", headers=kind, body=urlencode(form))
`;
const PRODUCTS = `products = []
for number in range(1, 7):
    text = await page(f"/products?page={number}")
    products += re.findall(r"<td>(P\\d+)</td><td><a[^>]*>([^<]*)</a></td><td>([\\d.]+) EUR", text)
`;

const SHOP_CODE: Readonly<Record<string, string>> = {
  'order-lamps': `coupon = re.search(r"coupon code <b>(.*?)</b>", await page("/offers"))[1]
lamps = sorted((float(price), sku) for sku, name, price in products if name.endswith("desk lamp"))
for price, sku in lamps:
    if "In stock" in await page("/product/" + sku):
        break
print(re.search(r"C-[0-9A-F]{8}", await order(sku, coupon))[0])`,
  'compare-prices': `listed = await mcp_filesystem.read_text_file(path="shop/prices.csv")
prices = dict(line.split(",") for line in listed.splitlines()[1:])
print(", ".join(sku for sku, name, price in products if prices[sku] != price))`,
};

/** The cell for a task. */
export function codeSolution(id: string, { shop, folder, hasBrowser }: SolutionContext): CodeSolution {
  const code = SHOP_CODE[id];
  if (code !== undefined) {
    const way = hasBrowser ? BROWSER(shop) : WEB(shop);
    return { servers: [hasBrowser ? 'browser' : 'web', 'filesystem'], code: way + PRODUCTS + code };
  }
  const solution = CODE_SOLUTIONS[id];
  if (solution === undefined) {
    throw new Error(`There is no solution for the task ${id}.`);
  }
  return solution(shop, folder);
}

export interface SolutionContext {
  readonly shop: string;
  /** The folder of the filesystem server. */
  readonly folder: string;
  readonly hasBrowser: boolean;
}
