/** What `doctor` looks at of the settings. It goes on without those that are refused, because the rest may be wrong, too. */

import { toBridgeError } from '../base/errors.ts';
import { COMMAND } from '../base/package.ts';
import { describeUnknownVariables, refusedVariables, SETTINGS_TABLE } from '../settings/settings.ts';
import type { CommandContext, CommandHost } from '../terminal/command.ts';
import { type Finding, problemsOfSettings } from '../terminal/finding.ts';

type Environment = NodeJS.ProcessEnv;

export interface ExaminedSettings {
  readonly context: CommandContext;
  readonly findings: readonly Finding[];
}

/** Settings to go on with, and what is to be said of those of `env`. Rejects with `CONFIG_INVALID` inside of another bridge. */
export async function examineSettings({
  env,
  createContext,
}: Pick<CommandHost, 'env' | 'createContext'>): Promise<ExaminedSettings> {
  const unknown = await warnOfUnknown(env);
  try {
    return { context: await createContext(env), findings: [listGiven(env), ...unknown] };
  } catch (thrown) {
    const error = toBridgeError(thrown);
    const refused = refusedVariables(error);
    if (refused.length === 0) {
      throw error;
    }
    const rest = Object.fromEntries(Object.entries(env).filter(([name]) => !refused.includes(name)));
    return {
      context: await createContext(rest),
      findings: [...problemsOfSettings(error), listGiven(rest), ...unknown],
    };
  }
}

function listGiven(env: Environment): Finding {
  const given = SETTINGS_TABLE.map(({ variable }) => variable).filter((variable) => (env[variable] ?? '') !== '');
  const text = given.length === 0 ? 'all are the defaults' : `set in the environment: ${given.join(', ')}`;
  return { section: 'settings', level: 'ok', text };
}

async function warnOfUnknown(env: Environment): Promise<Finding[]> {
  const hint = `For a list of all settings, run: ${COMMAND} help settings`;
  return (await describeUnknownVariables(env)).map((text) => ({ section: 'settings', level: 'warning', text, hint }));
}
