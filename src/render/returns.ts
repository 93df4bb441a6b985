/**
 * Carriage returns as a terminal takes them: what follows one is written over the line from its start. Progress bars
 * draw themselves so, hundreds of times; only the last state of a line is worth showing.
 */

const RETURN = '\r';

/** `text` with every line in its final state. The carriage return of a line end, as Windows writes it, stays. */
export function settleReturns(text: string): string {
  if (!text.includes(RETURN)) {
    return text;
  }
  return text.split('\n').map(settleLine).join('\n');
}

function settleLine(line: string): string {
  const end = line.endsWith(RETURN) ? RETURN : '';
  const states = line.slice(0, line.length - end.length).split(RETURN);
  return states.reduce((shown, state) => state + shown.slice(state.length)) + end;
}
