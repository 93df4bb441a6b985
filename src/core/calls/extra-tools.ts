/** Functions that search finds beside the tools of servers. A feature provides them; the core knows only these documents. */
import type { CatalogServer, CatalogTool } from '../catalog/known.ts';

export interface ExtraTools {
  /** In the place of a server: its name is that of the module from which code imports the functions. */
  readonly source: CatalogServer;
  /** The same array until something changes. */
  readonly tools: readonly ExtraTool[];
}

export interface ExtraTool extends CatalogTool {
  readonly signature: string;
  /** Whether a call of it must be awaited. */
  readonly isAsync: boolean;
}
