/** What `doctor` reports about policies: where each one is, and which refuse calls because they cannot be read. */
import { silentLogger } from '../base/log.ts';
import { COMMAND } from '../base/package.ts';
import type { Examination, Finding } from '../terminal/finding.ts';
import { createCurrentPolicies } from './current-policies.ts';

export const examinePolicies: Examination = async ({ settings, servers }) => {
  const options = { stateDir: settings.stateDir, definitions: servers.definitions, logger: silentLogger };
  const hint = `Calls are refused until it is fixed. For the format of a policy, run: ${COMMAND} help policy`;
  return (createCurrentPolicies(options)()?.describe() ?? []).map(({ about, place, problem }): Finding => {
    return problem === null
      ? { section: 'servers', level: 'ok', text: `policy for ${about} in ${place}` }
      : { section: 'servers', level: 'problem', text: `policy ${problem}`, hint };
  });
};
