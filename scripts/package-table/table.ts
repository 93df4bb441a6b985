/** The list of the packages that were tried, as users need it; `tried.json` has the results of every engine. Pure functions. */

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
/** Smaller packages are fetched in a moment, so their size is left out. */
const LARGE_MIB = 20;

/**
 * Two lists: the packages that the embedded engine can run, and the others. Large ones have their size, as measured in the first other
 * column in which they work.
 */
export function renderLists(names: readonly string[], columns: readonly Column[]): string {
  const measured = columns.filter(({ engine }) => engine !== EMBEDDED);
  const embedded = columns.find(({ engine }) => engine === EMBEDDED);
  const shown = (name: string): string => {
    const found = measured.map(({ tried }) => tried[name]).find((tried) => tried?.isWorking === true);
    return found?.isWorking === true && found.mib >= LARGE_MIB ? `${name} ${found.mib.toFixed(0)}` : name;
  };
  const isEmbedded = (name: string) => embedded?.tried[name]?.isWorking === true;
  const listed = (some: readonly string[]) => `${some.map(shown).join(', ') || 'none'}.`;
  return [
    `**Not on the embedded engine:** ${listed(names.filter((name) => !isEmbedded(name)))}`,
    `**On every engine:** ${listed(names.filter(isEmbedded))}`,
  ].join('\n\n');
}
