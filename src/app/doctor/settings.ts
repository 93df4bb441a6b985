/** What `doctor` checks about the settings. Invalid ones are ignored from then on, so that the other checks still run. */

import { toBridgeError } from '../../core/base/errors.ts';
import { describeUnknownVariables, HOW_TO_LIST_SETTINGS, listSettings } from '../../edges/settings/inspect.ts';
import { refusedVariables, stateDirOf } from '../../edges/settings/settings.ts';
import { NOTHING_STORED, readStoredSettings, type StoredSettings } from '../../edges/settings/stored-settings.ts';
import type { CommandContext, CommandHost } from '../../edges/terminal/command.ts';
import { type Finding, problemOf, problemsOfSettings } from '../../edges/terminal/finding.ts';

type Environment = NodeJS.ProcessEnv;

export interface ExaminedSettings {
  readonly context: CommandContext;
  readonly findings: readonly Finding[];
}

/** The usable settings of `env` and of the file, and findings about all of them. Rejects with `CONFIG_INVALID` inside another bridge. */
export async function examineSettings({
  env,
  createContext,
}: Pick<CommandHost, 'env' | 'createContext'>): Promise<ExaminedSettings> {
  const { stored, unreadable } = await readFile(env);
  const others = [...unreadable, ...(await warnAboutUnknown(env, stored))];
  try {
    return { context: await createContext(env, stored), findings: [...listGiven(env, stored, 'all'), ...others] };
  } catch (thrown) {
    const error = toBridgeError(thrown);
    const refused = Object.keys(refusedVariables(error));
    if (refused.length === 0) {
      throw error;
    }
    const [restOfEnv, values] = [env, stored.values].map((variables) =>
      Object.fromEntries(Object.entries(variables).filter(([name]) => !refused.includes(name))),
    ) as [Environment, StoredSettings['values']];
    const rest = { ...stored, values };
    return {
      context: await createContext(restOfEnv, rest),
      findings: [...problemsOfSettings(error), ...listGiven(restOfEnv, rest, 'all others'), ...others],
    };
  }
}

async function readFile(env: Environment): Promise<{ stored: StoredSettings; unreadable: Finding[] }> {
  try {
    return { stored: await readStoredSettings(stateDirOf(env)), unreadable: [] };
  } catch (error) {
    return { stored: NOTHING_STORED, unreadable: [problemOf('settings', toBridgeError(error))] };
  }
}

function listGiven(env: Environment, stored: StoredSettings, all: 'all' | 'all others'): Finding[] {
  const settings = listSettings(env, stored);
  const given = (['environment', 'file'] as const).flatMap((place) => {
    const names = settings.filter(({ from }) => from === place).map(({ variable }) => variable);
    const where = place === 'file' ? stored.path : 'the environment';
    return names.length === 0 ? [] : [`set in ${where}: ${names.join(', ')}`];
  });
  const texts = given.length === 0 ? [`${all} have their default values`] : given;
  return texts.map((text) => ({ section: 'settings', level: 'ok', text }));
}

async function warnAboutUnknown(env: Environment, stored: StoredSettings): Promise<Finding[]> {
  return (await describeUnknownVariables(env, stored)).map((text) => ({
    section: 'settings',
    level: 'warning',
    text,
    hint: HOW_TO_LIST_SETTINGS,
  }));
}
