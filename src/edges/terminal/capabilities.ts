/** What the output can show: colors, and a line that is redrawn in place. */

/**
 * Whether to color the output. `FORCE_COLOR` (https://force-color.org) overrides `NO_COLOR` (https://no-color.org), as it does in
 * Node.
 */
export function wantsColors(isTerminal: boolean, env: NodeJS.ProcessEnv): boolean {
  const { FORCE_COLOR: forced, NO_COLOR: refused = '', TERM: terminal } = env;
  if (forced !== undefined) {
    return forced !== '0' && forced !== 'false';
  }
  return isTerminal && refused === '' && terminal !== 'dumb';
}

/** Whether a progress line can be redrawn. yocto-spinner checks the same conditions, and prints one line per update if they fail. */
export function canRedrawLine(isTerminal: boolean, env: NodeJS.ProcessEnv): boolean {
  return isTerminal && env['TERM'] !== 'dumb' && !('CI' in env);
}
