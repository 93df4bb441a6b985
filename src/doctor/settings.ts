/** What `doctor` checks about the settings. Invalid ones are ignored from then on, so that the other checks still run. */

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

/** The usable settings of `env`, and findings about all of them. Rejects with `CONFIG_INVALID` inside another bridge. */
export async function examineSettings({
  env,
  createContext,
}: Pick<CommandHost, 'env' | 'createContext'>): Promise<ExaminedSettings> {
  const unknown = await warnAboutUnknown(env);
  try {
    return { context: await createContext(env), findings: [listGiven(env, 'all'), ...unknown] };
  } catch (thrown) {
    const error = toBridgeError(thrown);
    const refused = refusedVariables(error);
    if (refused.length === 0) {
      throw error;
    }
    const rest = Object.fromEntries(Object.entries(env).filter(([name]) => !refused.includes(name)));
    return {
      context: await createContext(rest),
      findings: [...problemsOfSettings(error), listGiven(rest, 'all others'), ...unknown],
    };
  }
}

function listGiven(env: Environment, all: 'all' | 'all others'): Finding {
  const given = SETTINGS_TABLE.map(({ variable }) => variable).filter((variable) => (env[variable] ?? '') !== '');
  const text = given.length === 0 ? `${all} have their default values` : `set in the environment: ${given.join(', ')}`;
  return { section: 'settings', level: 'ok', text };
}

async function warnAboutUnknown(env: Environment): Promise<Finding[]> {
  const hint = `For a list of all settings, run: ${COMMAND} help settings`;
  return (await describeUnknownVariables(env)).map((text) => ({ section: 'settings', level: 'warning', text, hint }));
}
