/** The contract for hiding tools: a feature may hide those that code cannot call anyway. */
import type { BridgeError } from '../base/errors.ts';
import type { CatalogServer, CatalogTool } from '../catalog/known.ts';

export interface VisibleTools {
  /** Of `tools` those that are not hidden; the same array as long as nothing changed. */
  of(server: CatalogServer, tools: readonly CatalogTool[]): readonly CatalogTool[];
  /** Why no call of the tool can be made; undefined if one may be. */
  refusalOf(server: CatalogServer, tool: CatalogTool): BridgeError | undefined;
  /** Why no call of the server can be made, so that there is no reason to start it. */
  refusalOfServer(server: CatalogServer): BridgeError | undefined;
  /** Why no call at all can be made. */
  refusalOfAll(): BridgeError | undefined;
}

export const allVisible: VisibleTools = {
  of: (_, tools) => tools,
  refusalOf: () => undefined,
  refusalOfServer: () => undefined,
  refusalOfAll: () => undefined,
};
