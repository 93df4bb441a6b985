/** `install` and `uninstall`: registers the bridge in the configuration of MCP clients, and removes it again. */
import { isAbsolute } from 'node:path';
import type { Person } from '../../core/base/cell.ts';
import { BridgeError } from '../../core/base/errors.ts';
import { refuseUnusableHome, workingFolder } from '../../core/base/home.ts';
import { escapeControls, escapeInLines, renderJson } from '../../core/base/log.ts';
import { COMMAND_NAME, thisProgramStart } from '../../core/base/package.ts';
import { splitWords } from '../../core/base/shell-words.ts';
import type { ClientId } from '../../edges/clients/client-ids.ts';
import { listServers } from '../../edges/clients/server-lists.ts';
import type { ClientSystem } from '../../edges/clients/table.ts';
import { writeClientFile } from '../../edges/servers/client-file.ts';
import { thisSystem } from '../../edges/servers/sources.ts';
import { checkVariables, HOW_TO_LIST_SETTINGS } from '../../edges/settings/inspect.ts';
import type { Settings } from '../../edges/settings/settings.ts';
import { colorChange, heldSecrets, renderChange } from '../../edges/terminal/file-change.ts';
import { describeCallable } from './callable-servers.ts';
import { isClientHere } from './client-presence.ts';
import type { InstallCommand, InstallLine } from './command.ts';
import type { GlobalInstall } from './global-install.ts';
import {
  type ClientStart,
  type InstallPlan,
  type Plan,
  type PlanOptions,
  planInstall,
  planUninstall,
  snippetOf,
} from './plan.ts';

export interface InstallOptions {
  readonly settings: Pick<Settings, 'stateDir'> &
    Partial<Pick<Settings, 'serversConfig' | 'configSources' | 'allowSelfServer' | 'packagesStore'>>;
  /** Default: this machine. */
  readonly system?: ClientSystem;
  /** The project folder. Default: the working directory. */
  readonly cwd?: string;
  /** The command for clients. Default: the one that started this program. */
  readonly start?: readonly string[];
  /** The person to ask whether to move the client's servers, if there is one. */
  readonly person?: Person | undefined;
  /** Whether to color diffs. */
  readonly hasColors?: boolean;
  readonly writeOut: (text: string) => void;
  readonly writeError: (text: string) => void;
}

/** What `install` or `uninstall` changed, or would change, for one client; also the JSON output. */
interface InstallReport {
  readonly client: ClientId;
  /** In the order in which they are written; empty if there is nothing to change. */
  readonly changes: readonly {
    readonly path: string;
    readonly action: 'create' | 'change' | 'remove';
    /** Unified; secrets are `***`. */
    readonly diff: string;
    /** The backup file; null if there was no file before, or nothing was written. */
    readonly backup: string | null;
  }[];
  /** Sentences about servers that move or stay, and about the client. */
  readonly notes: readonly string[];
  readonly isWritten: boolean;
}

/** The exit code that shells use for Ctrl-C. */
const CANCELLED_EXIT_CODE = 130;

/** Resolves with the exit code. Plans all clients before it writes anything, so an error leaves all files unchanged. */
export async function install(command: InstallCommand, options: InstallOptions): Promise<number> {
  const system = options.system ?? thisSystem(process.env);
  if (options.system === undefined) {
    await refuseUnusableHome(system);
  }
  const installing = command.command === 'install' ? command : undefined;
  const variables = installing?.variables ?? {};
  await refuseWrongVariables(variables);
  const globally =
    installing?.isGlobal === true ? await (await import('./global-install.ts')).planGlobalInstall() : undefined;
  const planOptions: PlanOptions = {
    system,
    // Needed for `project` only, so a deleted one does not matter otherwise.
    cwd: options.cwd ?? (command.scope === 'project' ? workingFolder() : system.home),
    scope: command.scope,
    stateDir: options.settings.stateDir,
    start: { ...chooseStart(installing?.startCommand, options, globally), variables },
  };
  if (installing?.isPrint === true) {
    await printSnippets(command, planOptions, options);
    return 0;
  }
  const plans = await planAll(command, planOptions, options);
  if (plans === undefined) {
    options.writeError('Cancelled; nothing was changed.\n');
    return CANCELLED_EXIT_CODE;
  }
  const print = command.isJson ? (): void => undefined : options.writeOut;
  await runGlobally(globally, command, print);
  const reports: InstallReport[] = [];
  for (const [, plan] of plans) {
    print(describePlan(plan, command, options.hasColors === true));
  }
  for (const [id, plan] of plans) {
    reports.push({ client: id, ...(await carryOut(plan, command, print)) });
  }
  if (command.isJson) {
    options.writeOut(renderJson(reports));
  } else if (command.command === 'install') {
    print(escapeInLines(await describeCallable(plans, command, { ...options, system })));
  } else {
    const { describeStaying } = await import('./what-stays.ts');
    const files = plans.map(
      ([, { changes, path }]) => changes.find(({ file }) => file.path === path)?.file.target ?? path,
    );
    print(escapeInLines(await describeStaying({ ...options.settings, system, files })));
  }
  return 0;
}

/** A setting that does not exist or has no valid value would end each start of the bridge, or do nothing. */
async function refuseWrongVariables(variables: InstallLine['variables']): Promise<void> {
  const { unknown, wrong } = await checkVariables(variables);
  const [first] = [...wrong, ...unknown];
  if (first !== undefined) {
    throw new BridgeError('USAGE_INVALID', `--env: ${first}`, { hint: HOW_TO_LIST_SETTINGS });
  }
}

function chooseStart(
  startCommand: InstallLine['startCommand'],
  options: InstallOptions,
  globally: GlobalInstall | undefined,
): ClientStart {
  if (startCommand === undefined) {
    return { words: globally?.words ?? options.start ?? thisProgramStart().clientWords, isGiven: false };
  }
  const words = splitWords(startCommand);
  if (words === undefined) {
    throw new BridgeError('USAGE_INVALID', `--command is empty or has an unclosed quote: ${startCommand}`, {
      hint: "Quote the command and its arguments as one word, as in --command 'node /path/dist/cli.js'.",
    });
  }
  if (startsNothing(words)) {
    throw new BridgeError(
      'USAGE_INVALID',
      `--command does not say which package or file ${words[0]} should run: ${startCommand}`,
      {
        hint: 'Add the package, as in --command "npx -y PACKAGE".',
      },
    );
  }
  return { words, isGiven: true };
}

/** Whether the words are only a package runner with subcommands and options, but no package. */
function startsNothing([program = '', ...rest]: readonly string[]): boolean {
  const name = program.replace(/^.*[\\/]/s, '').replace(/\.(?:cmd|exe)$/i, '');
  const isRunner = /^(?:npx|npm|pnpm|pnpx|yarn|bun|bunx|uv|uvx|pipx)$/.test(name);
  return isRunner && rest.every((word) => /^(?:-.*|exec|x|dlx|run|tool)$/s.test(word));
}

/** Undefined if the person cancelled the question. */
async function planAll(
  command: InstallCommand,
  planOptions: PlanOptions,
  { person }: InstallOptions,
): Promise<[ClientId, Plan][] | undefined> {
  const plans: [ClientId, Plan][] = [];
  const taken = new Map(planOptions.taken);
  const noteMoving = ({ others }: Plan) =>
    others.definitions.forEach((definition, name) => taken.set(name, definition));
  const isImport = command.command === 'install' ? command.isImport : undefined;
  for (const id of command.clients) {
    const plan = await (command.command === 'install'
      ? planInstall(id, { ...planOptions, taken, isImport: isImport === true })
      : planUninstall(id, planOptions));
    if (isImport === true) {
      noteMoving(plan);
    }
    plans.push([id, withMachineNotes(plan, command, planOptions)]);
  }
  const isAsking = command.command === 'install' && isImport === undefined && !command.isJson;
  if (person === undefined || !isAsking || command.isDryRun) {
    return plans;
  }
  for (const [index, [id, plan]] of plans.entries()) {
    const names = listServers(plan.others.moved);
    if (names.length === 0) {
      continue;
    }
    const moving = await planInstall(id, { ...planOptions, taken, isImport: true });
    const answer = await askToMove(person, moving, names, planOptions.stateDir);
    if (answer === undefined) {
      return undefined;
    }
    if (answer) {
      noteMoving(moving);
      plans[index] = [id, withMachineNotes(moving, command, planOptions)];
    }
  }
  return plans;
}

/** Undefined on Ctrl-C and at the end of input. */
async function askToMove(
  person: Person,
  { client, path, isReversible }: InstallPlan,
  names: readonly string[],
  stateDir: string,
): Promise<boolean | undefined> {
  const [others, them] =
    names.length === 1 ? ['one other MCP server', 'it'] : [`${names.length} other MCP servers`, 'them'];
  const { action, content } = await person.ask(
    {
      mode: 'form',
      message: `${path} defines ${others}: ${names.join(', ')}. Code can call ${them} only after ${them === 'it' ? 'it is' : 'they are'} moved to ${stateDir}.`,
      requestedSchema: {
        type: 'object',
        properties: {
          move: {
            type: 'boolean',
            title: `Move ${them} there? ${client.title} will then use ${them} through run_python; uninstall moves ${them} back`,
            default: isReversible,
          },
        },
        required: [],
      },
    },
    new AbortController().signal,
  );
  return action === 'accept' ? content?.['move'] === true : undefined;
}

/** Adds notes about the client and the entry that depend on this machine. */
function withMachineNotes(plan: Plan, command: InstallCommand, { scope, start, system }: PlanOptions): Plan {
  const notes = [...plan.notes];
  const isChanged = plan.changes.length > 0;
  if (command.command === 'install' && scope === 'user' && !isClientHere(plan.client, system)) {
    notes.push(
      `Warning: ${plan.client.title} was not found on this machine (neither its files nor its program). It will read ${plan.path} once it is installed.`,
    );
  }
  if (
    command.command === 'install' &&
    isChanged &&
    scope === 'project' &&
    start.words.some((word) => isAbsolute(word))
  ) {
    notes.push(
      `The entry contains paths on this machine. If you share the file, use --command ${COMMAND_NAME}, which works for everyone who has installed the package globally (install --global).`,
    );
  }
  if (command.command === 'uninstall' && isChanged && plan.registered?.words.some(isGlobalFile) === true) {
    notes.push(
      `The package itself stays installed. Once no client uses it, remove it with: npm uninstall --global ${COMMAND_NAME}`,
    );
  }
  return { ...plan, notes };
}

/** Whether the word is a file of this package in npm's global folder: `lib/node_modules`, on Windows `npm\node_modules`. */
function isGlobalFile(word: string): boolean {
  return isAbsolute(word) && /[\\/](?:lib|npm)[\\/]node_modules[\\/]mcp-server-code-execution-mode[\\/]/.test(word);
}

async function runGlobally(
  globally: GlobalInstall | undefined,
  { isDryRun }: InstallCommand,
  print: (text: string) => void,
): Promise<void> {
  if (globally?.run === undefined) {
    return;
  }
  if (isDryRun) {
    print(`Would run: ${globally.shown}\n`);
    return;
  }
  print(`Running: ${globally.shown}\n`);
  await globally.run();
}

async function printSnippets(
  { clients, isJson }: InstallCommand,
  planOptions: PlanOptions,
  { writeError, writeOut }: InstallOptions,
): Promise<void> {
  const snippets = await Promise.all(clients.map(async (id) => ({ id, ...(await snippetOf(id, planOptions)) })));
  if (isJson) {
    const reports = snippets.map(({ id, path, text }) => ({ client: id, path, text }));
    writeOut(renderJson(reports));
    return;
  }
  for (const { client, path, text } of snippets) {
    writeError(`${client.title} reads this from ${escapeControls(path)}\n`);
    writeOut(text);
  }
}

/** With control characters escaped: names and comments in the file of a project may come from a stranger. */
function describePlan({ client, changes, notes, path }: Plan, command: InstallCommand, hasColors: boolean): string {
  const state = command.command === 'install' ? 'is already registered' : 'is not registered';
  const diffs = changes.map((change) => {
    const shown = escapeInLines(renderChange(change).replaceAll('\r\n', '\n'));
    return hasColors ? colorChange(shown) : shown;
  });
  const lines =
    changes.length === 0
      ? `${client.title}: nothing to change; the bridge ${state} in ${escapeControls(path)}.\n`
      : `${client.title}:\n${diffs.join('')}`;
  const dryRun = command.isDryRun ? 'Nothing was written (--dry-run).\n' : '';
  return `${lines}${notes.map((note) => `${escapeControls(note)}\n`).join('')}${dryRun}`;
}

/** Writes the planned changes, unless it is a dry run. */
async function carryOut(
  { client, changes, notes }: Plan,
  { command, isDryRun, scope }: InstallCommand,
  print: (text: string) => void,
): Promise<Omit<InstallReport, 'client'>> {
  const done: InstallReport['changes'][number][] = [];
  for (const change of changes) {
    const { file, next } = change;
    const backup = isDryRun ? undefined : await writeClientFile(file, next, new Date(), change.isOriginal);
    const action = next === undefined ? 'remove' : file.text === undefined ? 'create' : 'change';
    done.push({ path: file.path, action, diff: renderChange(change), backup: backup ?? null });
    if (!isDryRun) {
      const secrets = backup !== undefined && heldSecrets(change) ? ', with secrets' : '';
      const copy = backup === undefined ? '' : ` (backup${secrets}: ${backup})`;
      print(`${escapeControls(`${action === 'remove' ? 'Removed' : 'Wrote'} ${file.path}${copy}`)}\n`);
    }
  }
  const isWritten = !isDryRun && changes.length > 0;
  const trust = command === 'install' ? client.trust?.[scope] : undefined;
  if (isWritten) {
    print(`To apply the change: ${client.afterwards}.\n`);
  }
  if (trust !== undefined && !isDryRun) {
    print(`${trust}.\n`);
  }
  return { changes: done, notes, isWritten };
}
