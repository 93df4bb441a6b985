/** `install` and `uninstall`: puts this bridge into the configuration of MCP clients, and takes it out again. */
import type { ClientSystem } from '../clients/table.ts';
import { writeClientFile } from '../config/client-file.ts';
import type { Settings } from '../config/settings.ts';
import { thisSystem } from '../config/sources.ts';
import type { InstallCommand } from './cli/install.ts';
import { type Plan, planInstall, planUninstall, snippetOf } from './install-plan.ts';
import { renderChange } from './install-text.ts';

export interface InstallOptions {
  readonly settings: Pick<Settings, 'stateDir'>;
  /** This machine when left out. */
  readonly system?: ClientSystem;
  /** Folder of the project; the working directory when left out. */
  readonly cwd?: string;
  readonly writeOut: (text: string) => void;
  readonly writeError: (text: string) => void;
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
    for (const id of command.clients) {
      const { client, path, text } = await snippetOf(id, planOptions);
      options.writeError(`${client.title} reads this from ${path}\n`);
      options.writeOut(text);
    }
    return 0;
  }
  const planOne = command.command === 'install' ? planInstall : planUninstall;
  const plans: Plan[] = [];
  for (const id of command.clients) {
    plans.push(await planOne(id, planOptions));
  }
  for (const plan of plans) {
    show(plan, command, options);
    if (!command.isDryRun) {
      await carryOut(plan, options);
    }
  }
  return 0;
}

function show(plan: Plan, command: InstallCommand, { writeOut }: InstallOptions): void {
  const { client, changes, notes, path } = plan;
  if (changes.length === 0) {
    const state = command.command === 'install' ? 'is registered already' : 'is not registered';
    writeOut(`${client.title}: nothing to change; the bridge ${state} in ${path}.\n`);
  } else {
    writeOut(`${client.title}:\n${changes.map(renderChange).join('')}`);
  }
  for (const note of notes) {
    writeOut(`${note}\n`);
  }
  if (command.isDryRun) {
    writeOut('Nothing was written (--dry-run).\n');
  }
}

async function carryOut({ client, changes }: Plan, { writeOut }: InstallOptions): Promise<void> {
  for (const { file, next } of changes) {
    const backup = await writeClientFile(file, next, new Date());
    writeOut(
      `${next === undefined ? 'Removed' : 'Wrote'} ${file.path}${backup === undefined ? '' : `; before: ${backup}`}\n`,
    );
  }
  if (changes.length > 0) {
    writeOut(`For the change to count: ${client.afterwards}.\n`);
  }
}
