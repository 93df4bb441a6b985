/** `install` and `uninstall`: puts this bridge into the configuration of MCP clients, and takes it out again. */
import { isAbsolute } from 'node:path';
import type { Person } from '../base/cell.ts';
import { BridgeError } from '../base/errors.ts';
import { refuseUnusableHome } from '../base/home.ts';
import { COMMAND_NAME, thisProgramStart } from '../base/package.ts';
import { splitWords } from '../base/shell-words.ts';
import { listServers } from '../clients/server-lists.ts';
import type { ClientId, ClientSystem } from '../clients/table.ts';
import { writeClientFile } from '../servers/client-file.ts';
import { thisSystem } from '../servers/sources.ts';
import type { Settings } from '../settings/settings.ts';
import { colourChange, renderChange } from '../terminal/file-change.ts';
import { isClientHere } from './client-presence.ts';
import type { InstallCommand } from './command-line.ts';
import type { GlobalInstall } from './global-install.ts';
import { describeCallable } from './install-servers.ts';
import { type ClientStart, type Plan, type PlanOptions, planInstall, planUninstall, snippetOf } from './plan.ts';

export interface InstallOptions {
  readonly settings: Pick<Settings, 'stateDir'> &
    Partial<Pick<Settings, 'serversConfig' | 'configSources' | 'allowSelfServer'>>;
  /** This machine when left out. */
  readonly system?: ClientSystem;
  /** Folder of the project; the working directory when left out. */
  readonly cwd?: string;
  /** What clients run; what started this program when left out. */
  readonly start?: readonly string[];
  /** Who is asked whether the client's servers move; undefined when no one can be. */
  readonly person?: Person | undefined;
  /** Whether what is written is shown on a terminal that knows colours. */
  readonly hasColours?: boolean;
  readonly writeOut: (text: string) => void;
  readonly writeError: (text: string) => void;
}

/** What `install` and `uninstall` did to the files of one client, or would do; also the JSON. */
interface InstallReport {
  readonly client: ClientId;
  /** In the order in which they are written; none when nothing is to change. */
  readonly changes: readonly {
    readonly path: string;
    readonly action: 'create' | 'change' | 'remove';
    /** Unified; secrets are `***`. */
    readonly diff: string;
    /** Copy of what was there; null when there was nothing, and when nothing was written. */
    readonly backup: string | null;
  }[];
  /** Sentences about servers that are moved or stay, and about the client. */
  readonly notes: readonly string[];
  readonly isWritten: boolean;
}

/** As a shell reports Ctrl-C. */
const CANCELLED_EXIT_CODE = 130;

/** Resolves with the exit code. All clients are looked at before anything is written: a refusal leaves all as they are. */
export async function install(command: InstallCommand, options: InstallOptions): Promise<number> {
  const system = options.system ?? thisSystem(process.env);
  if (options.system === undefined) {
    await refuseUnusableHome(system);
  }
  const globally = command.isGlobal ? await (await import('./global-install.ts')).planGlobalInstall() : undefined;
  const planOptions: PlanOptions = {
    system,
    cwd: options.cwd ?? process.cwd(),
    scope: command.scope,
    stateDir: options.settings.stateDir,
    start: chooseStart(command, options, globally),
  };
  if (command.isPrint) {
    await printSnippets(command, planOptions, options);
    return 0;
  }
  const plans = await planAll(command, planOptions, options);
  if (plans === undefined) {
    options.writeError('Nothing was written.\n');
    return CANCELLED_EXIT_CODE;
  }
  const tell = command.isJson ? (): void => undefined : options.writeOut;
  await runGlobally(globally, command, tell);
  const reports: InstallReport[] = [];
  for (const [id, plan] of plans) {
    tell(describePlan(plan, command, options.hasColours === true));
    reports.push({ client: id, ...(await carryOut(plan, command, tell)) });
  }
  if (command.isJson) {
    options.writeOut(`${JSON.stringify(reports, undefined, 2)}\n`);
  } else if (command.command === 'install') {
    tell(await describeCallable(plans, command, { ...options, system }));
  }
  return 0;
}

function chooseStart(
  { startCommand }: InstallCommand,
  options: InstallOptions,
  globally: GlobalInstall | undefined,
): ClientStart {
  if (startCommand === undefined) {
    return { words: globally?.words ?? options.start ?? thisProgramStart().clientWords, isGiven: false };
  }
  const words = splitWords(startCommand);
  if (words === undefined) {
    throw new BridgeError('USAGE_INVALID', `--command holds no command: ${startCommand}`, {
      hint: "Write the command with its arguments as one word, as in --command 'node /path/dist/cli.js', and close quotes in it.",
    });
  }
  if (startsNothing(words)) {
    throw new BridgeError(
      'USAGE_INVALID',
      `--command names no package or file for ${words[0]} to run: ${startCommand}`,
      {
        hint: 'Add it, as in --command "npx -y PACKAGE".',
      },
    );
  }
  return { words, isGiven: true };
}

/** Whether the words are only a program that runs packages, its subcommands and options. */
function startsNothing([program = '', ...rest]: readonly string[]): boolean {
  const name = program.replace(/^.*[\\/]/s, '').replace(/\.(?:cmd|exe)$/i, '');
  const isRunner = /^(?:npx|npm|pnpm|pnpx|yarn|bun|bunx|uv|uvx|pipx)$/.test(name);
  return isRunner && rest.every((word) => /^(?:-.*|exec|x|dlx|run|tool)$/s.test(word));
}

/** Undefined when a person was asked and did not want to go on. */
async function planAll(
  command: InstallCommand,
  planOptions: PlanOptions,
  { person }: InstallOptions,
): Promise<[ClientId, Plan][] | undefined> {
  const plans: [ClientId, Plan][] = [];
  for (const id of command.clients) {
    const plan = await (command.command === 'install'
      ? planInstall(id, { ...planOptions, isImport: command.isImport === true })
      : planUninstall(id, planOptions));
    plans.push([id, withMachineNotes(plan, command, planOptions)]);
  }
  const isAsking = command.command === 'install' && command.isImport === undefined && !command.isJson;
  if (person === undefined || !isAsking || command.isDryRun) {
    return plans;
  }
  for (const [index, [id, plan]] of plans.entries()) {
    const names = listServers(plan.others.moved);
    const answer = names.length === 0 ? false : await askToMove(person, plan, names, planOptions.stateDir);
    if (answer === undefined) {
      return undefined;
    }
    if (answer) {
      const moving = await planInstall(id, { ...planOptions, isImport: true });
      plans[index] = [id, withMachineNotes(moving, command, planOptions)];
    }
  }
  return plans;
}

/** Undefined for Ctrl-C and the end of the input. */
async function askToMove(
  person: Person,
  { client, path }: Plan,
  names: readonly string[],
  stateDir: string,
): Promise<boolean | undefined> {
  const [are, them] =
    names.length === 1 ? ['is another MCP server', 'it'] : [`are ${names.length} other MCP servers`, 'them'];
  const { action, content } = await person.ask(
    {
      mode: 'form',
      message: `In ${path} there ${are}: ${names.join(', ')}. Code can call only servers that are moved to ${stateDir}.`,
      requestedSchema: {
        type: 'object',
        properties: {
          move: {
            type: 'boolean',
            title: `Move ${them} there? ${client.title} then reaches ${them} through run_python; uninstall puts ${them} back`,
            default: false,
          },
        },
        required: [],
      },
    },
    new AbortController().signal,
  );
  return action === 'accept' ? content?.['move'] === true : undefined;
}

/** What a user of this machine should know about the client and the entry. */
function withMachineNotes(plan: Plan, command: InstallCommand, { scope, start, system }: PlanOptions): Plan {
  const notes = [...plan.notes];
  const isChanged = plan.changes.length > 0;
  if (command.command === 'install' && scope === 'user' && !isClientHere(plan.client, system)) {
    notes.push(
      `Warning: ${plan.client.title} was not found on this machine (neither its files nor its program). It reads ${plan.path} once it is installed.`,
    );
  }
  if (
    command.command === 'install' &&
    isChanged &&
    scope === 'project' &&
    start.words.some((word) => isAbsolute(word))
  ) {
    notes.push(
      `The entry names paths of this machine. For a file that you share with others, add: --command ${COMMAND_NAME}. It works for everyone who has installed the package globally (install --global).`,
    );
  }
  if (command.command === 'uninstall' && isChanged && plan.registered?.words.some(isGlobalFile) === true) {
    notes.push(
      `The package itself stays installed. When no client needs it any more, remove it: npm uninstall --global ${COMMAND_NAME}`,
    );
  }
  return { ...plan, notes };
}

/** Whether it is a file of this package where npm keeps global ones: `lib/node_modules`, on Windows `npm\node_modules`. */
function isGlobalFile(word: string): boolean {
  return isAbsolute(word) && /[\\/](?:lib|npm)[\\/]node_modules[\\/]mcp-server-code-execution-mode[\\/]/.test(word);
}

async function runGlobally(
  globally: GlobalInstall | undefined,
  { isDryRun }: InstallCommand,
  tell: (text: string) => void,
): Promise<void> {
  if (globally?.run === undefined) {
    return;
  }
  if (isDryRun) {
    tell(`Would run: ${globally.shown}\n`);
    return;
  }
  tell(`Running: ${globally.shown}\n`);
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
    writeOut(`${JSON.stringify(reports, undefined, 2)}\n`);
    return;
  }
  for (const { client, path, text } of snippets) {
    writeError(`${client.title} reads this from ${path}\n`);
    writeOut(text);
  }
}

function describePlan({ client, changes, notes, path }: Plan, command: InstallCommand, hasColours: boolean): string {
  const state = command.command === 'install' ? 'is registered already' : 'is not registered';
  const lines =
    changes.length === 0
      ? `${client.title}: nothing to change; the bridge ${state} in ${path}.\n`
      : `${client.title}:\n${changes.map((change) => (hasColours ? colourChange(renderChange(change)) : renderChange(change))).join('')}`;
  const dryRun = command.isDryRun ? 'Nothing was written (--dry-run).\n' : '';
  return `${lines}${notes.map((note) => `${note}\n`).join('')}${dryRun}`;
}

/** Writes what is planned, unless it is a dry run. */
async function carryOut(
  { client, changes, notes }: Plan,
  { command, isDryRun, scope }: InstallCommand,
  tell: (text: string) => void,
): Promise<Omit<InstallReport, 'client'>> {
  const done: InstallReport['changes'][number][] = [];
  for (const change of changes) {
    const { file, next } = change;
    const backup = isDryRun ? undefined : await writeClientFile(file, next, new Date());
    const action = next === undefined ? 'remove' : file.text === undefined ? 'create' : 'change';
    done.push({ path: file.path, action, diff: renderChange(change), backup: backup ?? null });
    if (!isDryRun) {
      const before = backup === undefined ? '' : `; before: ${backup}`;
      tell(`${action === 'remove' ? 'Removed' : 'Wrote'} ${file.path}${before}\n`);
    }
  }
  const isWritten = !isDryRun && changes.length > 0;
  const trust = command === 'install' ? client.trust?.[scope] : undefined;
  if (isWritten) {
    tell(`To apply the change: ${client.afterwards}.\n`);
  }
  if (trust !== undefined && !isDryRun) {
    tell(`${trust}.\n`);
  }
  return { changes: done, notes, isWritten };
}
