/**
 * Reads what a registry says about a server: `server.json` of the official MCP registry (schemas 2025-07-09 to 2025-12-11, "Generic
 * server.json Reference"), alone or in an answer of its API. Early versions wrote `registry_type` for `registryType`.
 */
import { z } from 'zod';
import { messageOf } from '../../core/base/errors.ts';
import { isObject } from '../../core/base/is-object.ts';
import { Inputs } from './inputs.ts';
import { isName, type NewServer, type Run, shownText, shownTitle, Unusable } from './new-server.ts';
import { PackageSchema, RemoteSchema, runOfPackage, runOfRemote } from './packages.ts';

const OFFICIAL = 'io.modelcontextprotocol.registry/official';
/** Packages and remote servers of one record. Chosen: real ones have one or two. */
const MAX_WAYS = 10;
const MAX_DEPTH = 8;

const text = z.string().max(10_000);
const ServerSchema = z.looseObject({
  name: text,
  title: text.nullish(),
  description: text.nullish(),
  version: text.nullish(),
  status: text.nullish(),
  repository: z.looseObject({ url: text.nullish() }).nullish(),
  packages: z.array(z.unknown()).max(MAX_WAYS).nullish(),
  remotes: z.array(z.unknown()).max(MAX_WAYS).nullish(),
});
const MetaSchema = z.looseObject({ status: text.nullish(), isLatest: z.boolean().nullish() });

export interface Origin {
  /** The address of the registry, or the path of the catalog. */
  readonly origin: string;
  /** Whether it is on this machine, so that its servers may be too. */
  readonly isLocal: boolean;
}

/** The server of an item; undefined if it is not one, has been deleted, or is an older version of one that follows. */
export function readServer(item: unknown, { isLocal, origin }: Origin): NewServer | undefined {
  const plain = camelCased(item);
  const outer = isObject(plain) ? plain : {};
  const parsed = ServerSchema.safeParse(isObject(outer['server']) ? outer['server'] : outer);
  const meta = MetaSchema.safeParse(metaOf(outer) ?? {});
  if (!parsed.success || !meta.success || !isName(parsed.data.name) || meta.data.isLatest === false) {
    return undefined;
  }
  const { description, name, repository, title } = parsed.data;
  const version = parsed.data.version ?? '';
  const status = meta.data.status ?? parsed.data.status ?? 'active';
  if (status === 'deleted') {
    return undefined;
  }
  return {
    name,
    title: shownTitle(title ?? undefined),
    description: shownText(description ?? undefined),
    publisher: name.split('/')[0] ?? name,
    repository: shownAddress(repository?.url ?? undefined),
    version: shownText(version, 60),
    isDeprecated: status === 'deprecated',
    origin,
    ...wayOf([...(parsed.data.packages ?? [])], [...(parsed.data.remotes ?? [])], isLocal),
  };
}

/** The first package that can be run as it is, otherwise the first remote server; packages are pinned, remote servers change. */
function wayOf(
  packages: readonly unknown[],
  remotes: readonly unknown[],
  isLocal: boolean,
): Pick<NewServer, 'run' | 'refusal' | 'inputs'> {
  const ways = [
    ...packages.map((one) => (inputs: Inputs) => runOfPackage(PackageSchema.parse(one), inputs)),
    ...remotes.map((one) => (inputs: Inputs) => runOfRemote(RemoteSchema.parse(one), inputs, isLocal)),
  ];
  const refusals: string[] = [];
  for (const way of ways) {
    const inputs = new Inputs();
    const run = attempt(() => way(inputs), refusals);
    if (run !== undefined) {
      return { run, inputs: inputs.list() };
    }
  }
  const refusal =
    refusals.length === 0 ? 'it names neither a package nor an address' : [...new Set(refusals)].join('; ');
  return { refusal, inputs: [] };
}

/** Undefined if the record cannot be used, with the reason in `refusals`. */
export function attempt(read: () => Run, refusals: string[]): Run | undefined {
  try {
    return read();
  } catch (error) {
    if (!(error instanceof Unusable) && !(error instanceof z.ZodError)) {
      throw error;
    }
    refusals.push(error instanceof Unusable ? messageOf(error) : 'a part of it is not as server.json says');
    return undefined;
  }
}

export function shownAddress(url: string | undefined): string | undefined {
  return url !== undefined && /^https?:\/\/[\x21-\x7e]{1,200}$/.test(url) ? url : undefined;
}

function metaOf(outer: Readonly<Record<string, unknown>>): unknown {
  const meta = outer['_meta'];
  return isObject(meta) ? meta[OFFICIAL] : undefined;
}

/** The value with keys such as `registry_type` as `registryType`, except those in `_meta` and of variables. */
function camelCased(value: unknown, depth = 0): unknown {
  if (Array.isArray(value)) {
    return depth > MAX_DEPTH ? [] : value.map((one) => camelCased(one, depth + 1));
  }
  if (!isObject(value)) {
    return value;
  }
  const entries = Object.entries(value).map(([key, member]): [string, unknown] => {
    const isOurs = key === 'variables' || key.startsWith('_') || key.includes('/');
    const plain = isOurs ? key : key.replaceAll(/_([a-z])/g, (_, letter: string) => letter.toUpperCase());
    return [plain, depth > MAX_DEPTH ? undefined : camelVariables(key, member, depth)];
  });
  return Object.fromEntries(entries);
}

/** Names of variables stay as they are. */
function camelVariables(key: string, member: unknown, depth: number): unknown {
  return key === 'variables' && isObject(member)
    ? Object.fromEntries(Object.entries(member).map(([name, one]) => [name, camelCased(one, depth + 2)]))
    : camelCased(member, depth + 1);
}
