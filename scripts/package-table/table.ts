/** The table of the packages that were tried, as users need it; `tried.json` has the results of every engine. Pure functions. */

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

const EMBEDDED = 'embedded';

/**
 * A row for each package, with what the first column in which it works has measured, and below the packages that work on the embedded
 * engine. Columns are used from the first on; that of the embedded engine gives no figures.
 */
export function renderTable(names: readonly string[], columns: readonly Column[]): string {
  const measured = columns.filter(({ engine }) => engine !== EMBEDDED);
  const rows = names.map((name) => {
    const found = measured.map(({ tried }) => tried[name]).find((tried) => tried?.isWorking === true);
    return `| ${[name, ...figuresOf(found)].join(' | ')} |`;
  });
  const lines = ['| Package | Version | MiB on disk | MiB in memory |', '| --- | --- | --: | --: |', ...rows];
  const embedded = columns.find(({ engine }) => engine === EMBEDDED);
  const working = names.flatMap((name) => embeddedName(name, embedded?.tried[name], measured[0]?.tried[name]));
  return [lines.join('\n'), `On the embedded engine: ${working.join(', ') || 'none'}.`].join('\n\n');
}

function figuresOf(tried: TriedPackage | undefined): string[] {
  return tried?.isWorking === true
    ? [tried.version, rounded(tried.mib), tried.memoryMib === undefined ? '' : rounded(tried.memoryMib)]
    : ['', '', ''];
}

/** The name, with the version if it is another one than in the table; nothing if the package does not work there. */
function embeddedName(name: string, tried: TriedPackage | undefined, shown: TriedPackage | undefined): string[] {
  if (tried?.isWorking !== true) {
    return [];
  }
  return [shown?.isWorking === true && shown.version !== tried.version ? `${name} ${tried.version}` : name];
}

/** With a digit after the point below 10. */
function rounded(mebibytes: number): string {
  return mebibytes.toFixed(mebibytes < 10 ? 1 : 0);
}
