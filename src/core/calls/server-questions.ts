/**
 * Passes questions of servers to the person (MCP: client/elicitation): checks them, limits their size, and adds the name of
 * the server. The bridge never answers for the person.
 */
import type { Question, Reply } from '../base/cell.ts';
import { BridgeError } from '../base/errors.ts';
import { isObject, type JsonObject } from '../base/is-object.ts';
import type { Logger } from '../base/log.ts';
import { makeVisible, oneLine, quoted } from '../catalog/visible.ts';
import { type Elicit, RequestError } from '../protocol/server-requests.ts';
import type { Asker } from '../session/asker.ts';

/** Limits of a question, chosen so that a person can read it. */
const MAX_LINES = 40;
const MAX_LINE_CHARS = 500;
const MAX_TITLE_CHARS = 300;
const MAX_URL_CHARS = 2_048;
const MAX_FIELDS = 50;
const MAX_SCHEMA_BYTES = 32 * 1024;
/** Members of a schema that are shown but not sent back. */
const DISPLAY_KEYS: ReadonlySet<string> = new Set(['title', 'description', 'enumNames']);

/** Members that people choose from. They have one line; a default may have several. */
const CHOICE_KEYS: ReadonlySet<string> = new Set(['enum', 'const']);

/** Asks the questions of a server for the calls of a cell; undefined if the person cannot be asked. */
export function elicitFor(server: string, asker: Asker | undefined, logger: Logger): Elicit | undefined {
  if (asker === undefined) {
    return undefined;
  }
  return async (params, signal) => {
    const question = params['mode'] === 'url' ? pageQuestion(server, params, asker) : formQuestion(server, params);
    try {
      return toResult(await asker.ask(question, signal));
    } catch (error) {
      if (!(error instanceof BridgeError)) {
        throw error;
      }
      logger.info(`A question of server '${server}' to the person got no answer: ${error.message}`);
      return { action: 'cancel' };
    }
  };
}

function toResult({ action, content }: Reply): JsonObject {
  return content === undefined ? { action } : { action, content };
}

function formQuestion(server: string, { message, requestedSchema }: JsonObject): Question {
  const { type, properties } = isObject(requestedSchema) ? requestedSchema : {};
  if (typeof message !== 'string' || type !== 'object' || !isObject(properties)) {
    throw refused('a form needs a message, and a requestedSchema of type object with properties');
  }
  if (Object.keys(properties).length > MAX_FIELDS || JSON.stringify(requestedSchema).length > MAX_SCHEMA_BYTES) {
    throw refused(`a form has at most ${MAX_FIELDS} fields and ${MAX_SCHEMA_BYTES} bytes`);
  }
  return {
    mode: 'form',
    message: [`Server '${oneLine(server, 100)}' asks:`, quoted(message, MAX_LINES, MAX_LINE_CHARS), AFTERWARDS].join(
      '\n\n',
    ),
    requestedSchema: shownSchema(requestedSchema, '') as JsonObject,
  };
}

const AFTERWARDS = 'The text above and the fields come from the server, and what you enter goes to it.';

function pageQuestion(server: string, { message, url }: JsonObject, { opensPages }: Asker): Question {
  if (!opensPages) {
    throw refused('this client cannot open pages');
  }
  const address =
    typeof url === 'string' && url.length <= MAX_URL_CHARS && URL.canParse(url) ? new URL(url) : undefined;
  const isWeb = address?.protocol === 'https:' || address?.protocol === 'http:';
  if (address === undefined || !isWeb || address.username !== '' || address.password !== '') {
    throw refused(`a page needs an http or https address without a password, of at most ${MAX_URL_CHARS} characters`);
  }
  const words = typeof message === 'string' ? quoted(message, MAX_LINES, MAX_LINE_CHARS) : '> (no message)';
  const where = `The text above comes from the server. The page is on ${address.host}; what you do there does not pass through the bridge.`;
  return {
    mode: 'url',
    message: [`Server '${oneLine(server, 100)}' asks you to open a page:`, words, where].join('\n\n'),
    url: address.href,
  };
}

/** The schema with hidden characters in its texts made visible. Texts that are sent back cannot change, so they must have none. */
function shownSchema(value: unknown, key: string): unknown {
  if (typeof value === 'string') {
    return DISPLAY_KEYS.has(key) ? oneLine(value, MAX_TITLE_CHARS) : unchanged(value, CHOICE_KEYS.has(key));
  }
  if (Array.isArray(value)) {
    return value.map((item) => shownSchema(item, key));
  }
  if (!isObject(value)) {
    return value;
  }
  return Object.fromEntries(
    Object.entries(value).map(([name, member]) => [unchanged(name, true), shownSchema(member, name)]),
  );
}

function unchanged(text: string, isOneLine: boolean): string {
  if (makeVisible(text) !== text || (isOneLine && /[\n\t]/.test(text))) {
    throw refused('names and values of a form must not have invisible characters');
  }
  return text;
}

function refused(why: string): RequestError {
  return new RequestError('malformed', `the question cannot be asked: ${why}`);
}
