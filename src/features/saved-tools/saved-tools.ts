/**
 * Functions that code keeps with `save_tool`, and those of shared folders: which of them sessions get, and what is asked before.
 * Names come from a sandbox, so they are checked against a pattern before they become part of a path.
 *
 * A saved function reaches every later session, so it is how hostile code could stay. None replaces another unless the user
 * allows it, and each is recorded. What a function may contain is checked here only as far as text allows; the kernel of each
 * later session parses it, and defines it without running any of it (`saved_tools.py`).
 */
import { join } from 'node:path';
import { z } from 'zod';
import { BridgeError, messageOf } from '../../core/base/errors.ts';
import { MAX_SAVED_TOOLS } from '../../core/base/limits.ts';
import type { Logger } from '../../core/base/log.ts';
import { COMMAND } from '../../core/base/package.ts';
import { didYouMean } from '../../core/base/suggest.ts';
import type { Decision } from '../../core/calls/contract.ts';
import type { ExtraTools } from '../../core/calls/extra-tools.ts';
import { checked, type Method } from '../../core/calls/method.ts';
import { isPythonKeyword } from '../../core/catalog/names.ts';
import type { CallMethod } from '../../core/protocol/frames.ts';
import type { Asker } from '../../core/session/asker.ts';
import { hashText } from '../../core/state/file-consents.ts';
import { askToLoad, askToSave, type SavingCall } from './ask-to-save.ts';
import { toExtraTools } from './documents.ts';
import { checkName, checkSource, type SavedTool } from './function-source.ts';
import { FunctionStore } from './function-store.ts';
import { readFunctionHead } from './python-signature.ts';
import { Toolbox, type ToolboxFunction } from './toolbox.ts';

/** A function as code saves it. */
export interface ToolToSave extends SavedTool {
  /** Packages of the session that it imports, as `name==version`. */
  readonly packages?: readonly string[] | undefined;
}

/** What happened, for the audit log. */
export interface SavedToolFacts {
  readonly name: string;
  readonly sha256: string;
  readonly bytes: number;
  /** SHA-256 of the source that it replaced. */
  readonly replaced?: string;
  /** Whether the user was asked. */
  readonly asked: boolean;
}

export interface SavedToolsOptions {
  readonly stateDir: string;
  readonly logger: Logger;
  /** `MCP_BRIDGE_SAVED_TOOLS`. */
  readonly mode: 'off' | 'ask' | 'on';
  /** `MCP_BRIDGE_TOOLBOX`. */
  readonly folders?: readonly string[] | undefined;
  /** What the policy says about what it does not name, if anything. */
  readonly fallback?: () => Decision | undefined;
  readonly onSaved?: ((call: SavingCall, tool: SavedToolFacts) => void) | undefined;
}

export interface SavedTools {
  /**
   * Stores a function. Asks the user if the mode or the policy says so, and before replacing another source. Rejects with
   * `CALL_REFUSED`, `POLICY_DENIED`, `APPROVAL_…` or `STATE_WRITE_FAILED`.
   */
  save(tool: ToolToSave, call: SavingCall): Promise<void>;
  /**
   * The functions that a session defines, sorted by name, at most `MAX_SAVED_TOOLS`. Those that are unreadable or not approved are
   * logged, once, and skipped. Never rejects.
   */
  list(): Promise<SavedTool[]>;
  /** One of them by name, also if it was saved after the session had started. Asks about a shared one. Rejects with `CALL_REFUSED` or `APPROVAL_…`. */
  load(name: string, call: Pick<SavingCall, 'asker' | 'signal'>): Promise<SavedTool>;
  /** Asks about shared functions that are new or have changed, each once. Never rejects. */
  askAboutShared(asker: Asker, signal: AbortSignal): Promise<void>;
  /** The functions that a session defines, as search finds them. The same object until they change. */
  extraTools(): Promise<ExtraTools | undefined>;
}

/** Names in a message. */
const MAX_NAMED = 20;
/** Questions before a cell. Chosen: more are no longer read. */
const MAX_QUESTIONS = 5;

export function createSavedTools(options: SavedToolsOptions): SavedTools {
  const { fallback, folders = [], logger, mode, stateDir } = options;
  const store = new FunctionStore(stateDir);
  const report = reportOnce(logger);
  const toolbox = new Toolbox({ folders, stateDir, report });
  const inTurn = createTurns();
  const asked = new Set<string>();
  let documents: { readonly key: string; readonly tools: ExtraTools } | undefined;

  async function list(): Promise<SavedTool[]> {
    return mode === 'off' ? [] : listTools({ store, toolbox, report });
  }

  return {
    async save(tool, call) {
      refuseIfOff(mode, fallback?.());
      checkName(tool.name);
      checkSource(tool);
      await inTurn(tool.name, () => saveNow(tool, call, options, { store, toolbox }));
    },
    list,
    async load(name, call) {
      refuseToLoadIfOff(mode);
      return loadTool(name, { store, toolbox }, call);
    },
    async askAboutShared(asker, signal) {
      if (mode === 'off' || folders.length === 0) {
        return;
      }
      const waiting = (await waitingFunctions(store, toolbox)).filter(({ sha256: hash }) => !asked.has(hash));
      for (const tool of waiting.slice(0, MAX_QUESTIONS)) {
        asked.add(tool.sha256);
        // biome-ignore lint/performance/noAwaitInLoops: a person answers one question after the other.
        await allowShared(tool, toolbox, { asker, signal }).catch((error: unknown) => logger.info(messageOf(error)));
      }
    },
    async extraTools() {
      const tools = await list();
      const key = tools.map(({ name, source }) => `${name}:${hashText(source)}`).join();
      if (documents?.key !== key) {
        documents = { key, tools: toExtraTools(tools) };
      }
      return tools.length === 0 ? undefined : documents.tools;
    },
  };
}

interface Sources {
  readonly store: FunctionStore;
  readonly toolbox: Toolbox;
}

/** Functions of the store win over shared ones of the same name. */
async function listTools({
  store,
  toolbox,
  report,
}: Sources & { report: (text: string) => void }): Promise<SavedTool[]> {
  // Sessions work without them, and the folder may not even be meant as a store.
  const names = await store.names().catch((error: unknown): string[] => {
    report(`The saved functions were skipped: ${messageOf(error)}`);
    return [];
  });
  const own = await Promise.all(names.map((name) => readTool(name, store, report)));
  const shared = (await toolbox.list()).map((tool): SavedTool | undefined => {
    const { name, path, source, state } = tool;
    if (names.includes(name)) {
      report(`${path} was skipped: you have kept another function ${name}.`);
      return undefined;
    }
    if (state !== 'approved') {
      const why = state === 'new' ? 'is new' : 'has changed';
      report(
        `The shared function ${path} ${why} and is not loaded. To review and allow it: ${COMMAND} tools approve ${name}`,
      );
      return undefined;
    }
    return { name, source };
  });
  const byName = (a: SavedTool, b: SavedTool): number => (a.name < b.name ? -1 : 1);
  const ofUser = [...own.filter((tool) => tool?.isOfCode !== true), ...shared].filter((tool) => tool !== undefined);
  const ofCode = own.filter((tool) => tool?.isOfCode === true).filter((tool) => tool !== undefined);
  const all = [...ofUser.toSorted(byName), ...ofCode.toSorted(byName)];
  if (all.length > MAX_SAVED_TOOLS) {
    const which = 'those of the user first, then by name';
    report(`There are ${all.length} saved functions; sessions get ${MAX_SAVED_TOOLS} of them: ${which}.`);
  }
  const loaded = all.slice(0, MAX_SAVED_TOOLS).toSorted(byName);
  return loaded.map(({ name, source }) => ({ name, source }));
}

interface OwnTool extends SavedTool {
  /** Whether the code of a session has saved it; others a person has. */
  readonly isOfCode: boolean;
}

async function readTool(
  name: string,
  store: FunctionStore,
  report: (text: string) => void,
): Promise<OwnTool | undefined> {
  try {
    const tool = await store.read(name);
    if (tool === undefined || tool.state === 'approved') {
      return tool && { name, source: tool.source, isOfCode: tool.record?.session !== undefined };
    }
    const why = tool.state === 'changed' ? 'was changed after it was saved' : 'was not saved by the bridge';
    report(
      `The saved function ${name} in ${store.directory} ${why} and is not loaded. To review and allow it: ${COMMAND} tools approve ${name}`,
    );
  } catch (error) {
    report(`The saved function ${name} in ${store.directory} was skipped: ${messageOf(error)}`);
  }
  return undefined;
}

/** Shared functions that are loaded only if the person agrees. */
async function waitingFunctions(store: FunctionStore, toolbox: Toolbox): Promise<ToolboxFunction[]> {
  const own = await store.names().catch((): string[] => []);
  return (await toolbox.list()).filter(({ name, state }) => state !== 'approved' && !own.includes(name));
}

async function loadTool(
  name: string,
  { store, toolbox }: Sources,
  call: Pick<SavingCall, 'asker' | 'signal'>,
): Promise<SavedTool> {
  const own = await store.read(name).catch((error: unknown) => {
    throw new BridgeError('CALL_REFUSED', `the function '${name}' cannot be read: ${messageOf(error)}`);
  });
  if (own !== undefined) {
    if (own.state !== 'approved') {
      throw new BridgeError('CALL_REFUSED', `the function '${name}' was changed by hand and is not loaded`, {
        hint: `To review and allow it, the user can run: ${COMMAND} tools approve ${name}`,
      });
    }
    return { name, source: own.source };
  }
  const all = await toolbox.list();
  const shared = all.find((tool) => tool.name === name);
  if (shared === undefined) {
    const known = [...(await store.names().catch((): string[] => [])), ...all.map((tool) => tool.name)].toSorted();
    const some = known.slice(0, MAX_NAMED).join(', ');
    const listed = known.length === 0 ? 'None is kept.' : `There are: ${some}${known.length > MAX_NAMED ? ', …' : ''}.`;
    throw new BridgeError(
      'CALL_REFUSED',
      `no function '${name.slice(0, 80)}' is kept.${await didYouMean(name.slice(0, 80), known)}`,
      { hint: listed },
    );
  }
  if (shared.state !== 'approved') {
    await allowShared(shared, toolbox, call);
  }
  return { name, source: shared.source };
}

async function allowShared(
  tool: ToolboxFunction,
  toolbox: Toolbox,
  asking: Pick<SavingCall, 'asker' | 'signal'>,
): Promise<void> {
  await askToLoad(tool, asking);
  await toolbox.approve(tool);
}

function reportOnce(logger: Logger): (problem: string) => void {
  const reported = new Set<string>();
  return (problem) => {
    if (!reported.has(problem)) {
      reported.add(problem);
      logger.warning(problem);
    }
  };
}

/** Runs what has the same name one after the other, so that two functions of that name cannot both be new. */
function createTurns(): (name: string, run: () => Promise<void>) => Promise<void> {
  const turns = new Map<string, Promise<void>>();
  return async (name, run) => {
    const done = (turns.get(name) ?? Promise.resolve()).then(run);
    const turn = done.catch(() => undefined);
    turns.set(name, turn);
    try {
      await done;
    } finally {
      if (turns.get(name) === turn) {
        turns.delete(name);
      }
    }
  };
}

async function saveNow(
  tool: ToolToSave,
  call: SavingCall,
  options: SavedToolsOptions,
  { store, toolbox }: Sources,
): Promise<void> {
  const { name, packages = [], source } = tool;
  const isStored = (await store.names().catch((): string[] => [])).includes(name);
  // One that cannot be read counts as different from any other.
  const before = isStored ? await store.read(name).catch(() => ({ source: '', state: 'changed' }) as const) : undefined;
  if (before?.source === source && before.state === 'approved') {
    return;
  }
  // A shared one is not loaded beside an own one, so it is replaced, too.
  const shared = before === undefined ? (await toolbox.list()).find((one) => one.name === name) : undefined;
  const other = before ?? (shared?.source === source ? undefined : shared);
  const reason =
    other === undefined ? whyAsk(options) : `another function is ${shared ? 'shared' : 'saved'} under the name ${name}`;
  if (reason !== undefined) {
    const file = shared?.path ?? join(store.directory, `${name}.py`);
    await askToSave(tool, other?.source, { reason, file }, call);
  }
  const head = readFunctionHead(name, source);
  const { signature = '', summary = '' } = head ?? {};
  await store.write(tool, { session: call.session, packages: [...packages], signature, summary });
  const replaced = before === undefined ? {} : { replaced: hashText(before.source) };
  const bytes = Buffer.byteLength(source);
  options.onSaved?.(call, { name, sha256: hashText(source), bytes, ...replaced, asked: reason !== undefined });
  options.logger.info(`Saved the tool ${name} in ${store.directory}.`);
}

/** Why the user is asked about a new function; undefined if not. */
function whyAsk({ fallback, mode }: SavedToolsOptions): string | undefined {
  if (mode === 'ask') {
    return 'MCP_BRIDGE_SAVED_TOOLS is ask';
  }
  const decision = fallback?.();
  return decision?.effect === 'ask' ? decision.reason : undefined;
}

function refuseToLoadIfOff(mode: SavedToolsOptions['mode']): void {
  if (mode === 'off') {
    throw new BridgeError('CALL_REFUSED', 'there are no saved functions, because MCP_BRIDGE_SAVED_TOOLS is off', {
      hint: 'Define the function in this session.',
    });
  }
}

function refuseIfOff(mode: SavedToolsOptions['mode'], decision: Decision | undefined): void {
  if (mode === 'off') {
    throw new BridgeError('CALL_REFUSED', 'functions cannot be saved, because MCP_BRIDGE_SAVED_TOOLS is off', {
      hint: 'Define the function again in each session.',
    });
  }
  if (decision?.effect === 'deny' || decision?.effect === 'dry-run') {
    throw new BridgeError('POLICY_DENIED', `functions cannot be saved: ${decision.reason}`, {
      hint: 'Define the function again in each session.',
    });
  }
}

/** Limits for what the sandbox claims about packages. Chosen. */
const MAX_PACKAGES = 50;
const PACKAGE = /^[A-Za-z0-9][A-Za-z0-9._-]{0,99}==[A-Za-z0-9][A-Za-z0-9.!+_-]{0,63}$/;

const SaveToolParams = z.strictObject({
  name: z.string().refine((word) => !isPythonKeyword(word), 'a function cannot be named after a Python keyword'),
  source: z.string(),
  packages: z
    .custom<unknown[]>(
      (value) => Array.isArray(value) && value.length <= MAX_PACKAGES,
      `expected a list of at most ${MAX_PACKAGES} packages`,
    )
    .pipe(z.array(z.string().regex(PACKAGE)))
    .optional(),
});
const LoadToolParams = z.strictObject({ name: z.string().min(1).max(1_000) });

/** The methods that code can call. */
export function savedToolMethods(savedTools: Pick<SavedTools, 'save' | 'load'>): [CallMethod, Method][] {
  return [
    ['save_tool', checked(SaveToolParams, (tool, call) => savedTools.save(tool, call))],
    ['load_tool', checked(LoadToolParams, ({ name }, call) => savedTools.load(name, call))],
  ];
}
