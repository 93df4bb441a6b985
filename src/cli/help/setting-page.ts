/** `help MCP_BRIDGE_…`: what docs/reference/settings.md says about one setting. */
import { SETTINGS_TABLE } from '../../settings/settings.ts';

/** The page of a variable, as Markdown; undefined when there is no such setting. */
export function renderSettingPage(variable: string): string | undefined {
  const setting = SETTINGS_TABLE.find((candidate) => candidate.variable === variable);
  if (setting === undefined) {
    return undefined;
  }
  const standard = setting.default === '' ? 'none' : `\`${setting.default}\``;
  return `# ${variable}

${setting.meaning}

- **Default**: ${standard}
- **Allowed**: ${setting.allowed}

Set it in the \`env\` of the entry that registers the bridge in your MCP client. \`help settings\` lists all.
`;
}
