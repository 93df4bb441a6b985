/** The clients that the bridge knows: their names in settings and commands. Apart from the table, which a start does not need. */

export const CLIENT_IDS = [
  'claude-code',
  'claude-desktop',
  'cursor',
  'vscode',
  'windsurf',
  'codex',
  'gemini',
  'opencode',
  'zed',
  'cline',
  'goose',
] as const;
export type ClientId = (typeof CLIENT_IDS)[number];
