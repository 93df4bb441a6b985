/** `tools`: lists, shows, compares, edits, removes, approves, exports and imports functions. */
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createTwoFilesPatch, FILE_HEADERS_ONLY } from 'diff';
import { BridgeError, messageOf } from '../../core/base/errors.ts';
import { escapeInLines, renderJson } from '../../core/base/log.ts';
import { COMMAND } from '../../core/base/package.ts';
import { didYouMean } from '../../core/base/suggest.ts';
import { makeVisible } from '../../core/catalog/visible.ts';
import { type CommandContext, type CommandHost, carryOut, type LineFor } from '../../edges/terminal/command.ts';
import { confirm } from '../../edges/terminal/confirm.ts';
import { colorChange } from '../../edges/terminal/file-change.ts';
import { renderTable } from '../../edges/terminal/text-table.ts';
import type { ToolsCommand } from './command.ts';
import { runEditor } from './editor.ts';
import { checkName, checkSource, type SavedTool } from './function-source.ts';
import { type FunctionFacts, FunctionStore, type StoredFunction } from './function-store.ts';
import { readFunctionHead } from './python-signature.ts';
import { Toolbox, type ToolboxFunction } from './toolbox.ts';
import { readFunctions, writeFunctions } from './transfer.ts';

export type ToolsRunOptions = Pick<CommandContext, 'settings' | 'logger'> &
  Pick<CommandHost, 'env' | 'input' | 'writeOut' | 'writeError' | 'hasColors' | 'isShown' | 'findPerson'>;

interface Work extends ToolsRunOptions {
  readonly store: FunctionStore;
  readonly toolbox: Toolbox;
  /** Prints the result, as JSON with `--json`. */
  readonly print: (json: unknown, text: string) => void;
  /** Prints what a person reads before the result. */
  readonly say: (text: string) => void;
}

/** A function of any origin. `record` only for one's own. */
interface Found extends SavedTool {
  readonly sha256: string;
  readonly state: StoredFunction['state'];
  /** The shared file; undefined for one's own function. */
  readonly shared: ToolboxFunction | undefined;
  readonly record: StoredFunction['record'];
}

/** Resolves with the exit code. Rejects with `USAGE_INVALID` for an unknown name, and with `CALL_REFUSED` for what cannot be kept. */
export async function tools(command: ToolsCommand, options: ToolsRunOptions): Promise<number> {
  const { logger, settings, writeOut } = options;
  const { stateDir, toolbox: folders = [] } = settings;
  const work: Work = {
    ...options,
    store: new FunctionStore(stateDir),
    toolbox: new Toolbox({ folders, stateDir, report: (problem) => logger.warning(problem) }),
    print: (json, text) => writeOut(command.isJson ? renderJson(json) : text),
    say: (text) => (command.isJson ? undefined : writeOut(text)),
  };
  const handlers = { list: listAll, show, diff, edit, rm: remove, approve, export: exportTools, import: importTools };
  return carryOut(handlers, command, work);
}

async function listAll(_command: LineFor<ToolsCommand, 'list'>, work: Work): Promise<number> {
  const all = await findAll(work);
  const rows = all.map((tool) => {
    const { name, record, shared, state } = tool;
    const { signature, summary } = headOf(tool);
    const origin = shared?.folder ?? (record?.session === undefined ? 'own' : `session ${record.session}`);
    return [name, state === 'approved' ? 'ok' : state, origin, signature + (summary === '' ? '' : `  # ${summary}`)];
  });
  work.print(all.map(describe), renderTable(rows, 'No functions are kept.'));
  if (all.some(({ state }) => state !== 'approved')) {
    work.writeError(
      `Sessions load only those that are ok. To review and allow others: ${COMMAND} tools approve NAME\n`,
    );
  }
  return 0;
}

async function show({ name, version: number }: LineFor<ToolsCommand, 'show'>, work: Work): Promise<number> {
  const tool = await find(name, work);
  const source = number === undefined ? tool.source : await versionOf(tool, number, work);
  work.print({ ...describe(tool), source }, shownSource(source, work));
  return 0;
}

async function diff(command: LineFor<ToolsCommand, 'diff'>, work: Work): Promise<number> {
  const tool = await find(command.name, work);
  const accepted = tool.record?.versions ?? [];
  const last = tool.state === 'approved' ? accepted.at(-2) : accepted.at(-1);
  const { from = last?.number, to } = command;
  if (from === undefined) {
    throw new BridgeError('USAGE_INVALID', `'${tool.name}' has no earlier version`, {
      hint: `To see it, run: ${COMMAND} tools show ${tool.name}`,
    });
  }
  const before = await versionOf(tool, from, work);
  const after = to === undefined ? tool.source : await versionOf(tool, to, work);
  const name = to === undefined ? `${tool.name}.py` : `version ${to}`;
  const text = shownChange([`version ${from}`, before], [name, after], work);
  work.print(
    { name: tool.name, from: { version: from, source: before }, to: { version: to ?? null, source: after } },
    text,
  );
  return 0;
}

async function edit(command: LineFor<ToolsCommand, 'edit'>, work: Work): Promise<number> {
  const tool = await findOwn(command.name, work);
  const folder = await mkdtemp(join(tmpdir(), 'bridge-edit-'));
  try {
    const file = join(folder, `${tool.name}.py`);
    await writeFile(file, tool.source, { mode: 0o600 });
    await runEditor(file, work.env);
    const source = await readFile(file, 'utf8');
    if (source === tool.source && tool.state === 'approved') {
      work.print({ name: tool.name, isChanged: false }, `'${tool.name}' was not changed.\n`);
      return 0;
    }
    const edited = { name: tool.name, source };
    checkSource(edited);
    await work.store.write(edited, factsOf(edited, tool.record));
    const text = `Stored '${tool.name}' as a new version. Later sessions define it.\n`;
    work.print({ name: tool.name, isChanged: true }, text);
    return 0;
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

async function remove({ names }: LineFor<ToolsCommand, 'rm'>, work: Work): Promise<number> {
  const found = await Promise.all(names.map((name) => findOwn(name, work)));
  for (const { name } of found) {
    // biome-ignore lint/performance/noAwaitInLoops: they share a lock.
    await work.store.remove(name);
    work.say(`Deleted '${name}'.\n`);
  }
  work.print({ removed: found.map(({ name }) => name) }, '');
  return 0;
}

async function approve({ isSure, names }: LineFor<ToolsCommand, 'approve'>, work: Work): Promise<number> {
  const found = await Promise.all(names.map((name) => find(name, work)));
  const waiting = found.filter(({ state }) => state !== 'approved');
  for (const tool of waiting) {
    checkName(tool.name);
    checkSource(tool);
    const number = tool.record?.versions.at(-1)?.number;
    // biome-ignore lint/performance/noAwaitInLoops: they are shown in order.
    const before = number === undefined ? undefined : await work.store.source(tool.name, number);
    const file = tool.shared?.path ?? join(work.store.directory, `${tool.name}.py`);
    work.say(`${escapeInLines(file)} (${tool.state}):\n`);
    work.say(
      before === undefined
        ? shownSource(tool.source, work)
        : shownChange([`version ${number}`, before], [`${tool.name}.py`, tool.source], work),
    );
  }
  if (waiting.length === 0) {
    work.print({ approved: [] }, 'Nothing has to be approved: sessions load it.\n');
    return 0;
  }
  const list = waiting.map(({ name }) => name).join(', ');
  await confirm(`Let sessions load ${list}?`, isSure, work);
  for (const tool of waiting) {
    // biome-ignore lint/performance/noAwaitInLoops: they share a lock.
    await (tool.shared === undefined
      ? work.store.write(tool, factsOf(tool, tool.record))
      : work.toolbox.approve(tool.shared));
  }
  work.print({ approved: waiting.map(({ name }) => name) }, `Approved: ${list}.\n`);
  return 0;
}

async function exportTools({ isForced, names, path }: LineFor<ToolsCommand, 'export'>, work: Work): Promise<number> {
  const chosen =
    names.length === 0
      ? (await findAll(work)).filter(({ shared }) => shared === undefined)
      : await Promise.all(names.map((name) => find(name, work)));
  const sources = chosen.map(({ name, source }) => ({ name, source }));
  await writeFunctions(sources, { path, isForced, writeOut: work.writeOut });
  if (path !== '-') {
    const count = sources.length === 1 ? '1 function' : `${sources.length} functions`;
    work.print({ exported: sources.map(({ name }) => name), path }, `Wrote ${count} to ${path}.\n`);
  }
  return 0;
}

async function importTools({ isForced, isSure, path }: LineFor<ToolsCommand, 'import'>, work: Work): Promise<number> {
  const given = await readFunctions(path, work.input);
  const own = new Map((await findAll(work)).filter(({ shared }) => !shared).map((tool) => [tool.name, tool]));
  const changed = given.filter(({ name, source }) => own.get(name)?.source !== source);
  const clash = changed.find(({ name }) => own.has(name));
  if (clash !== undefined && !isForced) {
    throw new BridgeError('CALL_REFUSED', `another function '${clash.name}' is kept`, {
      hint: 'To replace it, add --force; its source stays as an earlier version.',
    });
  }
  if (changed.length === 0) {
    work.print({ imported: [] }, 'Nothing to import: the same functions are kept.\n');
    return 0;
  }
  for (const { name, source } of changed) {
    work.say(`${name}:\n${shownSource(source, work)}`);
  }
  const list = changed.map(({ name }) => name).join(', ');
  await confirm(`Let sessions load ${list}?`, isSure, work);
  for (const tool of changed) {
    // biome-ignore lint/performance/noAwaitInLoops: they share a lock.
    await work.store.write(tool, factsOf(tool, undefined));
  }
  work.print({ imported: changed.map(({ name }) => name) }, `Imported: ${list}.\n`);
  return 0;
}

/** One's own functions and the shared ones that they do not hide, sorted by name. */
async function findAll({ logger, store, toolbox }: Work): Promise<Found[]> {
  const own = await Promise.all(
    (await store.names()).map((name) =>
      store.read(name).catch((error: unknown) => {
        logger.warning(`${join(store.directory, `${name}.py`)} was skipped: ${messageOf(error)}`);
      }),
    ),
  );
  const all = own.filter((tool) => tool !== undefined).map((tool): Found => ({ ...tool, shared: undefined }));
  const names = new Set(all.map(({ name }) => name));
  const shared = (await toolbox.list()).filter(({ name }) => !names.has(name));
  const others = shared.map((tool): Found => ({ ...tool, shared: tool, record: undefined }));
  return [...all, ...others].toSorted((a, b) => (a.name < b.name ? -1 : 1));
}

async function find(name: string, work: Work): Promise<Found> {
  const all = await findAll(work);
  const tool = all.find((one) => one.name === name);
  if (tool === undefined) {
    const known = all.map((one) => one.name);
    throw new BridgeError('USAGE_INVALID', `no function '${name}' is kept.${await didYouMean(name, known)}`, {
      hint: `To list the functions, run: ${COMMAND} tools list`,
    });
  }
  return tool;
}

async function findOwn(name: string, work: Work): Promise<Found> {
  const tool = await find(name, work);
  if (tool.shared !== undefined) {
    throw new BridgeError('USAGE_INVALID', `'${name}' belongs to a shared folder, which is only read`, {
      hint: `Change the file itself: ${tool.shared.path}`,
    });
  }
  return tool;
}

async function versionOf({ name, record }: Found, number: number, { store }: Work): Promise<string> {
  const source = await store.source(name, number);
  if (source === undefined) {
    const kept = (record?.versions ?? []).map((one) => one.number).join(', ');
    throw new BridgeError('USAGE_INVALID', `version ${number} of '${name}' is not kept`, {
      hint: kept === '' ? 'It has no earlier versions.' : `Its versions: ${kept}.`,
    });
  }
  return source;
}

/** Rejects with `USAGE_INVALID` if no one can be asked, and with `APPROVAL_DENIED`. */
function factsOf({ name, source }: SavedTool, record: Found['record']): FunctionFacts {
  const { signature = '', summary = '' } = readFunctionHead(name, source) ?? {};
  return { signature, summary, packages: record?.packages ?? [] };
}

function headOf({ name, source }: SavedTool): { readonly signature: string; readonly summary: string } {
  return readFunctionHead(name, source) ?? { signature: `${name}(?)`, summary: '' };
}

/** As `--json` prints it. */
function describe(tool: Found) {
  const { name, record, sha256, shared, state } = tool;
  const { signature, summary } = headOf(tool);
  return {
    name,
    state,
    folder: shared?.folder ?? null,
    signature,
    summary,
    sha256,
    savedAt: record?.at ?? null,
    session: record?.session ?? null,
    packages: record?.packages ?? [],
    versions: record?.versions ?? [],
  };
}

/** A pipe gets the source as it is; a terminal gets it with everything visible. */
function shownSource(source: string, { isShown }: Work): string {
  const text = isShown ? escapeInLines(makeVisible(source)) : source;
  return text.endsWith('\n') ? text : `${text}\n`;
}

type NamedText = readonly [name: string, text: string];

function shownChange([from, before]: NamedText, [to, after]: NamedText, work: Work): string {
  const patch = createTwoFilesPatch(from, to, before, after, '', '', { headerOptions: FILE_HEADERS_ONLY });
  const shown = work.isShown ? escapeInLines(makeVisible(patch)) : patch;
  return before === after ? 'There is no difference.\n' : work.hasColors ? colorChange(shown) : shown;
}
