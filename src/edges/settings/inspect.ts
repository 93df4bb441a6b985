/** What is set and what is wrong, for commands. Apart from what each start loads. */
import { BridgeError } from '../../core/base/errors.ts';
import { escapeControls } from '../../core/base/log.ts';
import { COMMAND } from '../../core/base/package.ts';
import { didYouMean } from '../../core/base/suggest.ts';
import {
  isGiven,
  isKnown,
  isOfEnvironment,
  loadSettings,
  REMOVED_VARIABLES,
  refusedVariables,
  SETTINGS_TABLE,
  storedTexts,
} from './settings.ts';
import { NOTHING_STORED, type StoredSettings } from './stored-settings.ts';

type Environment = Readonly<Record<string, string | undefined>>;

const PREFIX = 'MCP_BRIDGE_';
/** A hint. */
export const HOW_TO_LIST_SETTINGS = `For a list of all settings, run: ${COMMAND} config list --all`;

/**
 * One sentence for each unknown `MCP_BRIDGE_*` variable: a setting that was removed, or probably a misspelling. And for whatever the file
 * has that does not apply.
 */
export async function describeUnknownVariables(env: Environment, stored = NOTHING_STORED): Promise<string[]> {
  const known = SETTINGS_TABLE.map((setting) => setting.variable);
  const describe = async (variable: string, place: string): Promise<string> => {
    const instead = REMOVED_VARIABLES[variable];
    return instead === undefined
      ? `${escapeControls(variable)} is set${place}, but there is no such setting.${await didYouMean(variable, known)}`
      : `${variable} is set${place}, but this setting was removed: ${instead}.`;
  };
  const inEnv = Object.keys(env).filter((variable) => variable.startsWith(PREFIX) && !isKnown(variable));
  const keys = Object.keys(stored.values);
  const place = ` in ${stored.path}`;
  return [
    ...(await Promise.all(inEnv.map((variable) => describe(variable, '')))),
    ...(await Promise.all(keys.filter((key) => !isKnown(key)).map((key) => describe(key, place)))),
    ...keys
      .filter(isOfEnvironment)
      .map((key) => `${key} is set${place}, where it has no effect: only the environment sets it.`),
    ...Object.keys(stored.others).map(
      (key) =>
        `'${escapeControls(key)}'${place} is not a setting with a value. If it holds MCP servers, rename the file: this name is for settings.`,
    ),
  ];
}

/** Where a setting has its value from. */
export interface SettingValue {
  readonly variable: string;
  /** As written; undefined if it is not set and has no default. */
  readonly value: string | undefined;
  readonly from: 'environment' | 'file' | 'default';
  /** What is wrong with the value, and what is allowed; undefined if nothing is. */
  readonly invalid: string | undefined;
}

/** The value of each setting, in the order of the documentation. */
export function listSettings(env: Environment, stored: StoredSettings): SettingValue[] {
  const refused = refusedIn(env, stored);
  const texts = storedTexts(env, stored);
  return SETTINGS_TABLE.map(({ variable, default: usual }) => {
    const inFile = texts[variable]?.trim() || undefined;
    const invalid = refused[variable];
    return isGiven(env, variable)
      ? { variable, value: env[variable]?.trim(), from: 'environment', invalid }
      : {
          variable,
          value: inFile ?? (usual === '' ? undefined : usual),
          from: inFile === undefined ? 'default' : 'file',
          invalid,
        };
  });
}

function refusedIn(env: Environment, stored: StoredSettings): Readonly<Record<string, string>> {
  try {
    loadSettings(env, stored);
    return {};
  } catch (error) {
    if (!(error instanceof BridgeError)) {
      throw error;
    }
    return refusedVariables(error);
  }
}

/** The setting that someone means by `timeout`, `log-level` or `MCP_BRIDGE_TIMEOUT`. Rejects with `USAGE_INVALID`. */
export async function variableNamed(name: string): Promise<string> {
  const known = SETTINGS_TABLE.map(({ variable }) => variable);
  const upper = name.trim().toUpperCase().replaceAll(/[\s-]/g, '_');
  const found = [upper, `${PREFIX}${upper}`].find((variable) => known.includes(variable));
  if (found !== undefined) {
    return found;
  }
  const removed = [upper, `${PREFIX}${upper}`].find((variable) => REMOVED_VARIABLES[variable] !== undefined) ?? '';
  const instead = REMOVED_VARIABLES[removed];
  const why =
    instead === undefined
      ? await didYouMean(`${PREFIX}${upper.replace(PREFIX, '')}`, known)
      : ` ${removed} was removed: ${instead}.`;
  throw new BridgeError('USAGE_INVALID', `there is no setting '${escapeControls(name.slice(0, 80))}'.${why}`, {
    hint: HOW_TO_LIST_SETTINGS,
  });
}

/** What is wrong with the settings in the file, whatever else the environment sets; one sentence each. */
export function wrongSettings(env: Environment, stored: StoredSettings): readonly string[] {
  const known = new Set(SETTINGS_TABLE.map(({ variable }) => variable));
  const rest = Object.entries(env).filter(([name]) => !known.has(name));
  try {
    loadSettings(Object.fromEntries(rest), stored);
    return [];
  } catch (error) {
    const sentences = error instanceof BridgeError ? error.data['sentences'] : undefined;
    if (!Array.isArray(sentences)) {
      throw error;
    }
    return sentences as string[];
  }
}

/** What is wrong among the variables of a client's entry, one sentence each. Values that the client fills in are not checked. */
export async function checkVariables(variables: Environment) {
  const isWritten = (value: string | undefined): value is string =>
    value !== undefined && !/\$\{|^\{env:|^\$\w/.test(value);
  const values = Object.fromEntries(Object.entries(variables).filter(([, value]) => isWritten(value)));
  const unknown = await describeUnknownVariables(variables);
  return { wrong: wrongSettings(values, { path: '', values: values as Record<string, string>, others: {} }), unknown };
}

/** An error of `loadSettings` that names the command that corrects what is in the file. Any other error is returned as it is. */
export function withCommandToCorrect(error: unknown): unknown {
  const inFile = error instanceof BridgeError ? (error.data['inFile'] as readonly string[] | undefined) : undefined;
  const [first, ...others] = inFile ?? [];
  if (!(error instanceof BridgeError) || inFile === undefined || first === undefined) {
    return error;
  }
  const usual = SETTINGS_TABLE.find(({ variable }) => variable === first)?.default;
  const setting = others.length > 0 ? 'NAME VALUE' : `${shortNameOf(first)} ${usual || 'VALUE'}`;
  const unset = `${COMMAND} config unset ${inFile.map(shortNameOf).join(' ')}`;
  const isAllInFile = inFile.length === Object.keys(refusedVariables(error)).length;
  const steps = [...(isAllInFile ? [] : [error.hint]), `Run: ${COMMAND} config set ${setting}, or: ${unset}`];
  return new BridgeError(error.code, error.message, { data: error.data, hint: steps.join(' '), cause: error });
}

/** `log-level` for `MCP_BRIDGE_LOG_LEVEL`, as commands take it. */
function shortNameOf(variable: string): string {
  return variable.startsWith(PREFIX) ? variable.slice(PREFIX.length).toLowerCase().replaceAll('_', '-') : variable;
}
