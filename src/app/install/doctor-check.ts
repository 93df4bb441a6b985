/** What `doctor` checks about MCP clients: in which of the installed ones the bridge is registered. */
import { access } from 'node:fs/promises';
import { isAbsolute } from 'node:path';
import { messageOf } from '../../core/base/errors.ts';
import { COMMAND, thisProgramStart } from '../../core/base/package.ts';
import { CLIENT_IDS, type ClientId } from '../../edges/clients/client-ids.ts';
import { type ClientSystem, clientOf } from '../../edges/clients/table.ts';
import { checkVariables } from '../../edges/settings/inspect.ts';
import type { Finding } from '../../edges/terminal/finding.ts';
import { type Plan, planInstall } from './plan.ts';

export interface ClientOptions {
  readonly system: ClientSystem;
  readonly stateDir: string;
}

/** One finding for each client with a configuration file, and a warning if the bridge is in none of them. Writes nothing. */
export async function examineClients(options: ClientOptions): Promise<Finding[]> {
  const findings = (await Promise.all(CLIENT_IDS.map((id) => examine(id, options)))).flat();
  const isRegistered = findings.some(({ isRegistered: is }) => is);
  const lines = findings.map(({ finding }) => finding);
  if (isRegistered || findings.length === 0) {
    return lines;
  }
  const hint = `Run: ${COMMAND} install CLIENT`;
  return [
    ...lines,
    { section: 'clients', level: 'warning', text: 'the bridge is not registered in any of these clients', hint },
  ];
}

async function examine(id: ClientId, options: ClientOptions) {
  const client = clientOf(id);
  if (!(await hasAny(client.userFiles(options.system)))) {
    return [];
  }
  try {
    const plan = await planNow(id, options);
    if (plan.registered === undefined) {
      const text = `${client.title}: not registered in ${plan.path}`;
      return [{ isRegistered: false, finding: { section: 'clients', level: 'ok', text } satisfies Finding }];
    }
    const finding = await judgeRegistration(plan.registered.words, `${client.title}: registered in ${plan.path}`, id);
    const wrong = await judgeVariables(plan.registered.variables, `${client.title}, in ${plan.path}: `);
    return [finding, ...wrong].map((one) => ({ isRegistered: true, finding: one }));
  } catch (error) {
    const text = `${client.title}: ${messageOf(error)}`;
    return [{ isRegistered: false, finding: { section: 'clients', level: 'warning', text } satisfies Finding }];
  }
}

/** The bridge of this client sees them, and `doctor` itself does not. */
async function judgeVariables(variables: Readonly<Record<string, string>>, where: string): Promise<Finding[]> {
  const { unknown, wrong } = await checkVariables(variables);
  const hint = 'Correct it in this file; the bridge reads it when the client starts it again.';
  return [
    ...wrong.map(
      (text): Finding => ({ section: 'clients', level: 'problem', text: where + text, hint, code: 'CONFIG_INVALID' }),
    ),
    ...unknown.map((text): Finding => ({ section: 'clients', level: 'warning', text: where + text, hint })),
  ];
}

/** A registration can stop working: without network, or when a file that it names is moved. */
async function judgeRegistration(words: readonly string[], text: string, id: ClientId): Promise<Finding> {
  const files = words.filter((word, index) => isAbsolute(word) && (index === 0 || /[\\/]cli\.js$/.test(word)));
  for (const file of files) {
    if (!(await hasAny([file]))) {
      const hint = `Run: ${COMMAND} install ${id}`;
      return { section: 'clients', level: 'warning', text: `${text}, but ${file} does not exist`, hint };
    }
  }
  if (words[0] === 'npx' || words[2] === 'npx') {
    const risk = 'npx contacts the registry at every start, and waits more than a minute without a network';
    const hint = `For a start that needs no network, run: ${COMMAND} install ${id} --global`;
    return { section: 'clients', level: 'ok', text: `${text}; ${risk}`, hint };
  }
  return { section: 'clients', level: 'ok', text };
}

/** The variables of the entry of each client in which the bridge is registered. Files that cannot be read are left out. */
export async function listVariables(options: ClientOptions) {
  const found = await Promise.all(
    CLIENT_IDS.map(async (id) => {
      const { title, userFiles } = clientOf(id);
      if (!(await hasAny(userFiles(options.system)))) {
        return [];
      }
      const plan = await planNow(id, options).catch(() => undefined);
      return plan?.registered === undefined ? [] : [{ title, path: plan.path, variables: plan.registered.variables }];
    }),
  );
  return found.flat();
}

/** What `install` would do, which says how the bridge is registered now. */
function planNow(id: ClientId, { stateDir, system }: ClientOptions): Promise<Plan> {
  const start = { words: thisProgramStart().clientWords, isGiven: false };
  return planInstall(id, { system, stateDir, cwd: stateDir, scope: 'user', isImport: false, start });
}

async function hasAny(paths: readonly string[]): Promise<boolean> {
  const found = await Promise.all(
    paths.map((path) =>
      access(path).then(
        () => true,
        () => false,
      ),
    ),
  );
  return found.includes(true);
}
