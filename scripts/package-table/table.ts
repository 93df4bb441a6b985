/** The table of the packages that were tried: pure functions. */

export type TriedPackage =
  | {
      readonly isWorking: true;
      readonly version: string;
      /** With all that it needs, in MiB. */
      readonly mib: number;
      /** What the import adds; undefined where memory cannot be measured. */
      readonly memoryMib?: number;
      /** Of the installation. */
      readonly seconds: number;
    }
  | { readonly isWorking: false; readonly reason: string; readonly seconds: number };

/** What was tried on one engine, with one image. */
export interface Column {
  readonly engine: string;
  /** Undefined for the default one. */
  readonly image?: string;
  readonly python: string;
  readonly tried: Readonly<Record<string, TriedPackage>>;
}

/**
 * The first column of each Python has figures. The others say only whether the package works there, and which version if it is not
 * that of the figures. Reasons follow the table, because many packages share one. A column in which most is not tried yet is left out.
 */
export function renderTable(names: readonly string[], all: readonly Column[]): string {
  const columns = all.filter(
    ({ tried }) => names.filter((name) => tried[name] !== undefined).length * 2 >= names.length,
  );
  const measured = new Map(columns.toReversed().map((column) => [minorOf(column), column]));
  const isMeasured = (column: Column) => measured.get(minorOf(column)) === column;
  const ordered = [...columns.filter(isMeasured), ...columns.filter((column) => !isMeasured(column))];
  const reasons = new Reasons();
  const cellsOf = (column: Column, name: string): string[] => {
    const tried = column.tried[name];
    const said = wordsOf(name, tried, reasons);
    if (isMeasured(column)) {
      return [said, ...figuresOf(tried)];
    }
    const other = measured.get(minorOf(column))?.tried[name];
    return [other?.isWorking === true && other.version === said ? 'yes' : said];
  };
  const heads = ordered.map((column) => {
    const head = `Python ${column.python}, ${column.engine}`;
    return isMeasured(column) ? `${head} | MiB | s | MiB in memory` : head;
  });
  const rows = names.map((name) => `| ${[name, ...ordered.flatMap((column) => cellsOf(column, name))].join(' | ')} |`);
  const lines = [
    `| Package | ${heads.join(' | ')} |`,
    `| --- |${ordered.map((column) => (isMeasured(column) ? ' --- | --: | --: | --: |' : ' --- |')).join('')}`,
    ...rows,
  ];
  return [lines.join('\n'), ...reasons.lines()].join('\n\n');
}

/** Why packages do not work, numbered in the order in which they are met. */
class Reasons {
  readonly #all: string[] = [];

  numberOf(reason: string): number {
    if (!this.#all.includes(reason)) {
      this.#all.push(reason);
    }
    return this.#all.indexOf(reason) + 1;
  }

  lines(): string[] {
    return this.#all.length === 0 ? [] : [this.#all.map((reason, at) => `${at + 1}. \`${reason}\``).join('\n')];
  }
}

function minorOf({ python }: Column): string {
  return python.split('.', 2).join('.');
}

function wordsOf(name: string, tried: TriedPackage | undefined, reasons: Reasons): string {
  if (tried === undefined) {
    return 'not tried';
  }
  // So that packages which lack the same share a reason.
  return tried.isWorking ? tried.version : `no (${reasons.numberOf(tried.reason.replace(` of ${name} `, ' of it '))})`;
}

function figuresOf(tried: TriedPackage | undefined): string[] {
  return tried?.isWorking === true
    ? [rounded(tried.mib), tried.seconds.toFixed(1), tried.memoryMib === undefined ? '' : rounded(tried.memoryMib)]
    : ['', tried?.seconds.toFixed(1) ?? '', ''];
}

/** With a digit after the point below 10. */
function rounded(mebibytes: number): string {
  return mebibytes.toFixed(mebibytes < 10 ? 1 : 0);
}
