/**
 * Compares the tool definitions of servers with the accepted ones, and marks the differences. The first list of a server is
 * accepted as it is. After that, a changed tool is shown as changed, or refused, until a person accepts it.
 */

import { messageOf } from '../../core/base/errors.ts';
import type { Logger } from '../../core/base/log.ts';
import { createPause } from '../../core/base/slices.ts';
import type { KnownTool, ServerMetadata, ToolChange } from '../../core/catalog/known.ts';
import { describeChange, withChange } from '../../core/catalog/tool-change.ts';
import type {
  DefinitionReview,
  DescribedServer,
  MetadataSource,
  PinMode,
  ToolDifference,
} from '../../core/directory/server-metadata.ts';
import {
  changeOf,
  hintToAccept,
  lengthOf,
  mayBeKept,
  shorten,
  shownOf,
  summarize,
  type ToolWarning,
} from './tool-differences.ts';
import type { PinnedTool, ToolPinStore } from './tool-pins.ts';

export interface ToolPins extends MetadataSource, DefinitionReview {}

interface ToolPinsOptions {
  readonly source: MetadataSource;
  readonly store: ToolPinStore;
  /** For servers whose entry has no `pin`. */
  readonly mode: () => PinMode;
  /** The principal whose server it is; undefined if it is shared. */
  readonly ownerOf: (server: string) => string | undefined;
  readonly logger: Logger;
}

/** Changes that are remembered so as to be logged once: a server can change its tools without end. Chosen: one whole list. */
const MAX_LOGGED = 10_000;
/**
 * Accepted tools of one server, which can show others in each list: two of the longest lists. Beyond it, none is added but what a person
 * accepts, so that those that are accepted stay so, and the file can be read. Chosen.
 */
export const MAX_ACCEPTED = 20_000;
/** Characters of their texts, which are for people. Chosen: as for the cached tools of a server. */
const MAX_TEXT_CHARS = 16_000_000;

/** Wraps a source so that its tools are compared with the accepted ones. */
export function createToolPins(options: ToolPinsOptions): ToolPins {
  return new Pins(options);
}

interface Accepted {
  readonly stamp: string;
  readonly tools: ReadonlyMap<string, PinnedTool>;
}

interface Compared {
  readonly mode: PinMode;
  readonly stamp: string;
  readonly metadata: ServerMetadata;
}

class Pins implements ToolPins {
  readonly #options: ToolPinsOptions;
  readonly #accepted = new Map<string, Accepted>();
  readonly #compared = new WeakMap<ServerMetadata, Compared>();
  /** The metadata before the comparison, by its marked copy. */
  readonly #originals = new WeakMap<ServerMetadata, ServerMetadata>();
  /** Comparisons of a server run one at a time, because the first one writes. */
  readonly #turns = new Map<string, Promise<unknown>>();
  readonly #logged = new Set<string>();
  #hasWarned = false;

  constructor(options: ToolPinsOptions) {
    this.#options = options;
  }

  async kept(server: DescribedServer): Promise<ServerMetadata | undefined> {
    const metadata = await this.#options.source.kept(server);
    return metadata && (await this.#compare(server, metadata));
  }

  async current(server: DescribedServer, signal: Parameters<MetadataSource['current']>[1]): Promise<ServerMetadata> {
    return this.#compare(server, await this.#options.source.current(server, signal));
  }

  review(server: DescribedServer, given: ServerMetadata): Promise<ServerMetadata> {
    return this.#compare(server, this.#originalOf(given));
  }

  async flush(): Promise<void> {
    await Promise.all([this.#options.source.flush(), ...this.#turns.values()]);
  }

  async differences(server: DescribedServer, given: ServerMetadata): Promise<ToolDifference[]> {
    const { tools: accepted } = await this.#load(server.name);
    const texts = await this.#options.store.loadTexts(server.name);
    const isRefused = this.#modeOf(server) === 'strict';
    return this.#originalOf(given).tools.flatMap((tool): ToolDifference[] => {
      const change = changeOf(tool, accepted, isRefused);
      return change === undefined
        ? []
        : [{ tool: tool.name, change, before: texts.get(tool.name), after: shownOf(tool) }];
    });
  }

  async accept(server: DescribedServer, given: ServerMetadata, names: readonly string[]): Promise<void> {
    const wanted = this.#originalOf(given).tools.filter(({ name }) => names.includes(name));
    const listed = new Set(given.tools.map(({ name }) => name));
    await this.#inTurn(server.name, () => this.#add(server, wanted, listed));
  }

  #modeOf(server: DescribedServer): PinMode {
    // An entry may come from elsewhere, so it can always be stricter than the user's setting, but cannot loosen `strict`.
    const own = this.#options.mode();
    return own === 'strict' ? own : (server.pin ?? own);
  }

  #originalOf(given: ServerMetadata): ServerMetadata {
    return this.#originals.get(given) ?? given;
  }

  async #compare(server: DescribedServer, metadata: ServerMetadata): Promise<ServerMetadata> {
    const mode = this.#modeOf(server);
    if (mode === 'off') {
      return metadata;
    }
    const known = this.#compared.get(metadata);
    // A list without differences stays valid whatever is accepted, so its stamp is not checked.
    const isSame = known?.mode === mode && (known.metadata === metadata || known.stamp === this.#stampOf(server.name));
    return isSame ? known.metadata : this.#inTurn(server.name, () => this.#compareAgain(server, mode, metadata));
  }

  async #compareAgain(server: DescribedServer, mode: PinMode, metadata: ServerMetadata): Promise<ServerMetadata> {
    const isStrict = mode === 'strict';
    let marked: ServerMetadata;
    try {
      const accepted = await this.#load(server.name);
      const isFirst = accepted.tools.size === 0;
      const fresh = metadata.tools.filter(({ name }) => !accepted.tools.has(name));
      const added = isFirst || !isStrict ? fresh.slice(0, Math.max(0, MAX_ACCEPTED - accepted.tools.size)) : [];
      if (added.length > 0) {
        await this.#add(server, added).catch((error: unknown) => this.#warnUnsaved(error));
      }
      marked = this.#mark(server.name, metadata, isFirst ? new Map() : accepted.tools, isStrict);
      if (!isStrict && added.length < fresh.length) {
        marked = this.#withoutRoom(server.name, marked);
      }
    } catch (error) {
      marked = this.#withoutPins(server.name, metadata, { isStrict, reason: messageOf(error) });
    }
    this.#compared.set(metadata, { mode, stamp: this.#stampOf(server.name), metadata: marked });
    this.#originals.set(marked, metadata);
    return marked;
  }

  #mark(
    server: string,
    metadata: ServerMetadata,
    accepted: ReadonlyMap<string, PinnedTool>,
    isStrict: boolean,
  ): ServerMetadata {
    const pinned = { name: server, owner: this.#options.ownerOf(server) };
    const clauses: string[] = [];
    const warnings: ToolWarning[] = [];
    const tools = metadata.tools.map((tool) => {
      const change = accepted.size === 0 ? undefined : changeOf(tool, accepted, isStrict);
      // A new tool counts as accepted when it is first seen, unless the mode is strict.
      if (change === undefined || (change.parts.length === 0 && !isStrict)) {
        return tool;
      }
      const remedy = hintToAccept(pinned, tool.name);
      const clause = `tool '${tool.name}' ${change.isRefused ? 'is refused: ' : ''}${describeChange(change)}`;
      clauses.push(clause);
      if (this.#isFirst(`${server}\0${tool.name}\0${tool.fingerprint ?? ''}`)) {
        warnings.push({ tool: tool.name, clause });
      }
      return withChange(tool, change, remedy);
    });
    if (warnings.length > 0) {
      this.#options.logger.warning(`Server '${server}': ${summarize(pinned, warnings)}`);
    }
    return clauses.length === 0
      ? metadata
      : { ...metadata, tools, notices: [...metadata.notices, ...shorten(clauses, hintToAccept(pinned))] };
  }

  #withoutRoom(server: string, metadata: ServerMetadata): ServerMetadata {
    const limit = MAX_ACCEPTED.toLocaleString('en-US');
    const clause = `it has shown more than ${limit} tools; changes of the latest ones are not noticed`;
    this.#warnOnce(`${server}\0${clause}`, `Server '${server}': ${clause}`);
    return { ...metadata, notices: [...metadata.notices, clause] };
  }

  /** The file of accepted tools exists but cannot be read, so every tool counts as changed. */
  #withoutPins(
    server: string,
    metadata: ServerMetadata,
    { isStrict, reason }: { readonly isStrict: boolean; readonly reason: string },
  ): ServerMetadata {
    const file = this.#options.store.pathOf(server);
    const clause = `its accepted tools in ${file} cannot be read: ${reason}`;
    this.#warnOnce(`${server}\0${reason}`, `Server '${server}': ${clause}`);
    const change: ToolChange = { parts: [], since: '', isRefused: true };
    const remedy = `${file} cannot be read. Fix or remove it.`;
    return {
      ...metadata,
      tools: isStrict ? metadata.tools.map((tool) => withChange(tool, change, remedy)) : metadata.tools,
      notices: [...metadata.notices, clause],
    };
  }

  /** @param listed if a person accepts them: the tools that the server has now. Others make room if there is too little. */
  async #add(server: DescribedServer, tools: readonly KnownTool[], listed?: ReadonlySet<string>): Promise<void> {
    const { store } = this.#options;
    const pause = createPause();
    const accepted = await this.#load(server.name);
    const texts = new Map(await store.loadTexts(server.name));
    const next = new Map(accepted.tools);
    const since = new Date().toISOString();
    if (listed !== undefined && next.size + tools.length > MAX_ACCEPTED) {
      const gone = [...next.keys()].filter((name) => !listed.has(name));
      gone.forEach((name) => next.delete(name) && texts.delete(name));
    }
    let chars = [...texts.values()].reduce((sum, shown) => sum + lengthOf(shown), 0);
    for (const tool of tools) {
      const shown = shownOf(tool);
      next.set(tool.name, { fingerprint: tool.fingerprint ?? '', since });
      const old = texts.get(tool.name);
      chars -= old === undefined ? 0 : lengthOf(old);
      texts.delete(tool.name);
      if (mayBeKept(shown, server.secrets ?? []) && chars + lengthOf(shown) <= MAX_TEXT_CHARS) {
        texts.set(tool.name, shown);
        chars += lengthOf(shown);
      }
      await pause();
    }
    // Before the write, which may fail: this bridge then still notices changes while it runs.
    this.#accepted.set(server.name, { stamp: accepted.stamp, tools: next });
    await store.save(server.name, next, texts);
    this.#accepted.set(server.name, { stamp: this.#stampOf(server.name), tools: next });
  }

  async #load(server: string): Promise<Accepted> {
    const stamp = this.#stampOf(server);
    const known = this.#accepted.get(server);
    if (known?.stamp === stamp) {
      return known;
    }
    const loaded = { stamp, tools: await this.#options.store.load(server) };
    this.#accepted.set(server, loaded);
    return loaded;
  }

  #stampOf(server: string): string {
    return this.#options.store.stampOf(server);
  }

  #inTurn<Value>(server: string, work: () => Promise<Value>): Promise<Value> {
    const turn = (this.#turns.get(server) ?? Promise.resolve()).then(work);
    this.#turns.set(
      server,
      turn.catch(() => undefined),
    );
    return turn;
  }

  #warnOnce(key: string, sentence: string): void {
    if (this.#isFirst(key)) {
      this.#options.logger.warning(sentence);
    }
  }

  #isFirst(key: string): boolean {
    const isFirst = !this.#logged.has(key);
    if (this.#logged.size >= MAX_LOGGED) {
      this.#logged.clear();
    }
    this.#logged.add(key);
    return isFirst;
  }

  #warnUnsaved(error: unknown): void {
    if (!this.#hasWarned) {
      this.#hasWarned = true;
      const what = 'Tool definitions cannot be saved, so changes before the next start will not be noticed';
      this.#options.logger.warning(`${what}: ${messageOf(error)}`);
    }
  }
}
