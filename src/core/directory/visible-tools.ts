/** The contract for hiding tools: a feature may hide tools that code is not allowed to call. */
import type { BridgeError } from '../base/errors.ts';
import type { CatalogServer, CatalogTool } from '../catalog/known.ts';

export interface VisibleTools {
  /** The tools that are not hidden; the same array until something changes. */
  of(server: CatalogServer, tools: readonly CatalogTool[]): readonly CatalogTool[];
  /** Why the tool must not be called; undefined if it may. */
  refusalOf(server: CatalogServer, tool: CatalogTool): BridgeError | undefined;
  /** Why the server must not be called, so that it need not be started. */
  refusalOfServer(server: CatalogServer): BridgeError | undefined;
  /** Why no server may be called. */
  refusalOfAll(): BridgeError | undefined;
}

export const allVisible: VisibleTools = {
  of: (_, tools) => tools,
  refusalOf: () => undefined,
  refusalOfServer: () => undefined,
  refusalOfAll: () => undefined,
};
