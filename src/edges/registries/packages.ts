/**
 * What a package or a remote server of a record would run: one exact version, from the public index of its kind, with arguments that
 * no shell sees. Anything else is refused with the reason.
 */
import { isIP } from 'node:net';
import { z } from 'zod';
import { COMMAND } from '../../core/base/package.ts';
import { hostOf, isPrivateAddress, isThisMachine } from '../upstream/http/addresses.ts';
import { ArgumentSchema, type Inputs, NamedFieldSchema } from './inputs.ts';
import { inputsIn, type Run, shownText, showTemplate, type Template, Unusable } from './new-server.ts';

const MAX_ITEMS = 100;
const text = z.string().max(4_000);
const optional = text.nullish().transform((value) => value ?? undefined);

/** Strings that are not in the list are other programs' notations, or mistakes; one of them must not cost the whole record. */
function listOf<Schema extends z.ZodType>(schema: Schema) {
  return z
    .array(schema)
    .max(MAX_ITEMS)
    .nullish()
    .transform((value) => value ?? []);
}

export const PackageSchema = z.object({
  registryType: text,
  registryBaseUrl: optional,
  identifier: text.min(1),
  version: optional,
  runtimeHint: optional,
  transport: z.object({ type: optional }).nullish(),
  runtimeArguments: listOf(ArgumentSchema),
  packageArguments: listOf(ArgumentSchema),
  environmentVariables: listOf(NamedFieldSchema),
});
export const RemoteSchema = z.object({
  type: optional,
  url: text.min(1),
  headers: listOf(NamedFieldSchema),
  variables: ArgumentSchema.shape.variables,
});
type Package = z.infer<typeof PackageSchema>;
type Argument = z.infer<typeof ArgumentSchema>;

const NPM_NAME = /^(?:@[a-z0-9~-][a-z0-9._~-]*\/)?[a-z0-9~-][a-z0-9._~-]*$/;
const NPM_VERSION = /^\d+\.\d+\.\d+(?:-[0-9A-Za-z.-]+)?(?:\+[0-9A-Za-z.-]+)?$/;
const PYPI_NAME = /^[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?$/;
const PYPI_VERSION = /^(?:\d+!)?\d+(?:\.\d+)*(?:[-_.]?(?:a|b|c|rc|alpha|beta|pre|preview|post|rev|r|dev)[-_.]?\d*)*$/i;
const IMAGE = /^[a-z0-9][a-z0-9._:/-]*$/;
const DIGEST = /^sha256:[0-9a-f]{64}$/;

interface Kind {
  readonly index: RegExp;
  readonly hints: readonly string[];
  readonly command: string;
  /** The words before the arguments of the package. Throws `Unusable` if they would not always mean the same. */
  pinned(identifier: string, version: string | undefined): string[];
}

const KINDS: Readonly<Record<'npm' | 'pypi', Kind>> = {
  npm: {
    index: /^https:\/\/registry\.npmjs\.org\/?$/,
    hints: ['npx'],
    command: 'npx',
    pinned(name, version) {
      check(NPM_NAME.test(name), `'${shownText(name, 80)}' is not the name of an npm package`);
      check(NPM_VERSION.test(version ?? ''), unpinned(version, `npx -y ${name}@VERSION`));
      return ['-y', `${name}@${version}`];
    },
  },
  pypi: {
    index: /^https:\/\/(?:pypi\.org|pypi\.python\.org)(?:\/simple)?\/?$/,
    hints: ['uvx', 'uv'],
    command: 'uvx',
    pinned(name, version) {
      check(PYPI_NAME.test(name), `'${shownText(name, 80)}' is not the name of a Python package`);
      check(PYPI_VERSION.test(version ?? ''), unpinned(version, `uvx ${name}==VERSION`));
      return [`${name}==${version}`];
    },
  },
};

/** Throws `Unusable`. */
export function runOfPackage(given: Package, inputs: Inputs): Run {
  const { environmentVariables, packageArguments, registryType, runtimeHint, transport } = given;
  check((transport?.type ?? 'stdio') === 'stdio', 'its package does not speak over stdio');
  const env = environmentVariables.map((field) => inputs.variable(field));
  const args = packageArguments.map((argument) => wordsOf(argument, inputs));
  const kind = registryType.toLowerCase();
  if (kind === 'oci' || kind === 'docker') {
    return containerOf(given, { inputs, env, args });
  }
  if (kind !== 'npm' && kind !== 'pypi') {
    throw new Unusable(`packages of the kind '${shownText(registryType, 40)}' cannot be run`);
  }
  const { command, hints, index, pinned } = KINDS[kind];
  const { identifier, registryBaseUrl: base, runtimeArguments, version } = given;
  check(base === undefined || index.test(base), `its package is on another index (${shownText(base, 80)})`);
  check(runtimeHint === undefined || hints.includes(runtimeHint), `it is run with ${shownText(runtimeHint, 40)}`);
  const strange = runtimeArguments.map((argument) => wordsOf(argument, inputs)).find((words) => !isYes(words));
  check(
    strange === undefined,
    `it gives ${command} the argument ${shownText(strange?.map(showTemplate).join(' '), 80)}`,
  );
  const before = pinned(identifier, version).map((word): Template[] => [[word]]);
  return { kind, command, args: [...before, ...args], env: Object.fromEntries(env), mounts: [] };
}

interface ContainerParts {
  readonly inputs: Inputs;
  readonly env: readonly (readonly [string, Template])[];
  readonly args: readonly (readonly Template[])[];
}

/** A container gets variables by name, so that no other program sees their values, and of `docker run` only what mounts folders. */
function containerOf(given: Package, { args, env, inputs }: ContainerParts): Run {
  const { image, digest } = imageOf(given);
  const mounts: Template[] = [];
  const options: Template[][] = [];
  const variables = [...env];
  for (const argument of given.runtimeArguments) {
    const words = wordsOf(argument, inputs);
    const [flag = '', value] = [words[0] && showTemplate(words[0]), words[1]];
    if (/^(?:run|-i|--rm|-it?|--interactive|--init|--pull=\w+)$/.test(flag) && value === undefined) {
      continue;
    }
    if (value !== undefined && /^(?:-e|--env)$/.test(flag)) {
      variables.push(variableOf(value, inputs));
    } else if (value !== undefined && /^(?:-v|--volume|--mount)$/.test(flag)) {
      check(isOfPerson(value), `it mounts a folder that it chooses itself (${shownText(showTemplate(value), 80)})`);
      mounts.push(value);
      options.push([[flag], value]);
    } else {
      throw new Unusable(`it gives docker run the option ${shownText(words.map(showTemplate).join(' '), 80)}`);
    }
  }
  const named = variables.map(([name]): Template[] => [['-e'], [name]]);
  const all: Template[][] = [[['run']], [['-i']], [['--rm']], ...named, ...options, [[`${image}@${digest}`]]];
  return { kind: 'oci', command: 'docker', args: [...all, ...args], env: Object.fromEntries(variables), mounts };
}

export function imageOf({ identifier, version }: Pick<Package, 'identifier' | 'version'>) {
  const [name = '', digest = version ?? ''] = identifier.split('@');
  // The tag says nothing beside a digest.
  const image = DIGEST.test(digest) ? name.replace(/:[^:/]*$/, '') : name;
  check(IMAGE.test(name), `'${shownText(identifier, 80)}' is not an image`);
  check(
    DIGEST.test(digest),
    unpinned(version ?? /:([^:/]+)$/.exec(name)?.[1], `docker run -i --rm ${image}@sha256:DIGEST`),
  );
  return { image, digest };
}

/** `NAME=value`, where the value may contain inputs. */
function variableOf([first, ...rest]: Template, inputs: Inputs): [string, Template] {
  const [, name, start = ''] = /^([^=]+)(?:=(.*))?$/s.exec(typeof first === 'string' ? first : '') ?? [];
  check(name !== undefined, 'it sets a variable without a name');
  const [checkedName] = inputs.variable({ ...FIXED, name: name ?? '', value: '' });
  return [checkedName, start === '' ? rest : [start, ...rest]];
}

const FIXED = { description: undefined, isRequired: false, isSecret: false, default: undefined, variables: {} };

/** Whether the folder of this machine is what a person fills in. */
function isOfPerson(mount: Template): boolean {
  const shown = showTemplate(mount);
  return inputsIn(mount).length > 0 && (shown.startsWith('<') || /(?:^|,)(?:src|source)=</.test(shown));
}

/** The words of an argument: a flag and its value are two, as most programs take them. */
function wordsOf(argument: Argument, inputs: Inputs): Template[] {
  const { name, type, value, valueHint } = argument;
  const flag = type === 'named' ? name : undefined;
  const hasValue = value !== undefined || argument.default !== undefined || flag === undefined || argument.isRequired;
  if (flag === undefined) {
    return [inputs.template(valueHint ?? name ?? 'argument', argument)];
  }
  return hasValue ? [[flag], inputs.template(flag.replace(/^-+/, ''), argument)] : [[flag]];
}

function isYes(words: readonly Template[]): boolean {
  return words.length === 1 && /^(?:-y|--yes)$/.test(showTemplate(words[0] ?? []));
}

/** Throws `Unusable`. `isLocal` says that the record is of this machine, so its addresses may be too. */
export function runOfRemote(given: z.infer<typeof RemoteSchema>, inputs: Inputs, isLocal: boolean): Run {
  const kind = given.type?.toLowerCase() ?? 'streamable-http';
  check(/^(?:streamable(?:-?http)?|http|sse)$/.test(kind), `its transport is ${shownText(kind, 40)}`);
  const url = inputs.template('url', { ...FIXED, value: given.url, variables: given.variables });
  checkAddress(url, isLocal);
  const headers = Object.fromEntries(given.headers.map((field) => inputs.header(field)));
  return { kind: 'remote', url, transport: kind === 'sse' ? 'sse' : 'http', headers };
}

/** An address on the internet must not lead into the networks of the person, and the host must not be an input. */
function checkAddress(url: Template, isLocal: boolean): void {
  const shown = showTemplate(url);
  const [first] = url;
  const filled = url.map((part) => (typeof part === 'string' ? part : 'x')).join('');
  check(URL.canParse(filled), `its address is not valid (${shownText(shown, 80)})`);
  const address = new URL(filled);
  const host = hostOf(address);
  const isHere = isThisMachine(host) || (isIP(host) !== 0 && isPrivateAddress(host)) || !host.includes('.');
  check(isLocal || !isHere, `its address is in a private network (${shownText(shown, 80)})`);
  check(address.protocol === 'https:' || (isLocal && isHere), `its address is not https: (${shownText(shown, 80)})`);
  check(address.username === '' && address.password === '', 'its address contains a user name or a password');
  check(
    typeof first === 'string' && /^https?:\/\/[^/?#]+(?:[/?#]|$)/.test(first),
    'the host of its address is left open',
  );
}

function unpinned(version: string | undefined, how: string): string {
  const what = version === undefined ? 'no version' : `the version '${shownText(version, 40)}'`;
  return `it names ${what}, which can be something else tomorrow; choose one yourself: ${COMMAND} servers add NAME -- ${how}`;
}

function check(isFine: boolean, reason: string): void {
  if (!isFine) {
    throw new Unusable(reason);
  }
}
