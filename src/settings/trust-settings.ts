/** Settings about what is believed of servers, and what is kept from code. */
import { oneOf, onOrOff, type SettingDefinition } from './setting-schemas.ts';

export const TRUST_DEFINITIONS = {
  masksSecrets: {
    variable: 'MCP_BRIDGE_MASK_SECRETS',
    default: '1',
    meaning:
      "Whether secrets of a server's entry are masked in what the server sends. In messages of the bridge they always are.",
    allowed: '0 or 1',
    schema: onOrOff,
  },
  pin: {
    variable: 'MCP_BRIDGE_PIN',
    default: 'warn',
    meaning:
      'What happens when the definition of a tool changes: `warn` shows it, `strict` refuses calls until `servers approve`.',
    allowed: 'off, warn or strict',
    schema: oneOf(['off', 'warn', 'strict']),
  },
} satisfies Record<string, SettingDefinition>;
