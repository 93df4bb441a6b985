/** `config …`: settings that are kept in a file of the state directory. */
import { BridgeError } from '../../core/base/errors.ts';
import { COMMAND } from '../../core/base/package.ts';
import { action, argument, flag, type Group, type LineOf } from '../../edges/terminal/define.ts';

export const CONFIG = {
  command: 'config',
  summary: 'show and change settings',
  description: 'Show and change the settings that are kept in settings.json of the state directory.',
  defaultAction: 'list',
  actions: () => ({
    set: action(
      'Keep a setting.',
      {
        name: argument('<setting>', 'with or without MCP_BRIDGE_, such as timeout'),
        value: argument('<value>', 'its value, such as 60s'),
      },
      {
        notes:
          'It applies in all clients, from the next start of the bridge. What the environment sets, such as "env" in the entry of a client, wins.',
        refine: (definition) => definition.allowExcessArguments(),
        check({ name }, { args: [, ...words] }) {
          if (words.length > 1) {
            throw new BridgeError('USAGE_INVALID', `the value has ${words.length} words: ${words.join(' ')}`, {
              hint: `Write it as one word: ${COMMAND} config set ${name} ${words.join('')}; or quote it, if it has spaces.`,
            });
          }
        },
      },
    ),
    get: action('Print the value of a setting, as it is in this environment.', {
      name: argument('<setting>', 'with or without MCP_BRIDGE_'),
    }),
    list: action('List the settings that are set, and where.', {
      isAll: flag('--all', 'also those that have their default value'),
    }),
    unset: action('No longer keep settings, so that their defaults apply.', {
      names: argument('<setting...>', 'with or without MCP_BRIDGE_'),
    }),
  }),
} as const satisfies Group;

export type ConfigCommand = LineOf<typeof CONFIG>;
