/**
 * The logger: one line per event on stderr, because stdout belongs to MCP. Control characters are escaped, because log
 * messages may contain text from sandboxes and servers.
 */

export const LOG_LEVELS = ['DEBUG', 'INFO', 'WARNING', 'ERROR'] as const;
export type LogLevel = (typeof LOG_LEVELS)[number];

export interface Logger {
  debug(message: string): void;
  info(message: string): void;
  warning(message: string): void;
  error(message: string): void;
}

/** Escapes control and bidirectional formatting characters as `\xNN`, so that the text cannot control a terminal or forge a log line. */
export function escapeControls(text: string): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: finding them is the purpose.
  return text.replace(/[\u0000-\u001f\u007f-\u009f\u2028-\u202e\u2066-\u2069]/g, (character) => {
    return `\\x${character.charCodeAt(0).toString(16).padStart(2, '0')}`;
  });
}

/** The same for text of several lines: keeps line feeds and tabs. */
export function escapeInLines(text: string): string {
  return text
    .split(/(\n|\t)/)
    .map((part) => (part === '\n' || part === '\t' ? part : escapeControls(part)))
    .join('');
}

/** JSON text with the characters escaped that JSON allows in strings but a terminal acts on. The value stays the same. */
export function escapeInJson(json: string): string {
  return json.replace(/[\u007f-\u009f\u2028-\u202e\u2066-\u2069]/g, (character) => {
    return `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`;
  });
}

/** A logger that writes messages of at least `level` with `write`, by default to stderr. */
export function createLogger(level: LogLevel, write: (line: string) => void = writeToStderr): Logger {
  const threshold = LOG_LEVELS.indexOf(level);
  function at(lineLevel: LogLevel) {
    if (LOG_LEVELS.indexOf(lineLevel) < threshold) {
      return (): void => undefined;
    }
    return (message: string): void => write(`${new Date().toISOString()} ${lineLevel} ${escapeControls(message)}\n`);
  }
  return { debug: at('DEBUG'), info: at('INFO'), warning: at('WARNING'), error: at('ERROR') };
}

/** A logger that drops everything; the default for code that gets no logger. */
export const silentLogger: Logger = createLogger('ERROR', () => undefined);

function writeToStderr(line: string): void {
  process.stderr.write(line);
}
