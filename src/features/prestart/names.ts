/** Checks the names in `MCP_BRIDGE_PRESTART`, for the log and for `doctor`. */
import { COMMAND } from '../../core/base/package.ts';
import { didYouMean } from '../../core/base/suggest.ts';
import { resolveName } from '../../core/catalog/names.ts';
import type { ServerDirectory } from '../../core/directory/server-directory.ts';
import type { Examination, Finding } from '../../edges/terminal/finding.ts';

type KnownServers = Pick<ServerDirectory, 'servers' | 'whyDisabled'>;

/** Why no server of this name can be started; undefined if there is one. */
export async function findUnusableName(name: string, known: KnownServers): Promise<Finding | undefined> {
  if (resolveName(known.servers(), name) !== undefined) {
    return undefined;
  }
  const names = known.servers().map((server) => server.name);
  const disabled = known.whyDisabled(name);
  const why =
    disabled === undefined ? `but there is no such server.${await didYouMean(name, names)}` : 'but it is disabled';
  return {
    section: 'servers',
    level: 'warning',
    text: `MCP_BRIDGE_PRESTART names '${name}', ${why}`,
    hint: disabled?.hint ?? `Correct the setting. For the names, run: ${COMMAND} servers list`,
  };
}

export const examinePrestart: Examination = async ({ settings: { prestart }, servers: { known } }) => {
  const names = typeof prestart === 'string' ? [] : prestart;
  const findings = await Promise.all(names.map((name) => findUnusableName(name, known)));
  return findings.filter((finding) => finding !== undefined);
};
