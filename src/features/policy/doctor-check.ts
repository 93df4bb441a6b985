/** What `doctor` reports about policies: where each one is, which refuse calls because they cannot be read, and rules that match nothing. */
import { silentLogger } from '../../core/base/log.ts';
import { COMMAND } from '../../core/base/package.ts';
import type { Examination, Finding } from '../../edges/terminal/finding.ts';
import { createCurrentPolicies } from './current-policies.ts';
import { knownServers } from './known-servers.ts';
import type { ShownPolicy } from './rules/describe.ts';

export const examinePolicies: Examination = async ({ settings, servers }) => {
  const options = { stateDir: settings.stateDir, definitions: servers.definitions, logger: silentLogger };
  const policies = createCurrentPolicies(options)();
  return policies === undefined ? [] : policies.describe(await knownServers(servers)).flatMap(findingsOf);
};

function findingsOf({ about, place, problem, profiles, unmatched }: ShownPolicy): Finding[] {
  if (problem !== null) {
    const hint = `Calls are refused until it is fixed. For the format of a policy, run: ${COMMAND} help policy`;
    return [{ section: 'servers', level: 'problem', text: `policy ${problem}`, hint }];
  }
  const unused = unmatched.map((pattern): Finding => {
    const text = `policy: ${pattern.place} of ${place}: ${pattern.text}`;
    return { section: 'servers', level: 'warning', text, hint: HOW_TO_NAME };
  });
  const subsets = profiles.map(({ place: name, text }): Finding => {
    return { section: 'servers', level: 'ok', text: `${name} of ${place}: ${text}` };
  });
  return [{ section: 'servers', level: 'ok', text: `policy for ${about} in ${place}` }, ...subsets, ...unused];
}

const HOW_TO_NAME = `Correct the name, or remove it. To see the names, run: ${COMMAND} servers tools SERVER`;
