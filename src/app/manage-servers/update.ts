/** `servers update`: changes servers that were found in a registry or catalog to its newer versions, after the person has seen what changes. */
import { z } from 'zod';
import { BridgeError, messageOf } from '../../core/base/errors.ts';
import { isObject } from '../../core/base/is-object.ts';
import { escapeControls, renderJson } from '../../core/base/log.ts';
import type { FileObject } from '../../edges/clients/file-format.ts';
import { commandLine, planEntry } from '../../edges/registries/entry.ts';
import { NewServers } from '../../edges/registries/find.ts';
import { type DefinedServer, findDefinedServers } from '../../edges/servers/discover.ts';
import { discoveryOptionsOf } from '../../edges/settings/discovery-options.ts';
import type { CommandContext, CommandHost, LineFor } from '../../edges/terminal/command.ts';
import { confirm } from '../../edges/terminal/confirm.ts';
import type { FindServersCommand } from './command.ts';
import { writeEntries } from './edit.ts';

const SourceSchema = z.object({
  name: z.string(),
  version: z.string(),
  values: z.record(z.string(), z.string()).default({}),
});

/** What one server would change to. */
interface Update {
  readonly server: string;
  readonly from: string;
  /** Null if there is no other version, or it cannot be used. */
  readonly to: string | null;
  readonly before: string;
  readonly after: string | null;
  readonly newVariables: readonly string[];
  /** Why it stays as it is. */
  readonly problem: string | null;
}

type Planned = readonly [Update, FileObject | undefined];
type UpdateOptions = Pick<CommandContext, 'settings'> & Pick<CommandHost, 'env' | 'findPerson' | 'writeOut'>;

/** Resolves with 0. Rejects with `APPROVAL_DENIED`, `USAGE_INVALID`, and the errors of `servers add`. */
export async function updateServers(
  { isJson, isSure, names }: LineFor<FindServersCommand, 'update'>,
  options: UpdateOptions,
): Promise<number> {
  const { env, settings, writeOut } = options;
  const found = new NewServers(settings, env);
  const planned: Planned[] = [];
  for (const server of await serversFrom(names, settings)) {
    planned.push(await planUpdate(server, found));
  }
  const entries = planned.flatMap(([{ server }, entry]): [string, FileObject][] => (entry ? [[server, entry]] : []));
  const updates = planned.map(([update]) => update);
  if (!isJson) {
    writeOut(updates.length === 0 ? 'No server was found in a registry.\n' : updates.map(renderUpdate).join(''));
  }
  if (entries.length > 0) {
    await confirm(`Change ${entries.map(([name]) => name).join(', ')}?`, isSure, options);
    await writeEntries({ entries }, true, settings);
  }
  if (isJson) {
    writeOut(renderJson({ updates, isWritten: entries.length > 0 }));
  }
  return 0;
}

/** The definitions in effect, in our files, that have a source; those named must. */
async function serversFrom(names: readonly string[], settings: CommandContext['settings']): Promise<DefinedServer[]> {
  const defined = findDefinedServers(await discoveryOptionsOf(settings));
  const first = new Map(defined.toReversed().map((server) => [server.name, server]));
  const known = [...first.values()].filter(({ entry, isOurs }) => isOurs && sourceOf(entry) !== undefined);
  const other = names.find((name) => !known.some((server) => server.name === name));
  if (other !== undefined) {
    throw new BridgeError(
      'USAGE_INVALID',
      `server '${other}' was not found in a registry, so nothing is known of newer versions`,
      {
        hint: 'Its entry has no "source". Change it in its file.',
      },
    );
  }
  return known.toReversed().filter(({ name }) => names.length === 0 || names.includes(name));
}

async function planUpdate({ entry, name }: DefinedServer, found: NewServers): Promise<Planned> {
  const old = isObject(entry) ? entry : {};
  const source = sourceOf(entry) ?? { name: '', version: '', values: {} };
  const same = {
    server: name,
    from: source.version,
    to: null,
    before: commandLine(old),
    after: null,
    newVariables: [],
    problem: null,
  };
  try {
    const { server } = await found.lookUp(source.name);
    if (server.version === source.version) {
      return [same, undefined];
    }
    const values = Object.entries(source.values).filter(([key]) => server.inputs.some((input) => input.name === key));
    const isStored = (secret: string): boolean => JSON.stringify(old).includes(`\${secret:${secret}}`);
    const planned = planEntry(server, { alias: name, values: Object.fromEntries(values), isStored });
    const next = merged(old, planned.entry);
    const isNew = (key: string): boolean => !Object.hasOwn(Object(old['env'] ?? old['headers']), key);
    const newVariables = Object.keys(Object(next['env'] ?? next['headers'])).filter(isNew);
    return [{ ...same, to: server.version, after: planned.runs, newVariables }, next];
  } catch (error) {
    return [{ ...same, problem: messageOf(error) }, undefined];
  }
}

/** What the person has written stays: values of variables, the description, the policy, and every other key. */
function merged(old: FileObject, fresh: FileObject): FileObject {
  const { args: _args, command: _command, env, headers, type: _type, url: _url, ...kept } = old;
  const { description: _description, policy: _policy, ...started } = fresh;
  const both = (key: string, before: unknown): FileObject => {
    const values = { ...Object(fresh[key]), ...Object(before) } as FileObject;
    return Object.keys(values).length === 0 ? {} : { [key]: values };
  };
  return { ...kept, ...started, ...(fresh['url'] === undefined ? both('env', env) : both('headers', headers)) };
}

function sourceOf(entry: unknown) {
  const parsed = SourceSchema.safeParse(isObject(entry) ? entry['source'] : undefined);
  return parsed.success ? parsed.data : undefined;
}

function renderUpdate({ after, before, from, newVariables, problem, server, to }: Update): string {
  const lines =
    to === null || after === null
      ? [`${server}: ${problem ?? `${from} is the newest version`}`]
      : [
          `${server}: ${from} -> ${to}`,
          `  - ${before}`,
          `  + ${after}`,
          ...(newVariables.length === 0 ? [] : [`  new variables: ${newVariables.join(', ')}`]),
        ];
  return lines.map((line) => `${escapeControls(line)}\n`).join('');
}
