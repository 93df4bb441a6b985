/**
 * The only way for data from servers into the catalog. Makes hidden characters visible, limits the size of texts and schemas,
 * and reports in notices what it changed or left out. Anything that needs no change is used without copying it.
 */

import { isObject } from '../base/is-object.ts';
import type { KnownTool, ServerMetadata, ServerWords } from './known.ts';
import { makeVisible, visibleText } from './visible.ts';

/** A tool as its server lists it (MCP `tools/list`). Only the name has been checked. */
export interface ListedTool {
  readonly name: string;
  readonly title?: unknown;
  readonly description?: unknown;
  readonly inputSchema?: unknown;
  readonly outputSchema?: unknown;
  readonly annotations?: unknown;
}

type JsonSchema = Readonly<Record<string, unknown>>;

/** The same limit as for the name in a call. */
const MAX_NAME_CHARS = 1_000;
const MAX_TITLE_CHARS = 500;
/** Chosen: above the longest of 1,084 real descriptions. */
const MAX_DESCRIPTION_CHARS = 20_000;
const MAX_INSTRUCTIONS_CHARS = 20_000;
/** Chosen: far above the largest of 1,084 real schemas. */
const MAX_SCHEMA_CHARS = 256 * 1024;
/** Chosen: the deepest of 1,084 real schemas has 21 levels. */
const MAX_SCHEMA_DEPTH = 64;
const MAX_ANNOTATION_CHARS = 4 * 1024;
/** All tools of one server together. Chosen: 16,575 real tools take 25 MB. */
const MAX_SERVER_CHARS = 16 * 1024 * 1024;
const MAX_NOTICES = 20;

/** Texts under these keys are only for reading: no call sends them back to the server. */
const PROSE: ReadonlySet<string> = new Set(['description', 'title', '$comment']);

export interface Intake {
  /** Adds a tool of the server. */
  add(tool: ListedTool, fingerprint?: string): void;
  /** The result. `notices` are those of the code that read the list; they come first. */
  finish(words: ServerWords, notices: readonly string[]): ServerMetadata;
}

/** Takes in one server tool by tool, so that the caller can pause in between. */
export function createIntake(): Intake {
  const tools = new Map<string, KnownTool>();
  const said = new Notices();
  let chars = 0;

  return {
    add(listed, fingerprint) {
      if (chars > MAX_SERVER_CHARS) {
        const limit = `${MAX_SERVER_CHARS / 1024 / 1024} million characters`;
        said.add(`only the first ${tools.size.toLocaleString('en-US')} tools were kept: together they have ${limit}`);
        return;
      }
      const name = makeVisible(listed.name);
      if (name.length > MAX_NAME_CHARS || tools.has(name)) {
        said.add(
          tools.has(name)
            ? 'of tools with the same name only the first was kept'
            : `tools with names longer than ${MAX_NAME_CHARS.toLocaleString('en-US')} characters were left out`,
        );
        return;
      }
      const taken = takeTool(name, listed, said);
      chars += taken.chars;
      tools.set(name, fingerprint === undefined ? taken.tool : { ...taken.tool, fingerprint });
    },
    finish(words, notices) {
      const about = takeWords(words, said);
      return {
        tools: [...tools.values()],
        notices: [...new Set([...notices.map(makeVisible), ...said.list()])],
        ...about,
      };
    },
  };
}

/** Replaces texts that were made visible by the exact texts that the server expects. */
export function restoreHidden(value: unknown, hidden: readonly (readonly [string, string])[]): unknown {
  const exact = new Map(hidden);
  const restore = (part: unknown): unknown => {
    if (typeof part === 'string') {
      return exact.get(part) ?? part;
    }
    if (Array.isArray(part)) {
      return part.map(restore);
    }
    return isObject(part)
      ? Object.fromEntries(Object.entries(part).map(([key, member]) => [exact.get(key) ?? key, restore(member)]))
      : part;
  };
  return restore(value);
}

/** Clauses about what was changed, without duplicates and limited in number. */
class Notices {
  readonly #clauses = new Set<string>();
  #more = 0;

  add(clause: string): void {
    if (this.#clauses.size < MAX_NOTICES || this.#clauses.has(clause)) {
      this.#clauses.add(clause);
    } else {
      this.#more += 1;
    }
  }

  list(): string[] {
    return this.#more === 0 ? [...this.#clauses] : [...this.#clauses, `and ${this.#more} more like these`];
  }
}

function takeTool(name: string, listed: ListedTool, said: Notices): { tool: KnownTool; chars: number } {
  const about = (what: string) => `the ${what} of '${name.slice(0, 80)}'`;
  const description = takeText(listed.description, MAX_DESCRIPTION_CHARS, () =>
    said.add(`${about('description')} was cut to ${MAX_DESCRIPTION_CHARS.toLocaleString('en-US')} characters`),
  );
  const hidden = new Map<string, string>();
  const schema = takeSchema(listed.inputSchema, hidden, () =>
    said.add(`${about('input schema')} is too large to keep`),
  );
  const output = takeSchema(listed.outputSchema, new Map(), () =>
    said.add(`${about('output schema')} is too large to keep`),
  );
  const title = takeText(listed.title, MAX_TITLE_CHARS, () => undefined);
  const annotations = new Cleaner(MAX_ANNOTATION_CHARS, new Map());
  const hints = isObject(listed.annotations) ? annotations.clean(listed.annotations) : undefined;
  const tool: KnownTool = {
    name,
    ...(name === listed.name ? {} : { wireName: listed.name }),
    ...(title === '' ? {} : { title }),
    description,
    inputSchema: schema.value ?? {},
    ...(output.value === undefined ? {} : { outputSchema: output.value }),
    ...(isObject(hints) && !annotations.isCut ? { annotations: hints } : {}),
    ...(hidden.size === 0 ? {} : { hiddenTexts: [...hidden] }),
  };
  return { tool, chars: name.length + description.length + schema.chars + output.chars };
}

function takeWords(words: ServerWords, said: Notices): Omit<ServerMetadata, 'tools' | 'notices'> {
  const instructions = takeText(words.instructions, MAX_INSTRUCTIONS_CHARS, () =>
    said.add(`its instructions were cut to ${MAX_INSTRUCTIONS_CHARS.toLocaleString('en-US')} characters`),
  );
  const short = (text: string | undefined) => takeText(text, MAX_TITLE_CHARS, () => undefined);
  const texts = {
    protocolVersion: short(words.protocolVersion),
    serverName: short(words.serverName),
    serverVersion: short(words.serverVersion),
    instructions,
  };
  const capabilities = takeSchema(words.capabilities, new Map(), () =>
    said.add('its capabilities are too large to keep'),
  );
  return {
    ...Object.fromEntries(Object.entries(texts).filter(([, text]) => text !== '')),
    ...(capabilities.value === undefined ? {} : { capabilities: capabilities.value }),
  };
}

/** Empty for anything that is not a string. */
function takeText(text: unknown, maxChars: number, onCut: () => void): string {
  if (typeof text !== 'string') {
    return '';
  }
  if (text.length > maxChars) {
    onCut();
  }
  return visibleText(text, maxChars);
}

interface TakenSchema {
  readonly value: JsonSchema | undefined;
  readonly chars: number;
}

function takeSchema(schema: unknown, hidden: Map<string, string>, onCut: () => void): TakenSchema {
  if (!isObject(schema)) {
    return { value: undefined, chars: 0 };
  }
  const cleaner = new Cleaner(MAX_SCHEMA_CHARS, hidden);
  const value = cleaner.clean(schema) as JsonSchema;
  if (!cleaner.isCut) {
    return { value, chars: cleaner.chars };
  }
  onCut();
  hidden.clear();
  const description = `The schema is too large to show: more than ${MAX_SCHEMA_CHARS.toLocaleString('en-US')} characters or ${MAX_SCHEMA_DEPTH} levels.`;
  return { value: { type: 'object', description }, chars: description.length };
}

/** Makes the texts of a JSON value visible and adds up its size; stops at a limit. */
class Cleaner {
  readonly #maxChars: number;
  readonly #hidden: Map<string, string>;
  chars = 0;
  isCut = false;

  constructor(maxChars: number, hidden: Map<string, string>) {
    this.#maxChars = maxChars;
    this.#hidden = hidden;
  }

  /** Returns the same object if nothing had to be changed. */
  clean(value: unknown, depth = MAX_SCHEMA_DEPTH, isProse = false): unknown {
    this.chars += 6; // Roughly the size of punctuation, numbers and keywords.
    if (depth === 0 || this.chars > this.#maxChars) {
      this.isCut = true;
    }
    if (this.isCut) {
      return undefined;
    }
    if (typeof value === 'string') {
      return this.#cleanString(value, isProse);
    }
    if (Array.isArray(value)) {
      const members = value.map((member) => this.clean(member, depth - 1));
      return members.some((member, index) => member !== value[index]) ? members : value;
    }
    return isObject(value) ? this.#cleanObject(value, depth) : value;
  }

  #cleanObject(value: JsonSchema, depth: number): JsonSchema {
    const before = Object.entries(value);
    const after = before.map(([key, member]): [string, unknown] => [
      this.#cleanString(key, false),
      this.clean(member, depth - 1, PROSE.has(key)),
    ]);
    const isSame = after.every(([key, member], index) => key === before[index]?.[0] && member === before[index][1]);
    return isSame ? value : Object.fromEntries(after);
  }

  #cleanString(text: string, isProse: boolean): string {
    this.chars += text.length;
    if (this.chars > this.#maxChars) {
      this.isCut = true;
      return '';
    }
    const visible = makeVisible(text);
    if (visible !== text && !isProse) {
      this.#hidden.set(visible, text);
    }
    return visible;
  }
}
