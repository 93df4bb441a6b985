/** Reference solutions of the data suite, with pandas. Each is one cell; its last line prints the answer. */
import type { CodeSolution } from './code.ts';

const READ = `import io, json
import numpy as np, pandas as pd
async def csv(name, **options):
    return pd.read_csv(io.StringIO(await mcp_filesystem.read_text_file(path=name)), **options)
async def records(name):
    return pd.DataFrame(json.loads(await mcp_filesystem.read_text_file(path=name)))
async def book(name):
    sheets = pd.read_excel(io.BytesIO((await mcp_filesystem.read_media_file(path=name)).data), sheet_name=None)
    return sheets["exercise"].merge(sheets["physiological"], on="Man")
def first(values, count=1):
    print(", ".join(map(str, values[:count])))
`;

const GAPMINDER = 'd = await csv("gapminder.csv")\n';
const WIDE = GAPMINDER.concat('w = d.pivot(index="country", columns="year", values=["lifeExp", "gdpPercap"])\n');
const PENGUINS = 'd = await csv("penguins.csv")\n';
const RAW = 'r = await csv("penguins-raw.csv")\n';
const MACRO = 'd = await csv("macrodata.csv")\n';
const SEATTLE = 'd = await csv("seattle-weather.csv", parse_dates=["date"])\n';
const STOCKS = 'd = await csv("stocks.csv")\nd["date"] = pd.to_datetime(d.date, format="%b %d %Y")\n';
/** Longest run of true values in the column `flag`. */
const RUN = `runs = d[d.flag].groupby((~d.flag).cumsum()).date.agg(["size", "first"])
longest = runs.loc[runs["size"].idxmax()]
first([longest["size"], longest["first"].date()], 2)`;

const TABLE_CODE: Readonly<Record<string, string>> = {
  'penguin-filter': `${PENGUINS}print(((d.sex == "female") & (d.species == "Chinstrap")).sum())`,
  'penguin-mean': `${PENGUINS}print(round(d[(d.sex == "male") & (d.species == "Gentoo")].body_mass_g.mean(), 1))`,
  'penguin-missing': `${PENGUINS}print(d.isna().any(axis=1).sum())`,
  'penguin-share': `${PENGUINS}print(round(100 * d.sex.value_counts(normalize=True)["male"], 2))`,
  'penguin-pivot': `${PENGUINS}first(d.groupby(["island", "species", "year"]).size().idxmax(), 3)`,
  'penguin-ratio': `${PENGUINS}print((d.bill_length_mm / d.bill_depth_mm).groupby(d.species).median().idxmax())`,
  'penguin-duplicates': `${RAW}print((r.groupby(["Species", "Individual ID"]).size() > 1).sum())`,
  'penguin-week': `${RAW}print((pd.to_datetime(r["Date Egg"]).dt.isocalendar().week == 46).sum())`,
  'penguin-text': `${RAW}print(r.Comments.str.contains(r"\\bnot\\b", case=False, na=False).sum())`,
  'penguin-join': `${PENGUINS}${RAW}both = pd.concat([d, r["Delta 15 N (o/oo)"]], axis=1)
print(round(both.query("sex == 'female' and island == 'Biscoe'")["Delta 15 N (o/oo)"].mean(), 4))`,
  'life-top': `${GAPMINDER}print(d.query("year == 2007 and continent == 'Africa'").nlargest(1, "lifeExp").country.item())`,
  'life-share': `${GAPMINDER}s = d[d.year == 2007].groupby("continent")["pop"].sum()
print(round(100 * s["Asia"] / s.sum(), 2))`,
  'growth-top': `${WIDE}first((w["gdpPercap"][2007] / w["gdpPercap"][1952]).nlargest(3).index, 3)`,
  'life-drop': `${WIDE}print((w["lifeExp"][1992] < w["lifeExp"][1987]).sum())`,
  'life-correlation': `${GAPMINDER}y = d[d.year == 2007]
print(round(y.lifeExp.corr(np.log(y.gdpPercap)), 3))`,
  'life-slopes': `${GAPMINDER}print(d.groupby("country")[["year", "lifeExp"]].apply(lambda g: np.polyfit(g.year - 1980, g.lifeExp, 1)[0]).idxmax())`,
  'life-weighted': `${GAPMINDER}y = d.query("year == 2002 and continent == 'Europe'")
print(round(np.average(y.lifeExp, weights=y["pop"]), 3))`,
  'iris-spread': 'd = await csv("iris.csv")\nprint(d.groupby("class").sepal_width.std().idxmax())',
  'wine-median': 'd = await csv("wine.csv")\nprint(d.groupby("class").color_intensity.median()["class_2"])',
  'wine-correlation': `c = (await csv("wine.csv")).drop(columns="class").corr().abs().to_numpy(copy=True)
names = (await csv("wine.csv")).columns
np.fill_diagonal(c, 0)
first(sorted(names[at] for at in np.unravel_index(c.argmax(), c.shape)), 2)`,
  'cancer-wide':
    'm = (await csv("breast_cancer.csv")).groupby("class").mean()\nprint((m.loc["malignant"] > 2 * m.loc["benign"]).sum())',
  'digits-ink':
    'd = (await csv("digits.csv")).set_index("digit")\nprint(d.sum(axis=1).groupby(level=0).mean().idxmax())',
  'digits-constant': 'print(((await csv("digits.csv")).drop(columns="digit").nunique() == 1).sum())',
  'diabetes-regression': `d = await csv("diabetes.csv")
x = np.column_stack([np.ones(len(d)), d.bmi, d.bp])
print(round(np.linalg.lstsq(x, d.target, rcond=None)[0][1], 3))`,
  'diabetes-quantile': 'd = await csv("diabetes.csv")\nprint(round(d[d.bmi > d.bmi.quantile(0.9)].target.mean(), 2))',
  'workbook-join': 'd = await book("linnerud.xlsx")\nprint(round(d.Waist.corr(d.Situps), 3))',
  'workbook-filter': 'd = await book("linnerud.xlsx")\nprint(round(d[d.Jumps > 50].Weight.mean(), 2))',
  'unemployment-year': `${MACRO}print(int(d.groupby("year").unemp.mean().idxmax()))`,
  'gdp-quarter': `${MACRO}low = d.loc[d.realgdp.pct_change().idxmin()]\nprint(f"{low.year:.0f}Q{low.quarter:.0f}")`,
  'inflation-rolling': `${MACRO}print(round(d.infl.rolling(8).mean().max(), 3))`,
  'firms-correlation': `w = (await csv("grunfeld.csv")).pivot(index="year", columns="firm", values="invest")
print(round(w["General Motors"].corr(w["General Electric"]), 3))`,
  'firms-share': `d = await csv("grunfeld.csv")
d["part"] = d.invest / d.groupby("year").invest.transform("sum")
row = d.nlargest(2, "part").iloc[1]
first([row.firm, int(row.year)], 2)`,
  'affairs-share': `d = await csv("fair.csv")
p = 100 * (d.affairs > 0).groupby(d.rate_marriage).mean()
print(round(p[1] - p[5], 2))`,
  'longley-slope': 'd = await csv("longley.csv")\nprint(round(np.polyfit(d.YEAR - 1950, d.TOTEMP, 1)[0], 2))',
  'crime-top':
    'd = (await csv("statecrime.csv")).set_index("state")\nfirst(d.drop("District of Columbia").violent.nlargest(3).index, 3)',
  'voters-tabs': 'd = await csv("anes96.csv", sep="\\t", quotechar="\'")\nprint(round(d[d.vote == 1].age.mean(), 2))',
  'jobs-wide': `d = (await csv("us-employment.csv")).set_index("month").loc[:, "mining_and_logging":"government"]
print((d.loc["2010-01-01"] / d.loc["2008-01-01"]).idxmin())`,
  'power-share': `d = await csv("iowa-electricity.csv", parse_dates=["year"])
s = d[d.year.dt.year == 2017].set_index("source").net_generation
print(round(100 * s["Renewables"] / s.sum(), 2))`,
  'cars-mean': 'd = await records("cars.json")\nprint(round(d[d.Origin == "Japan"].Miles_per_Gallon.mean(), 3))',
  'cars-brand': `d = await records("cars.json")
g = d.assign(brand=d.Name.str.split().str[0]).groupby("brand").Horsepower
print(g.median()[g.size() >= 10].idxmax())`,
  'barley-site': `w = (await records("barley.json")).pivot_table(index="site", columns="year", values="yield")
print((w[1932] - w[1931]).idxmax())`,
  'crimea-share': `d = (await records("crimea.json")).set_index("date")
print((d.disease / d.sum(axis=1)).idxmax()[:7])`,
  'wheat-missing': 'd = await records("wheat.json")\nprint(round(d.wheat.corr(d.wages), 3))',
  'airports-state': 'd = await csv("airports.csv", keep_default_na=False)\nprint((d.state == "NA").sum())',
  'airports-north': `d = await csv("airports.csv")
d = d[(d.country == "USA") & ~d.state.isin(["CQ", "GU", "AS", "PR", "VI"])]
print(d.groupby("state").latitude.max().idxmin())`,
  'stocks-return': `${STOCKS}s = d[d.symbol == "AAPL"].set_index("date").price
print(round(100 * (s["2010-03-01"] / s["2005-01-01"] - 1), 1))`,
  'stocks-fall': `${STOCKS}low = d.loc[d.groupby("symbol").price.pct_change().idxmin()]
first([low.symbol, low.date.strftime("%Y-%m")], 2)`,
  'co2-mean': `d = await csv("co2.csv")
print(round(d[pd.to_datetime(d.date, format="%Y%m%d").dt.year == 1964].co2.mean(), 2))`,
  'co2-gap': `d = await csv("co2.csv")
d["date"], d["flag"] = pd.to_datetime(d.date, format="%Y%m%d"), d.co2.isna()
${RUN}`,
  'elnino-month': `s = (await csv("elnino.csv")).set_index("YEAR").stack()
year, month = s.nlargest(2).index[1]
print(pd.to_datetime(f"{year} {month.title()}", format="%Y %b").strftime("%Y-%m"))`,
  'elnino-winter': `d = (await csv("elnino.csv")).set_index("YEAR")
print((d.DEC.shift() + d.JAN + d.FEB).idxmax())`,
  'seattle-share': `${SEATTLE}print(round(100 * (d[d.date.dt.year == 2014].weather == "rain").mean(), 2))`,
  'seattle-dry': `${SEATTLE}d["flag"] = d.precipitation == 0\n${RUN}`,
  'seattle-month': `${SEATTLE}print(d.groupby(d.date.dt.to_period("M")).precipitation.sum().idxmax())`,
  'seattle-quarter': `${SEATTLE}g = d.groupby(d.date.dt.to_period("Q"))
print((g.temp_max.max() - g.temp_min.min()).idxmax())`,
  'hours-join': `s, f = [await csv(f"{name}-temps.csv", parse_dates=["date"]) for name in ("seattle", "sf")]
d = s.merge(f, on="date")
print(round(100 * (d.temp_x > d.temp_y).mean(), 2))`,
  'hours-zone': `d = await csv("seattle-temps.csv", parse_dates=["date"])
s = d.set_index(d.date.dt.tz_localize("America/Los_Angeles", ambiguous="NaT", nonexistent="NaT")).temp
print(s[pd.Timestamp("2010-11-07T20:00:00Z")])`,
  'hours-day': `d = await csv("sf-temps.csv", parse_dates=["date"])
g = d.groupby(d.date.dt.date).temp
print((g.max() - g.min() > 13.05).sum())`,
};

/** The cell for a question. */
export function tableSolution(id: string): CodeSolution | undefined {
  const code = TABLE_CODE[id];
  return code === undefined ? undefined : { servers: ['filesystem'], code: READ + code };
}
