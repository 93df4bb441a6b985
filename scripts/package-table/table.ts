/** The table of the packages that were tried: a pure function. */

export type TriedPackage =
  | {
      readonly isWorking: true;
      readonly version: string;
      /** With all that it needs. */
      readonly bytes: number;
      /** What the import adds. */
      readonly memoryBytes: number;
      /** Of the installation. */
      readonly seconds: number;
    }
  | { readonly isWorking: false; readonly reason: string; readonly seconds: number };

/** What was tried on one engine. */
export interface Column {
  readonly engine: string;
  readonly python: string;
  readonly tried: ReadonlyMap<string, TriedPackage>;
}

const MEBIBYTE = 1024 * 1024;

export function renderTable(names: readonly string[], columns: readonly Column[]): string {
  const heads = columns.flatMap(({ engine, python }) => [`Python ${python}, ${engine}`, 'MiB', 's', 'MiB in memory']);
  const lines = [
    `| Package | ${heads.join(' | ')} |`,
    `| --- |${columns.map(() => ' --- | --: | --: | --: |').join('')}`,
    ...names.map((name) => `| ${[name, ...columns.flatMap(({ tried }) => cellsOf(tried.get(name)))].join(' | ')} |`),
  ];
  return lines.join('\n');
}

function cellsOf(tried: TriedPackage | undefined): string[] {
  if (tried === undefined) {
    return ['not tried', '', '', ''];
  }
  if (!tried.isWorking) {
    return [tried.reason.replaceAll('|', '\\|'), '', tried.seconds.toFixed(1), ''];
  }
  const { bytes, memoryBytes, seconds, version } = tried;
  return [version, rounded(bytes), seconds.toFixed(1), rounded(memoryBytes)];
}

/** In MiB, with a digit after the point below 10. */
function rounded(bytes: number): string {
  const mebibytes = bytes / MEBIBYTE;
  return mebibytes.toFixed(mebibytes < 10 ? 1 : 0);
}
