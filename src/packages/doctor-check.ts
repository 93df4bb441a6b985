/** What `doctor` reports about packages: which ones code may install, where from, and which are there for every session. */
import { toBridgeError } from '../base/errors.ts';
import { counted } from '../base/units.ts';
import { type Examination, type Finding, problemOf } from '../terminal/finding.ts';
import { createPackageLocks } from './locks.ts';
import { readPackageIndex } from './package-index.ts';

const MODES = {
  off: 'code cannot install packages (MCP_BRIDGE_PACKAGES=off)',
  common: 'code may install well-known packages; you are asked about all others (MCP_BRIDGE_PACKAGES=common)',
  ask: 'you are asked about each package that code wants to install (MCP_BRIDGE_PACKAGES=ask)',
  any: 'code may install any package (MCP_BRIDGE_PACKAGES=any)',
};

export const examinePackages: Examination = async ({ env, settings }) => {
  const { packages: mode, preinstall, stateDir } = settings;
  const section = 'engines' as const;
  const findings: Finding[] = [{ section, level: 'ok', text: MODES[mode] }];
  if (preinstall !== undefined) {
    findings.push({ section, level: 'ok', text: `every session can import ${preinstall.join(', ')}` });
  }
  if (mode === 'off' && preinstall === undefined) {
    return findings;
  }
  try {
    const { links, mask, urls } = await readPackageIndex(env);
    const places = [...links, ...urls].map((place) => mask(place)).join(', then ');
    const sets = Object.keys(await createPackageLocks(stateDir).usedAt()).length;
    const stored = sets === 0 ? '' : `; ${counted(sets, 'set')} stored`;
    findings.push({ section, level: 'ok', text: `packages come from ${places}${stored}` });
  } catch (error) {
    findings.push(problemOf(section, toBridgeError(error)));
  }
  return findings;
};
