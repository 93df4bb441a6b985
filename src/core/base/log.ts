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
  /** A warning about the machine or a server, which every start would repeat: logged once a day. `doctor` says it each time. */
  daily(message: string): void;
}

const DAY_MS = 24 * 60 * 60 * 1000;
/** Messages that are not repeated; a server that has more of them gets a line for each. Chosen: far more than there are. */
const MAX_DAILY = 100;

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

/** JSON on several lines that may go to a terminal, with a line break at its end. */
export function renderJson(value: unknown): string {
  return `${escapeInJson(JSON.stringify(value, undefined, 2))}\n`;
}

/** JSON text with the characters escaped that JSON allows in strings but a terminal acts on. The value stays the same. */
export function escapeInJson(json: string): string {
  return json.replace(/[\u007f-\u009f\u2028-\u202e\u2066-\u2069]/g, (character) => {
    return `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`;
  });
}

/**
 * A logger that writes messages of at least `level` with `write`, by default to stderr. `isDue` says whether today is the first time for a
 * message that is said once a day; by default, each logger says it.
 */
export function createLogger(
  level: LogLevel,
  write: (line: string) => void = writeToStderr,
  isDue?: (message: string) => Promise<boolean>,
): Logger {
  const threshold = LOG_LEVELS.indexOf(level);
  const saidAt = new Map<string, number>();
  function at(lineLevel: LogLevel) {
    if (LOG_LEVELS.indexOf(lineLevel) < threshold) {
      return (): void => undefined;
    }
    return (message: string): void => write(`${new Date().toISOString()} ${lineLevel} ${escapeControls(message)}\n`);
  }
  const warning = at('WARNING');
  const daily = (message: string): void => {
    const now = Date.now();
    if (LOG_LEVELS.indexOf('WARNING') < threshold || now - (saidAt.get(message) ?? Number.NEGATIVE_INFINITY) < DAY_MS) {
      return;
    }
    if (saidAt.size >= MAX_DAILY && !saidAt.has(message)) {
      warning(message);
      return;
    }
    saidAt.set(message, now);
    if (isDue === undefined) {
      warning(message);
    } else {
      void isDue(message)
        .catch(() => true)
        .then((due) => due && warning(`${message} (said once a day)`));
    }
  };
  return { debug: at('DEBUG'), info: at('INFO'), warning, error: at('ERROR'), daily };
}

/** A logger that drops everything; the default for code that gets no logger. */
export const silentLogger: Logger = createLogger('ERROR', () => undefined);

function writeToStderr(line: string): void {
  process.stderr.write(line);
}
