/** `install` and `uninstall`: puts this bridge into the configuration of MCP clients, and takes it out again. */
import type { ClientId, ClientSystem } from '../clients/table.ts';
import { writeClientFile } from '../config/client-file.ts';
import type { Settings } from '../config/settings.ts';
import { thisSystem } from '../config/sources.ts';
import type { InstallCommand } from './cli/install.ts';
import { type Plan, type PlanOptions, planInstall, planUninstall, snippetOf } from './install-plan.ts';
import { colourChange, renderChange } from './install-text.ts';

export interface InstallOptions {
  readonly settings: Pick<Settings, 'stateDir'>;
  /** This machine when left out. */
  readonly system?: ClientSystem;
  /** Folder of the project; the working directory when left out. */
  readonly cwd?: string;
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
  /** Sentences about servers that are moved or stay. */
  readonly notes: readonly string[];
  readonly isWritten: boolean;
}

/** Resolves with the exit code. All clients are looked at before anything is written: a refusal leaves all as they are. */
export async function install(command: InstallCommand, options: InstallOptions): Promise<number> {
  const planOptions = {
    system: options.system ?? thisSystem(process.env),
    cwd: options.cwd ?? process.cwd(),
    scope: command.scope,
    stateDir: options.settings.stateDir,
    isImport: command.isImport,
  };
  if (command.isPrint) {
    await printSnippets(command, planOptions, options);
    return 0;
  }
  const planOne = command.command === 'install' ? planInstall : planUninstall;
  const plans: [ClientId, Plan][] = [];
  for (const id of command.clients) {
    plans.push([id, await planOne(id, planOptions)]);
  }
  const tell = command.isJson ? (): void => undefined : options.writeOut;
  const reports: InstallReport[] = [];
  for (const [id, plan] of plans) {
    tell(describePlan(plan, command, options.hasColours === true));
    reports.push({ client: id, ...(await carryOut(plan, command, tell)) });
  }
  if (command.isJson) {
    options.writeOut(`${JSON.stringify(reports, undefined, 2)}\n`);
  }
  return 0;
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
  { isDryRun }: InstallCommand,
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
  if (isWritten) {
    tell(`For the change to count: ${client.afterwards}.\n`);
  }
  return { changes: done, notes, isWritten };
}
