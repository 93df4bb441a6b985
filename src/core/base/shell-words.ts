/** The words of a command line: quoting them for a shell, and splitting what a person wrote. */

/** A word as typed in a shell of the platform: quoted if it contains more than harmless characters. */
export function quoteShellWord(word: string, platform: NodeJS.Platform = process.platform): string {
  if (platform === 'win32') {
    return /^[\w@+=:,./\\~-]+$/.test(word) ? word : `"${word}"`;
  }
  return /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`;
}

/**
 * Splits a command into words as a shell does, but without expansion, pipes or anything else of a shell. Blanks separate words;
 * everything in single quotes is literal; elsewhere, `\` escapes a quote, a blank or another `\`. Undefined if a quote is not
 * closed or there is no word.
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
