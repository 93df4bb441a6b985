/** Whether to colour what is written: on a terminal that knows colours, unless the user says otherwise. */

/** See https://no-color.org and https://force-color.org; the latter wins, as in Node. */
export function wantsColours(isTerminal: boolean, env: NodeJS.ProcessEnv): boolean {
  const { FORCE_COLOR: forced, NO_COLOR: refused = '', TERM: terminal } = env;
  if (forced !== undefined) {
    return forced !== '0' && forced !== 'false';
  }
  return isTerminal && refused === '' && terminal !== 'dumb';
}
