/** Tools that a person names at a shell. */

import { BridgeError } from '../base/errors.ts';
import { COMMAND } from '../base/package.ts';
import { didYouMean } from '../base/suggest.ts';
import type { CatalogServer } from '../catalog/known.ts';
import type { ServerDirectory } from './server-directory.ts';

/** What was found under the name `wanted`; rejects as `found` does, a `TOOL_UNKNOWN` with the next step for a person, not for code. */
export async function namedAtShell<Tool>(
  known: Pick<ServerDirectory, 'metadata'>,
  server: CatalogServer,
  wanted: string,
  found: Promise<Tool>,
): Promise<Tool> {
  try {
    return await found;
  } catch (error) {
    if (!(error instanceof BridgeError) || error.code !== 'TOOL_UNKNOWN') {
      throw error;
    }
    const names = known.metadata(server)?.tools.map(({ name }) => name) ?? [];
    const near = await didYouMean(wanted, names);
    throw new BridgeError(error.code, error.message, {
      hint: `${near} \`${COMMAND} servers tools ${server.name}\` lists its tools.`.trim(),
      data: error.data,
      cause: error,
    });
  }
}
