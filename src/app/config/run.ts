/** Carries out `config …`. It works with invalid settings, too, because that is how to correct them. */
import { join } from 'node:path';
import { BridgeError } from '../../core/base/errors.ts';
import { escapeControls, renderJson } from '../../core/base/log.ts';
import { COMMAND } from '../../core/base/package.ts';
import { changeJsonFile } from '../../core/state/change-file.ts';
import { listSettings, type SettingValue, variableNamed, wrongSettings } from '../../edges/settings/inspect.ts';
import { isOfEnvironment, stateDirOf } from '../../edges/settings/settings.ts';
import { readStoredSettings, SETTINGS_FILE, type StoredSettings } from '../../edges/settings/stored-settings.ts';
import type { CommandHost, LineFor } from '../../edges/terminal/command.ts';
import { renderTable } from '../../edges/terminal/text-table.ts';
import type { ConfigCommand } from './command.ts';

/** The clients in which the bridge is registered, with the variables of their entries. */
export type ListClients = (
  env: NodeJS.ProcessEnv,
  stateDir: string,
) => Promise<readonly { title: string; path: string; variables: Readonly<Record<string, string>> }[]>;

type Io = Pick<CommandHost, 'env' | 'writeOut' | 'writeError'> & { readonly listClients: ListClients };

/** Resolves with the exit code. Rejects with `USAGE_INVALID`, `CONFIG_INVALID` or `STATE_WRITE_FAILED`. */
export async function manageSettings(line: ConfigCommand, io: Io): Promise<number> {
  const names = await Promise.all(namesIn(line).map(variableNamed));
  const stateDir = stateDirOf(io.env);
  const isChange = line.action === 'set' || line.action === 'unset';
  if (isChange) {
    const value = line.action === 'set' ? requireValue(line) : undefined;
    await changeJsonFile(join(stateDir, SETTINGS_FILE), async () => {
      const before = await readStoredSettings(stateDir);
      return { ...before.others, ...changed(before, names, value, io.env) };
    });
  }
  const stored = await readStoredSettings(stateDir);
  const all = listSettings(io.env, stored);
  const chosen = all.filter(({ variable, from }) =>
    line.action === 'list' ? line.isAll || from !== 'default' : names.includes(variable),
  );
  io.writeOut(line.isJson ? renderJson(chosen.map(asJson)) : render(line, chosen, stored));
  if (isChange) {
    for (const sentence of await whatWins(names, stateDir, io)) {
      io.writeError(`${escapeControls(sentence)}\n`);
    }
  }
  return 0;
}

function namesIn(line: ConfigCommand): readonly string[] {
  switch (line.action) {
    case 'set':
    case 'get':
      return [line.name];
    case 'unset':
      return line.names;
    case 'list':
      return [];
  }
}

function requireValue({ name, value: given }: LineFor<ConfigCommand, 'set'>): string {
  const value = given.trim();
  if (value === '') {
    throw new BridgeError('USAGE_INVALID', 'the value is empty', {
      hint: `To go back to the default, run: ${COMMAND} config unset ${name}`,
    });
  }
  return value;
}

/** The settings with this value for all the names, or without them. Throws `USAGE_INVALID` if a bridge would refuse to start with them. */
function changed(
  stored: StoredSettings,
  names: readonly string[],
  value: string | undefined,
  env: NodeJS.ProcessEnv,
): StoredSettings['values'] {
  const outside = names.find(isOfEnvironment);
  if (outside !== undefined) {
    throw new BridgeError(
      'USAGE_INVALID',
      `${outside} cannot be kept in the state directory, because it says where that is`,
      {
        hint: `Set it in the environment, for example with: ${COMMAND} install CLIENT --env NAME=VALUE`,
      },
    );
  }
  const rest = Object.entries(stored.values).filter(([name]) => !names.includes(name));
  const next = {
    ...Object.fromEntries(rest),
    ...(value !== undefined && Object.fromEntries(names.map((name) => [name, value]))),
  };
  // The value is not yet in the file.
  const check = (values: StoredSettings['values']) => wrongSettings(env, { ...stored, path: '', values });
  const known = check(stored.values);
  const wrong = check(next).find((sentence) => !known.includes(sentence));
  if (wrong !== undefined) {
    throw new BridgeError('USAGE_INVALID', wrong, {
      hint: `Nothing was changed. For what it means, run: ${COMMAND} help ${names[0]}`,
    });
  }
  return next;
}

function render(line: ConfigCommand, chosen: readonly SettingValue[], { path }: StoredSettings): string {
  if (line.action === 'get') {
    return chosen.map(({ value = '' }) => `${escapeControls(value)}\n`).join('');
  }
  if (line.action === 'list') {
    const rows = chosen.map(({ variable, value = '-', from, invalid }) => [
      variable,
      value,
      [
        ...(line.isAll || from === 'environment' ? [from] : []),
        ...(invalid === undefined ? [] : [`invalid; ${invalid}`]),
      ].join(', '),
    ]);
    return renderTable(rows, `No setting is kept in ${path}, and the environment has none.`);
  }
  const lines = chosen.map(({ variable }) =>
    line.action === 'set' ? `${variable} is kept in ${path}.` : `${variable} is no longer kept in ${path}.`,
  );
  return `${lines.map(escapeControls).join('\n')}\nBridges read it when their client starts them again.\n`;
}

function asJson({ variable, value, from, invalid }: SettingValue) {
  return { name: variable, value: value ?? null, from, ...(invalid !== undefined && { invalid }) };
}

/** Where a setting is also set, so that the file has no effect on it. */
async function whatWins(names: readonly string[], stateDir: string, { env, listClients }: Io): Promise<string[]> {
  const clients = await listClients(env, stateDir);
  return names.flatMap((name) => [
    ...((env[name] ?? '').trim() === '' ? [] : [`The environment of this shell sets ${name}, too, which wins there.`]),
    ...clients
      .filter(({ variables }) => (variables[name] ?? '').trim() !== '')
      .map(({ title, path }) => `${title} sets ${name}, too, in ${path}, which wins there.`),
  ]);
}
