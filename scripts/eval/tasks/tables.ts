/** Closed questions over the tables of `scripts/eval/data/export.py`. The true values are computed here, without data frames. */
import {
  best,
  correlation,
  deviation,
  groupBy,
  isMissing,
  mean,
  median,
  numbers,
  partialSlope,
  quantile,
  type Row,
  slope,
  sum,
} from '../data/statistics.ts';

export interface Question {
  readonly id: string;
  readonly title: string;
  readonly ask: string;
  /** Digits after the point, if the answer is a number. */
  readonly digits?: number;
  /** A number, a name, or names in this order. */
  truth(table: (file: string) => readonly Row[]): number | string | readonly string[];
}

const share = <T>(items: readonly T[], isCounted: (item: T) => boolean): number =>
  (100 * items.filter(isCounted).length) / items.length;

const value = (row: Row | undefined, name: string): number => Number(row?.[name]);

const columns = (rows: readonly Row[], ...without: readonly string[]): string[] =>
  Object.keys(rows[0] ?? {}).filter((name) => !without.includes(name));

/** Key of the group with the highest score. */
function bestGroup(rows: readonly Row[], keyOf: (row: Row) => string, score: (rows: readonly Row[]) => number): string {
  return best([...groupBy(rows, keyOf)], ([, group]) => score(group))[0]?.[0] ?? '';
}

const penguins: readonly Question[] = [
  {
    id: 'penguin-filter',
    title: 'count rows with two conditions',
    ask: 'In penguins.csv, how many penguins are female and of the species Chinstrap?',
    digits: 0,
    truth: (table) =>
      table('penguins.csv').filter(({ sex, species }) => sex === 'female' && species === 'Chinstrap').length,
  },
  {
    id: 'penguin-mean',
    title: 'mean of a column with missing values',
    ask: 'In penguins.csv, what is the mean body mass, in grams, of male Gentoo penguins?',
    digits: 1,
    truth: (table) =>
      mean(
        numbers(
          table('penguins.csv').filter(({ sex, species }) => sex === 'male' && species === 'Gentoo'),
          'body_mass_g',
        ),
      ),
  },
  {
    id: 'penguin-missing',
    title: 'rows with a missing value',
    ask: 'In penguins.csv, how many rows have at least one missing value?',
    digits: 0,
    truth: (table) => table('penguins.csv').filter((row) => Object.values(row).some(isMissing)).length,
  },
  {
    id: 'penguin-share',
    title: 'percent of the known values',
    ask: 'In penguins.csv, what percentage of the penguins whose sex is known are male?',
    digits: 2,
    truth: (table) =>
      share(
        table('penguins.csv').filter(({ sex }) => !isMissing(sex)),
        ({ sex }) => sex === 'male',
      ),
  },
  {
    id: 'penguin-pivot',
    title: 'largest cell of a pivot table',
    ask: 'In penguins.csv, which combination of island, species and year has the most rows? State island, species and year.',
    truth: (table) =>
      bestGroup(
        table('penguins.csv'),
        ({ island, species, year }) => `${island}|${species}|${year}`,
        ({ length }) => length,
      ).split('|'),
  },
  {
    id: 'penguin-ratio',
    title: 'group with the highest median of a ratio',
    ask: 'In penguins.csv, which species has the highest median of bill length divided by bill depth?',
    truth: (table) =>
      bestGroup(
        table('penguins.csv').filter(({ bill_depth_mm: depth }) => !isMissing(depth)),
        ({ species }) => species ?? '',
        (rows) => median(rows.map((row) => value(row, 'bill_length_mm') / value(row, 'bill_depth_mm'))),
      ),
  },
  {
    id: 'penguin-duplicates',
    title: 'keys that occur more than once',
    ask: 'In penguins-raw.csv, how many combinations of "Species" and "Individual ID" occur in more than one row?',
    digits: 0,
    truth: (table) =>
      [...groupBy(table('penguins-raw.csv'), (row) => `${row['Species']}|${row['Individual ID']}`).values()].filter(
        ({ length }) => length > 1,
      ).length,
  },
  {
    id: 'penguin-week',
    title: 'rows in a week of the year',
    ask: 'In penguins-raw.csv, how many rows have a "Date Egg" in ISO week 46, in any year?',
    digits: 0,
    truth: (table) => table('penguins-raw.csv').filter((row) => isoWeek(row['Date Egg'] ?? '') === 46).length,
  },
  {
    id: 'penguin-text',
    title: 'words in a text column',
    ask: 'In penguins-raw.csv, how many rows have "Comments" that contain the word "not", in upper or lower case, as a whole word?',
    digits: 0,
    truth: (table) => table('penguins-raw.csv').filter((row) => /\bnot\b/i.test(row['Comments'] ?? '')).length,
  },
  {
    id: 'penguin-join',
    title: 'two tables joined by the order of their rows',
    ask: 'The rows of penguins.csv and penguins-raw.csv are the same penguins in the same order. What is the mean "Delta 15 N (o/oo)" of the penguins that are female according to penguins.csv and come from the island Biscoe?',
    digits: 4,
    truth(table) {
      const plain = table('penguins.csv');
      const raw = table('penguins-raw.csv').filter(
        (_, at) => plain[at]?.['sex'] === 'female' && plain[at]?.['island'] === 'Biscoe',
      );
      return mean(numbers(raw, 'Delta 15 N (o/oo)'));
    },
  },
];

/** ISO 8601: the week with the Thursday. */
function isoWeek(date: string): number {
  const day = new Date(`${date}T00:00:00Z`);
  day.setUTCDate(day.getUTCDate() + 4 - (day.getUTCDay() || 7));
  return Math.ceil(((day.getTime() - Date.UTC(day.getUTCFullYear(), 0, 1)) / 86_400_000 + 1) / 7);
}

const inYear = (rows: readonly Row[], year: string): readonly Row[] => rows.filter((row) => row['year'] === year);
const byCountry = (rows: readonly Row[]): Map<string, readonly Row[]> => groupBy(rows, ({ country }) => country ?? '');

const gapminder: readonly Question[] = [
  {
    id: 'life-top',
    title: 'row with the highest value in a group',
    ask: 'In gapminder.csv, which country of Africa had the highest life expectancy in 2007?',
    truth: (table) =>
      bestGroup(
        inYear(table('gapminder.csv'), '2007').filter(({ continent }) => continent === 'Africa'),
        ({ country }) => country ?? '',
        ([row]) => value(row, 'lifeExp'),
      ),
  },
  {
    id: 'life-share',
    title: 'percent of a whole',
    ask: 'In gapminder.csv, what percentage of the population of all countries in 2007 lived in Asia?',
    digits: 2,
    truth(table) {
      const rows = inYear(table('gapminder.csv'), '2007');
      const asia = rows.filter(({ continent }) => continent === 'Asia');
      return (100 * sum(numbers(asia, 'pop'))) / sum(numbers(rows, 'pop'));
    },
  },
  {
    id: 'growth-top',
    title: 'top three by growth between two years',
    ask: 'In gapminder.csv, for which three countries was gdpPercap in 2007 the highest multiple of that in 1952? Highest first.',
    truth: (table) =>
      best(
        [...byCountry(table('gapminder.csv'))],
        ([, rows]) => value(inYear(rows, '2007')[0], 'gdpPercap') / value(inYear(rows, '1952')[0], 'gdpPercap'),
        3,
      ).map(([country]) => country),
  },
  {
    id: 'life-drop',
    title: 'groups in which a value fell',
    ask: 'In gapminder.csv, in how many countries was life expectancy lower in 1992 than in 1987?',
    digits: 0,
    truth: (table) =>
      [...byCountry(table('gapminder.csv')).values()].filter(
        (rows) => value(inYear(rows, '1992')[0], 'lifeExp') < value(inYear(rows, '1987')[0], 'lifeExp'),
      ).length,
  },
  {
    id: 'life-correlation',
    title: 'correlation with a logarithm',
    ask: 'In gapminder.csv, what is the Pearson correlation of life expectancy and the logarithm of gdpPercap over all countries in 2007?',
    digits: 3,
    truth(table) {
      const rows = inYear(table('gapminder.csv'), '2007');
      return correlation(numbers(rows, 'gdpPercap').map(Math.log), numbers(rows, 'lifeExp'));
    },
  },
  {
    id: 'life-slopes',
    title: 'a regression for each group',
    ask: 'In gapminder.csv, for which country is the slope of the least squares line of life expectancy on year the highest?',
    truth: (table) =>
      bestGroup(
        table('gapminder.csv'),
        ({ country }) => country ?? '',
        (rows) => slope(numbers(rows, 'year'), numbers(rows, 'lifeExp')),
      ),
  },
  {
    id: 'life-weighted',
    title: 'weighted mean',
    ask: 'In gapminder.csv, what was the mean life expectancy in Europe in 2002, weighted by population?',
    digits: 3,
    truth(table) {
      const rows = inYear(table('gapminder.csv'), '2002').filter(({ continent }) => continent === 'Europe');
      return sum(rows.map((row) => value(row, 'lifeExp') * value(row, 'pop'))) / sum(numbers(rows, 'pop'));
    },
  },
];

const measurements: readonly Question[] = [
  {
    id: 'iris-spread',
    title: 'group with the largest standard deviation',
    ask: 'In iris.csv, which class has the largest standard deviation of sepal_width?',
    truth: (table) =>
      bestGroup(
        table('iris.csv'),
        (row) => row['class'] ?? '',
        (rows) => deviation(numbers(rows, 'sepal_width')),
      ),
  },
  {
    id: 'wine-median',
    title: 'median of a group',
    ask: 'In wine.csv, what is the median of color_intensity in class_2?',
    digits: 3,
    truth: (table) =>
      median(
        numbers(
          table('wine.csv').filter((row) => row['class'] === 'class_2'),
          'color_intensity',
        ),
      ),
  },
  {
    id: 'wine-correlation',
    title: 'two columns with the strongest correlation',
    ask: 'In wine.csv, which two measured columns (not the class) have the strongest Pearson correlation, by its absolute value? State them in alphabetical order.',
    truth(table) {
      const rows = table('wine.csv');
      const names = columns(rows, 'class').toSorted();
      const pairs = names.flatMap((first, at) => names.slice(at + 1).map((second) => [first, second] as const));
      const strength = ([first, second]: readonly [string, string]): number =>
        Math.abs(correlation(numbers(rows, first), numbers(rows, second)));
      return best(pairs, strength)[0] ?? [];
    },
  },
  {
    id: 'cancer-wide',
    title: 'columns of a wide table that fulfil a condition',
    ask: 'In breast_cancer.csv, for how many of the 30 measured columns is the mean over malignant rows more than twice the mean over benign rows?',
    digits: 0,
    truth(table) {
      const groups = groupBy(table('breast_cancer.csv'), (row) => row['class'] ?? '');
      const [malignant = [], benign = []] = [groups.get('malignant'), groups.get('benign')];
      return columns(malignant, 'class').filter(
        (name) => mean(numbers(malignant, name)) > 2 * mean(numbers(benign, name)),
      ).length;
    },
  },
  {
    id: 'digits-ink',
    title: 'sums over 64 columns, by group',
    ask: 'In digits.csv, each row is a picture of 64 pixels. For which digit is the mean of the sum of all pixels the highest?',
    truth: (table) =>
      bestGroup(
        table('digits.csv'),
        ({ digit }) => digit ?? '',
        (rows) => mean(rows.map((row) => sum(columns(rows, 'digit').map((name) => value(row, name))))),
      ),
  },
  {
    id: 'digits-constant',
    title: 'constant columns of a wide table',
    ask: 'In digits.csv, how many of the 64 pixels have the same value in all rows?',
    digits: 0,
    truth(table) {
      const rows = table('digits.csv');
      return columns(rows, 'digit').filter((name) => new Set(rows.map((row) => row[name])).size === 1).length;
    },
  },
  {
    id: 'diabetes-regression',
    title: 'coefficient of a regression with two predictors',
    ask: 'In diabetes.csv, fit target by least squares with an intercept, bmi and bp. What is the coefficient of bmi?',
    digits: 3,
    truth(table) {
      const rows = table('diabetes.csv');
      return partialSlope(numbers(rows, 'bmi'), numbers(rows, 'bp'), numbers(rows, 'target'));
    },
  },
  {
    id: 'diabetes-quantile',
    title: 'mean above a quantile',
    ask: 'In diabetes.csv, what is the mean target of the rows whose bmi is above the 90th percentile of bmi (with linear interpolation)?',
    digits: 2,
    truth(table) {
      const rows = table('diabetes.csv');
      const limit = quantile(numbers(rows, 'bmi'), 0.9);
      return mean(
        numbers(
          rows.filter((row) => value(row, 'bmi') > limit),
          'target',
        ),
      );
    },
  },
  {
    id: 'workbook-join',
    title: 'two sheets of a workbook, joined',
    ask: 'The workbook linnerud.xlsx has the exercises and the bodies of the same men on two sheets; "Man" is the key. What is the Pearson correlation of Waist and Situps?',
    digits: 3,
    truth: (table) =>
      correlation(
        numbers(table('linnerud_physiological.csv'), 'Waist'),
        numbers(table('linnerud_exercise.csv'), 'Situps'),
      ),
  },
  {
    id: 'workbook-filter',
    title: 'a filter on one sheet, a mean on the other',
    ask: 'The workbook linnerud.xlsx has two sheets about the same men; "Man" is the key. What is the mean Weight of the men with more than 50 Jumps?',
    digits: 2,
    truth(table) {
      const bodies = table('linnerud_physiological.csv');
      const chosen = table('linnerud_exercise.csv').flatMap((row, at) =>
        value(row, 'Jumps') > 50 ? [bodies[at] ?? {}] : [],
      );
      return mean(numbers(chosen, 'Weight'));
    },
  },
];

const economy: readonly Question[] = [
  {
    id: 'unemployment-year',
    title: 'year with the highest mean of quarters',
    ask: 'In macrodata.csv, which year has the highest mean unemployment rate (unemp)?',
    truth: (table) =>
      bestGroup(
        table('macrodata.csv'),
        ({ year }) => year ?? '',
        (rows) => mean(numbers(rows, 'unemp')),
      ),
  },
  {
    id: 'gdp-quarter',
    title: 'quarter with the largest fall in percent',
    ask: 'In macrodata.csv, in which quarter did realgdp fall the most, in percent of the quarter before? State it as YYYYQn, for example 1999Q1.',
    truth(table) {
      const rows = table('macrodata.csv');
      const fall = (at: number): number => 1 - value(rows[at], 'realgdp') / value(rows[at - 1], 'realgdp');
      const [at = 0] = best([...rows.keys()].slice(1), fall);
      return `${rows[at]?.['year']}Q${rows[at]?.['quarter']}`;
    },
  },
  {
    id: 'inflation-rolling',
    title: 'highest rolling mean',
    ask: 'In macrodata.csv, what is the highest mean of infl over eight successive quarters?',
    digits: 3,
    truth(table) {
      const values = numbers(table('macrodata.csv'), 'infl');
      return Math.max(...values.slice(7).map((_, at) => mean(values.slice(at, at + 8))));
    },
  },
  {
    id: 'firms-correlation',
    title: 'correlation of two groups over the years',
    ask: 'In grunfeld.csv, what is the Pearson correlation of invest of General Motors and invest of General Electric over the years?',
    digits: 3,
    truth(table) {
      const firms = groupBy(table('grunfeld.csv'), ({ firm }) => firm ?? '');
      return correlation(
        numbers(firms.get('General Motors') ?? [], 'invest'),
        numbers(firms.get('General Electric') ?? [], 'invest'),
      );
    },
  },
  {
    id: 'firms-share',
    title: 'largest share of a yearly total',
    ask: 'In grunfeld.csv, divide the invest of each firm by the sum of all firms in the same year. Which firm and year has the second highest share? State firm and year.',
    truth(table) {
      const shares = [...groupBy(table('grunfeld.csv'), ({ year }) => year ?? '').values()].flatMap((rows) =>
        rows.map((row) => ({ row, part: value(row, 'invest') / sum(numbers(rows, 'invest')) })),
      );
      const row = best(shares, ({ part }) => part, 2)[1]?.row;
      return [row?.['firm'] ?? '', row?.['year'] ?? ''];
    },
  },
  {
    id: 'affairs-share',
    title: 'difference of two percentages',
    ask: 'In fair.csv, what percentage of rows with rate_marriage 1 have affairs above 0, minus the same percentage of rows with rate_marriage 5?',
    digits: 2,
    truth(table) {
      const of = (rating: number): number =>
        share(
          table('fair.csv').filter((row) => value(row, 'rate_marriage') === rating),
          (row) => value(row, 'affairs') > 0,
        );
      return of(1) - of(5);
    },
  },
  {
    id: 'longley-slope',
    title: 'slope of a trend',
    ask: 'In longley.csv, what is the slope of the least squares line of TOTEMP on YEAR?',
    digits: 2,
    truth: (table) => slope(numbers(table('longley.csv'), 'YEAR'), numbers(table('longley.csv'), 'TOTEMP')),
  },
  {
    id: 'crime-top',
    title: 'top three with an exception',
    ask: 'In statecrime.csv, which three states have the highest violent, the District of Columbia left out? Highest first.',
    truth: (table) =>
      best(
        table('statecrime.csv').filter(({ state }) => state !== 'District of Columbia'),
        (row) => value(row, 'violent'),
        3,
      ).map(({ state }) => state ?? ''),
  },
  {
    id: 'voters-tabs',
    title: 'an unusual delimiter and quoted names',
    ask: 'In anes96.csv, what is the mean age of the rows whose vote is 1?',
    digits: 2,
    truth: (table) =>
      mean(
        numbers(
          table('anes96.csv').filter((row) => row["'vote'"] === '1'),
          "'age'",
        ),
      ),
  },
  {
    id: 'jobs-wide',
    title: 'column of a wide table with the largest fall',
    ask: 'In us-employment.csv, which column between mining_and_logging and government fell by the highest percentage from 2008-01-01 to 2010-01-01? State the column.',
    truth(table) {
      const rows = table('us-employment.csv');
      const at = (month: string): Row | undefined => rows.find((row) => row['month'] === month);
      const names = columns(rows);
      const chosen = names.slice(names.indexOf('mining_and_logging'), names.indexOf('government') + 1);
      return best(chosen, (name) => 1 - value(at('2010-01-01'), name) / value(at('2008-01-01'), name))[0] ?? '';
    },
  },
  {
    id: 'power-share',
    title: 'share of a year in a long table',
    ask: 'In iowa-electricity.csv, what percentage of net_generation in 2017 came from Renewables?',
    digits: 2,
    truth(table) {
      const rows = table('iowa-electricity.csv').filter(({ year }) => year?.startsWith('2017') === true);
      const renewable = rows.filter(({ source }) => source === 'Renewables');
      return (100 * sum(numbers(renewable, 'net_generation'))) / sum(numbers(rows, 'net_generation'));
    },
  },
];

/** As in the file, `Jan 1 2000`. */
const priceOf = (rows: readonly Row[], symbol: string, date: string): number =>
  value(
    rows.find((row) => row['symbol'] === symbol && row['date'] === date),
    'price',
  );

const records: readonly Question[] = [
  {
    id: 'cars-mean',
    title: 'mean over JSON with nulls',
    ask: 'In cars.json, what is the mean of Miles_per_Gallon of cars with Origin Japan?',
    digits: 3,
    truth: (table) =>
      mean(
        numbers(
          table('cars.json').filter((row) => row['Origin'] === 'Japan'),
          'Miles_per_Gallon',
        ),
      ),
  },
  {
    id: 'cars-brand',
    title: 'most frequent first word',
    ask: 'In cars.json, the first word of Name is the brand. Which brand that occurs at least ten times has the highest median Horsepower?',
    truth(table) {
      const brands = groupBy(table('cars.json'), (row) => row['Name']?.split(' ')[0] ?? '');
      const large = [...brands].filter(([, rows]) => rows.length >= 10);
      return best(large, ([, rows]) => median(numbers(rows, 'Horsepower')))[0]?.[0] ?? '';
    },
  },
  {
    id: 'barley-site',
    title: 'group that goes against the trend',
    ask: 'In barley.json, at which site was the mean yield higher in 1932 than in 1931?',
    truth: (table) =>
      bestGroup(
        table('barley.json'),
        ({ site }) => site ?? '',
        (rows) => mean(numbers(inYear(rows, '1932'), 'yield')) - mean(numbers(inYear(rows, '1931'), 'yield')),
      ),
  },
  {
    id: 'crimea-share',
    title: 'month with the highest share',
    ask: 'In crimea.json, in which month was disease the highest share of wounds, other and disease together? State it as YYYY-MM.',
    truth: (table) =>
      bestGroup(
        table('crimea.json'),
        ({ date }) => date?.slice(0, 7) ?? '',
        ([row]) => value(row, 'disease') / (value(row, 'wounds') + value(row, 'other') + value(row, 'disease')),
      ),
  },
  {
    id: 'wheat-missing',
    title: 'correlation of columns, one with missing values',
    ask: 'In wheat.json, what is the Pearson correlation of wheat and wages over the rows that have both?',
    digits: 3,
    truth(table) {
      const rows = table('wheat.json').filter(({ wages }) => !isMissing(wages));
      return correlation(numbers(rows, 'wheat'), numbers(rows, 'wages'));
    },
  },
  {
    id: 'airports-state',
    title: 'a code that looks like a missing value',
    ask: 'In airports.csv, how many airports have the text NA as their state?',
    digits: 0,
    truth: (table) => table('airports.csv').filter(({ state }) => state === 'NA').length,
  },
  {
    id: 'airports-north',
    title: 'northernmost row of each group',
    ask: 'In airports.csv, take the northernmost airport of each state of the country USA. Which state has the southernmost of them, if CQ, GU, AS, PR, VI and rows without a state (NA) are left out? State the two letters.',
    truth: (table) =>
      bestGroup(
        table('airports.csv').filter(
          ({ country, state }) => country === 'USA' && !['CQ', 'GU', 'AS', 'PR', 'VI', 'NA', ''].includes(state ?? ''),
        ),
        ({ state }) => state ?? '',
        (rows) => -Math.max(...numbers(rows, 'latitude')),
      ),
  },
  {
    id: 'stocks-return',
    title: 'return between two months',
    ask: 'In stocks.csv, by how many percent was the price of AAPL higher in March 2010 than in January 2005?',
    digits: 1,
    truth: (table) =>
      (priceOf(table('stocks.csv'), 'AAPL', 'Mar 1 2010') / priceOf(table('stocks.csv'), 'AAPL', 'Jan 1 2005') - 1) *
      100,
  },
  {
    id: 'stocks-fall',
    title: 'largest monthly fall over groups',
    ask: 'In stocks.csv, which symbol had the largest fall of its price in percent from one month to the next, and in which month did it end? State the symbol and the month as YYYY-MM.',
    truth(table) {
      const rows = table('stocks.csv');
      const isFirst = (at: number): boolean => rows[at]?.['symbol'] !== rows[at - 1]?.['symbol'];
      const fall = (at: number): number => 1 - value(rows[at], 'price') / value(rows[at - 1], 'price');
      const [at = 0] = best(
        [...rows.keys()].filter((index) => !isFirst(index)),
        fall,
      );
      const date = new Date(`${rows[at]?.['date']} UTC`);
      return [rows[at]?.['symbol'] ?? '', date.toISOString().slice(0, 7)];
    },
  },
];

const MONTHS = ['JAN', 'FEB', 'MAR', 'APR', 'MAY', 'JUN', 'JUL', 'AUG', 'SEP', 'OCT', 'NOV', 'DEC'];

const weather: readonly Question[] = [
  {
    id: 'co2-mean',
    title: 'mean of a year with dates as digits',
    ask: 'In co2.csv, what is the mean co2 of 1964?',
    digits: 2,
    truth: (table) =>
      mean(
        numbers(
          table('co2.csv').filter(({ date }) => date?.startsWith('1964') === true),
          'co2',
        ),
      ),
  },
  {
    id: 'co2-gap',
    title: 'longest run of missing values',
    ask: 'In co2.csv, how many rows has the longest run of successive missing values, and on which date does it begin? State the count and the date as YYYY-MM-DD.',
    truth(table) {
      const rows = table('co2.csv');
      const runAt = (at: number): number => rows.slice(at).findIndex(({ co2 }) => !isMissing(co2));
      const [at = 0] = best([...rows.keys()], runAt);
      return [String(runAt(at)), rows[at]?.['date']?.replace(/(....)(..)(..)/, '$1-$2-$3') ?? ''];
    },
  },
  {
    id: 'elnino-month',
    title: 'a wide table made long',
    ask: 'In elnino.csv, which month of which year has the second highest temperature? State it as YYYY-MM.',
    truth(table) {
      const long = table('elnino.csv').flatMap((row) =>
        MONTHS.map((name, at) => ({
          month: `${row['YEAR']}-${String(at + 1).padStart(2, '0')}`,
          degrees: value(row, name),
        })),
      );
      return best(long, ({ degrees }) => degrees, 2)[1]?.month ?? '';
    },
  },
  {
    id: 'elnino-winter',
    title: 'mean over the turn of the year',
    ask: 'In elnino.csv, the winter of a year is December of the year before, January and February. Which year has the winter with the highest mean?',
    truth(table) {
      const rows = table('elnino.csv');
      const winter = (at: number): number =>
        value(rows[at - 1], 'DEC') + value(rows[at], 'JAN') + value(rows[at], 'FEB');
      const [at = 0] = best([...rows.keys()].slice(1), winter);
      return rows[at]?.['YEAR'] ?? '';
    },
  },
  {
    id: 'seattle-share',
    title: 'percent of days of a year',
    ask: 'In seattle-weather.csv, what percentage of the days of 2014 have the weather rain?',
    digits: 2,
    truth: (table) =>
      share(
        table('seattle-weather.csv').filter(({ date }) => date?.startsWith('2014') === true),
        (row) => row['weather'] === 'rain',
      ),
  },
  {
    id: 'seattle-dry',
    title: 'longest run of days',
    ask: 'In seattle-weather.csv, how many days has the longest run of successive days without precipitation, and what is its first day? State the count and the date as YYYY-MM-DD.',
    truth(table) {
      const rows = table('seattle-weather.csv');
      const runAt = (at: number): number => rows.slice(at).findIndex(({ precipitation }) => Number(precipitation) > 0);
      const [at = 0] = best([...rows.keys()], runAt);
      return [String(runAt(at)), rows[at]?.['date']?.replaceAll('/', '-') ?? ''];
    },
  },
  {
    id: 'seattle-month',
    title: 'month with the highest sum',
    ask: 'In seattle-weather.csv, which month of which year has the highest sum of precipitation? State it as YYYY-MM.',
    truth: (table) =>
      bestGroup(
        table('seattle-weather.csv'),
        ({ date }) => date?.slice(0, 7).replace('/', '-') ?? '',
        (rows) => sum(numbers(rows, 'precipitation')),
      ),
  },
  {
    id: 'seattle-quarter',
    title: 'largest range within a quarter',
    ask: 'In seattle-weather.csv, which quarter has the largest difference between its highest temp_max and its lowest temp_min? State it as YYYYQn, for example 1999Q1.',
    truth: (table) =>
      bestGroup(
        table('seattle-weather.csv'),
        ({ date = '' }) => `${date.slice(0, 4)}Q${Math.ceil(Number(date.slice(5, 7)) / 3)}`,
        (rows) => Math.max(...numbers(rows, 'temp_max')) - Math.min(...numbers(rows, 'temp_min')),
      ),
  },
  {
    id: 'hours-join',
    title: 'two tables joined by the hour',
    ask: 'seattle-temps.csv and sf-temps.csv have hourly temperatures of 2010. How many percent of the hours that both have was it warmer in Seattle?',
    digits: 2,
    truth(table) {
      const inSeattle = new Map(table('seattle-temps.csv').map((row) => [row['date'], value(row, 'temp')]));
      const both = table('sf-temps.csv').filter(({ date }) => inSeattle.has(date?.slice(0, 16)));
      return share(both, (row) => (inSeattle.get(row['date']?.slice(0, 16)) ?? 0) > value(row, 'temp'));
    },
  },
  {
    id: 'hours-zone',
    title: 'an instant in another time zone',
    ask: 'The dates in seattle-temps.csv are local times of America/Los_Angeles. What was the temperature at 2010-11-07T20:00:00Z?',
    digits: 1,
    // Summer time had ended that morning, so it was noon.
    truth: (table) =>
      value(
        table('seattle-temps.csv').find(({ date }) => date === '2010/11/07 12:00'),
        'temp',
      ),
  },
  {
    id: 'hours-day',
    title: 'day with the largest range',
    ask: 'In sf-temps.csv, on how many days of 2010 is the difference between the highest and the lowest temperature more than 13.05?',
    digits: 0,
    truth: (table) =>
      [...groupBy(table('sf-temps.csv'), ({ date }) => date?.slice(0, 10) ?? '').values()].filter((rows) => {
        const degrees = numbers(rows, 'temp');
        return Math.max(...degrees) - Math.min(...degrees) > 13.05;
      }).length,
  },
];

export const QUESTIONS: readonly Question[] = [
  ...penguins,
  ...gapminder,
  ...measurements,
  ...economy,
  ...records,
  ...weather,
];
