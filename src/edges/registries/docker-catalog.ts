/**
 * Reads servers of a Docker MCP catalog: a file with `registry`, or a `server.yaml` of its sources. Source: `pkg/catalog` and
 * `pkg/servers` of github.com/docker/mcp-registry, read in July 2026.
 */
import { z } from 'zod';
import { isObject } from '../../core/base/is-object.ts';
import { type FieldSchema, Inputs } from './inputs.ts';
import { isName, type NewServer, type Run, shownText, shownTitle, type Template, Unusable } from './new-server.ts';
import { imageOf, runOfRemote } from './packages.ts';
import { attempt, type Origin, shownAddress } from './server-json.ts';

const MAX_ITEMS = 100;
const text = z.string().max(4_000);
const texts = z.array(text).max(MAX_ITEMS).nullish();
const TileSchema = z.looseObject({
  title: text.nullish(),
  description: text.nullish(),
  image: text.nullish(),
  upstream: text.nullish(),
  command: texts,
  volumes: texts,
  env: z
    .array(z.looseObject({ name: text, value: z.union([text, z.number(), z.boolean()]).nullish() }))
    .max(MAX_ITEMS)
    .nullish(),
  secrets: z
    .array(z.looseObject({ env: text.nullish(), description: text.nullish(), required: z.boolean().nullish() }))
    .max(MAX_ITEMS)
    .nullish(),
  config: z.array(z.unknown()).max(MAX_ITEMS).nullish(),
  remote: z
    .looseObject({ url: text.nullish(), transport_type: text.nullish(), headers: z.record(text, text).nullish() })
    .nullish(),
  metadata: z.looseObject({ owner: text.nullish(), pulls: z.number().nullish() }).nullish(),
});
type Tile = z.infer<typeof TileSchema>;

/** `{{name|volume|into}}`, which Docker fills in from its settings of the server. */
const PLACEHOLDER = /\{\{\s*([^{}|]{1,100})((?:\|[^{}|]{1,40}){0,4})\s*\}\}/g;

/** Undefined if it is not a server. */
export function readTile(name: string, value: unknown, { isLocal, origin }: Origin): NewServer | undefined {
  const parsed = TileSchema.safeParse(isObject(value) && isObject(value['about']) ? tileOf(value) : value);
  if (!parsed.success || !isName(name)) {
    return undefined;
  }
  const { description, metadata, title, upstream } = parsed.data;
  const inputs = new Inputs();
  const refusals: string[] = [];
  const run = attempt(() => runOf(parsed.data, inputs, isLocal), refusals);
  return {
    name,
    title: shownTitle(title ?? undefined),
    description: shownText(description ?? undefined),
    publisher: shownText(metadata?.owner ?? 'docker', 60),
    repository: shownAddress(upstream ?? undefined),
    version: run === undefined || run.kind === 'remote' ? '' : digestOf(parsed.data.image ?? ''),
    isDeprecated: false,
    users: metadata?.pulls ?? undefined,
    origin,
    ...(run === undefined ? { refusal: refusals.join('; '), inputs: [] } : { run, inputs: inputs.list() }),
  };
}

/** A `server.yaml` in the form of a catalog. */
function tileOf(value: Readonly<Record<string, unknown>>): unknown {
  const part = (key: string): Readonly<Record<string, unknown>> => {
    const found = value[key];
    return isObject(found) ? found : {};
  };
  const config = part('config');
  return {
    ...value,
    ...part('about'),
    ...part('run'),
    ...config,
    upstream: part('source')['project'],
    config: undefined,
  };
}

function runOf(tile: Tile, inputs: Inputs, isLocal: boolean): Run {
  const { command, env, image, remote, secrets, volumes } = tile;
  if (remote?.url) {
    const headers = Object.entries(remote.headers ?? {}).map(([header, value]) => headerOf(header, value, tile));
    const way = { type: remote.transport_type ?? undefined, url: remote.url, headers, variables: {} };
    return runOfRemote(way, inputs, isLocal);
  }
  const variables = [
    ...(secrets ?? []).map((secret) => inputs.variable({ ...NO_FIELD, ...secretOf(secret) })),
    ...(env ?? []).map(({ name, value }): [string, Template] => {
      const [checked] = inputs.variable({ ...NO_FIELD, name, value: '' });
      return [checked, templateOf(String(value ?? ''), inputs)];
    }),
  ];
  const { image: name, digest } = imageOf({ identifier: image ?? '', version: undefined });
  const mounts = (volumes ?? []).map((volume) => templateOf(volume, inputs));
  if (mounts.some(([first]) => typeof first === 'string')) {
    throw new Unusable('it mounts a folder or volume that it chooses itself');
  }
  const args = [
    [[['run']], [['-i']], [['--rm']]],
    variables.map(([variable]): Template[] => [['-e'], [variable]]),
    mounts.map((mount): Template[] => [['-v'], mount]),
    [[[`${name}@${digest}`]]],
    (command ?? []).map((word): Template[] => [templateOf(word, inputs)]),
  ].flat();
  return { kind: 'oci', command: 'docker', args, env: Object.fromEntries(variables), mounts };
}

const NO_FIELD: z.infer<typeof FieldSchema> = {
  description: undefined,
  isRequired: false,
  isSecret: false,
  value: undefined,
  default: undefined,
  variables: {},
};

/** `Bearer ${API_KEY}`, where the secrets of the server have the variable. */
function headerOf(name: string, value: string, { secrets }: Tile) {
  const declared = (secrets ?? []).map(secretOf);
  const variables: Record<string, Omit<typeof NO_FIELD, 'variables'>> = {};
  const shown = value.replaceAll(/\$\{?([A-Za-z_]\w*)\}?/g, (_, variable: string) => {
    const secret = declared.find((one) => one.name === variable);
    if (secret === undefined) {
      throw new Unusable(`its header ${shownText(name, 40)} refers to ${variable}, which is not one of its secrets`);
    }
    variables[variable] = { ...NO_FIELD, ...secret };
    return `{${variable}}`;
  });
  return { ...NO_FIELD, name, value: shown, variables };
}

function secretOf({ description, env, required }: NonNullable<Tile['secrets']>[number]) {
  return { name: env ?? '', description: description ?? undefined, isSecret: true, isRequired: required !== false };
}

function templateOf(value: string, inputs: Inputs): Template {
  const parts: (string | { readonly input: string })[] = [];
  let end = 0;
  for (const match of value.matchAll(PLACEHOLDER)) {
    const [whole, path = '', filters = ''] = match;
    const input = inputs.template(path.trim(), { ...NO_FIELD, isRequired: true });
    const isMount = /\|volume(?:\||$)/.test(filters);
    parts.push(value.slice(end, match.index), ...input, ...(isMount ? [':', ...input] : []));
    end = match.index + whole.length;
  }
  return [...parts, value.slice(end)].filter((part) => part !== '');
}

function digestOf(image: string): string {
  return image.split('@')[1]?.slice(0, 'sha256:'.length + 12) ?? '';
}
