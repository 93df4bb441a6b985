/** Splits a command line into words, as a person writes it in a setting or an entry. */

/**
 * The words of a command, as a shell splits them but with nothing else that a shell does: blanks separate; between single
 * quotes everything stands for itself; between double quotes and outside, `\` stands before a quote, a blank or another `\`.
 * Undefined when a quote is not closed, or there is no word.
 */
export function splitWords(command: string): string[] | undefined {
  const words: string[] = [];
  const part = /'([^']*)'|"((?:\\["\\]|[^"])*)"|((?:\\["'\\ \t]|[^\s"'])+)|([ \t\r\n]+)|(.)/gs;
  let word: string | undefined;
  for (const [, single, double, bare, blank, other] of command.trim().matchAll(part)) {
    if (other !== undefined) {
      return undefined;
    }
    if (blank !== undefined) {
      words.push(word ?? '');
      word = undefined;
    } else {
      word =
        (word ?? '') + (single ?? double?.replace(/\\(["\\])/g, '$1') ?? bare?.replace(/\\(["'\\ \t])/g, '$1') ?? '');
    }
  }
  const all = word === undefined ? words : [...words, word];
  return all[0] === undefined || all[0] === '' ? undefined : all;
}
