/** Names of servers in commands that a person is to type. */

/** A word as a POSIX shell takes it: in quotes when it holds more than letters, digits and harmless signs. */
export function inShell(word: string): string {
  return /^[\w@%+:,./-]+$/.test(word) && !word.startsWith('-') ? word : `'${word.replaceAll("'", String.raw`'\''`)}'`;
}
