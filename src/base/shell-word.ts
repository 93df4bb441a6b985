/** Words in commands that a person is to type. */

/** A word as it is typed in a shell of the platform: in quotes when it holds more than harmless signs. */
export function quoteShellWord(word: string, platform: NodeJS.Platform = process.platform): string {
  if (platform === 'win32') {
    return /^[\w@+=:,./\\~-]+$/.test(word) ? word : `"${word}"`;
  }
  return /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`;
}
