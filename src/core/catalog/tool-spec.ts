/**
 * The Python view of a tool. Search hits, documents and stubs are made from a `ToolSpec`, and in the sandbox so are
 * `inspect.signature`, `help()` and the check of arguments.
 */

import { isObject } from '../base/is-object.ts';
import { follow, listOf, objectShape, type Schema } from './json-schema.ts';
import type { CatalogTool } from './known.ts';
import { type Parameter, parametersOf } from './parameters.ts';
import { pythonLiteral } from './python-literal.ts';
import { createAnnotate, createTypeScope, type TypeScope, typeName } from './python-types.ts';
import { visibleText } from './visible.ts';

/** A tool as Python sees it. Sent to the sandbox, so its keys are snake_case. */
export interface ToolSpec {
  /** The name to send to the server. */
  readonly name: string;
  /** The name in Python. */
  readonly alias: string;
  readonly description: string;
  /** In the order of positional arguments. */
  readonly parameters: readonly ParameterSpec[];
  /** Whether further arguments are accepted. */
  readonly open: boolean;
  /** The annotation of the result; left out if nothing is known about it. */
  readonly returns?: string;
  /** The type of the result was inferred from results, not declared by the server. */
  readonly observed?: true;
  /** What the text looked like that the tool returned, if the server does not describe it. */
  readonly observed_text?: string;
  /** Definitions of the types in the annotations, and comments with the variants of the arguments, one line each. */
  readonly types: readonly string[];
  /** `alias(name: type, …) -> type` */
  readonly signature: string;
  /** The JSON Schema of the arguments, for the check before a call. */
  readonly input_schema: Schema;
}

export interface ParameterSpec {
  readonly name: string;
  readonly alias: string;
  readonly annotation: string;
  readonly required: boolean;
  /** The default as a Python literal; left out if the schema has none or it is long. */
  readonly default?: string;
  /** One line; left out if there is none. */
  readonly description?: string;
}

/** What the kernel makes of a block of content, by its `type`. */
const CONTENT_TYPES: ReadonlyMap<unknown, string> = new Map([
  ['text', 'str'],
  ['image', 'ImageContent'],
  ['audio', 'AudioContent'],
  ['resource', 'ResourceContent'],
  ['resource_link', 'ResourceLink'],
]);
const BINARY = /\b(?:Image|Audio|Resource)Content\b/;
const PARAMETER_CHARS = 300;
const MAX_DEFAULT_CHARS = 40;
/** Variants of arguments that are shown, and the length of each. Chosen: real ones have up to six. */
const MAX_VARIANTS = 8;
const VARIANT_CHARS = 300;
/** The signature in a search hit: about 50 tokens. */
const BRIEF_CHARS = 160;
/** Optional parameters beyond that are named, up to this length. Chosen. */
const BRIEF_NAMES_CHARS = 240;

export interface SpecOptions {
  /** The schema of the results seen so far, for a tool whose server declares none. */
  readonly observed?: Schema | undefined;
  /** Where to define its types. Default: a new scope. */
  readonly scope?: TypeScope;
}

export function toolSpec(
  tool: CatalogTool,
  { observed, scope = createTypeScope(tool.alias) }: SpecOptions = {},
): ToolSpec {
  const annotate = createAnnotate(tool.inputSchema, scope);
  const { list, isOpen } = parametersOf(tool.inputSchema);
  const parameters = list.map((parameter) => parameterSpec(parameter, annotate(parameter.schema, parameter.name)));
  const returns = returnType(tool.outputSchema ?? observed, scope);
  return {
    name: tool.name,
    alias: tool.alias,
    description: tool.description,
    parameters,
    open: isOpen,
    ...(returns === undefined ? {} : { returns }),
    ...(returns === undefined || tool.outputSchema !== undefined
      ? {}
      : { observed: true as const, ...textOf(observed) }),
    types: [...scope.definitions, ...variantLines(tool)],
    signature: signatureText(tool.alias, parameters, isOpen, returns),
    // A schema with texts that were made visible differs from the server's own, so only the server can check the arguments.
    input_schema: tool.hiddenTexts === undefined ? tool.inputSchema : {},
  };
}

/** Which arguments go together, if the schema has a list of alternatives at the top: the signature has those of all of them. */
function variantLines({ alias, inputSchema }: CatalogTool): string[] {
  const branches = [...listOf(inputSchema['oneOf']), ...listOf(inputSchema['anyOf'])];
  const { list } = parametersOf(inputSchema);
  const annotate = createAnnotate(inputSchema, createTypeScope(alias, { isBrief: true }));
  const variants = branches.slice(0, MAX_VARIANTS).map((branch): string => {
    const target = follow(branch, inputSchema);
    const shape = objectShape(isObject(target) ? target : {}, inputSchema, { alternatives: false });
    const own = list
      .filter(({ name }) => shape.properties.has(name))
      .map((parameter) => {
        const found = shape.properties.get(parameter.name);
        const isRequired = shape.required.has(parameter.name);
        return { ...parameter, schema: found === true ? parameter.schema : found, isRequired };
      })
      .toSorted((a, b) => Number(b.isRequired) - Number(a.isRequired));
    const text = own.map((each) => parameterText(parameterSpec(each, annotate(each.schema, each.name)))).join(', ');
    return text.length > VARIANT_CHARS ? `${text.slice(0, VARIANT_CHARS)}…` : text;
  });
  if (variants.filter((text) => text !== '').length < 2) {
    return [];
  }
  const more = branches.length - variants.length;
  return [...variants, ...(more > 0 ? [`one of ${more} more variants`] : [])].map(
    (text, index) => `# ${index === 0 ? `${alias}, one of` : 'or'}: ${text === '' ? 'nothing more' : text}`,
  );
}

function textOf(observed: Schema | undefined): Pick<ToolSpec, 'observed_text'> {
  const format = observed?.['description'];
  return typeof format === 'string' ? { observed_text: `text: ${format}` } : {};
}

/** How the type of a result became known, or what an object of the kernel has, as a comment; otherwise empty. */
export function resultComment({ observed, observed_text: text, returns = '' }: ToolSpec): string {
  if (BINARY.test(returns)) {
    return '  # .data: bytes, .save(path)';
  }
  return observed === undefined ? '' : `  # result as observed so far${text === undefined ? '' : `: ${text}`}`;
}

/**
 * The signature of a tool in one short line: objects become `dict`, and optional parameters that do not fit are only named, or
 * become `...`.
 */
export function signatureLine(tool: CatalogTool): string {
  const scope = createTypeScope(tool.alias, { isBrief: true });
  const annotate = createAnnotate(tool.inputSchema, scope);
  const { list, isOpen } = parametersOf(tool.inputSchema);
  const returns = returnType(tool.outputSchema, scope);
  const end = returns === undefined ? ')' : `) -> ${returns}`;
  const shown: string[] = [];
  let chars = tool.alias.length + end.length;
  const add = (text: string): void => {
    shown.push(text);
    chars += text.length + 2;
  };
  for (const parameter of list) {
    const text = parameterText(parameterSpec(parameter, annotate(parameter.schema, parameter.name)));
    const name = `${parameter.alias}=...`;
    if (chars + text.length + 2 <= BRIEF_CHARS) {
      add(text);
    } else if (parameter.isRequired) {
      // Always named, because a call cannot be written without them.
      add(parameter.alias);
    } else if (chars + name.length + 2 <= BRIEF_NAMES_CHARS) {
      // Named, because agents did not look for what was left out.
      add(name);
    } else {
      add('...');
      break;
    }
  }
  return `${tool.alias}(${[...shown, ...(isOpen && list.length === 0 ? ['**kwargs'] : [])].join(', ')}${end}`;
}

/** The signature, description, parameters and types, as `help()` shows them. */
export function specText(spec: ToolSpec): string {
  const parameters = spec.parameters.map(parameterLine);
  return [
    `${spec.signature}${resultComment(spec)}`,
    ...(spec.description === '' ? [] : ['', spec.description]),
    ...(parameters.length === 0 ? [] : ['', 'Parameters:', ...parameters]),
    ...(spec.types.length === 0 ? [] : ['', 'Types:', ...spec.types.map((line) => `  ${line}`)]),
  ].join('\n');
}

/** Characters of a signature in a hint, and of the types with it. Chosen: more than nearly every tool needs. */
const HINT_SIGNATURE_CHARS = 600;
const HINT_TYPES_CHARS = 900;

/**
 * A sentence with the signature for a refused call, and with the types of its parameters. If they do not fit, `allOfIt` (such as
 * `help(mcp_x.tool)`) names what shows them. The result is left out: its type would have to be explained too.
 */
export function signatureHint({ alias, parameters, open, types }: ToolSpec, allOfIt: string): string {
  const signature = signatureText(alias, parameters, open, undefined);
  if (signature.length > HINT_SIGNATURE_CHARS) {
    return `The signature is ${signature.slice(0, HINT_SIGNATURE_CHARS)}… (${allOfIt} shows all of it).`;
  }
  const named = typesIn(parameters, types).join(', ');
  if (named.length > HINT_TYPES_CHARS) {
    return `The signature is ${signature}; ${allOfIt} shows its types.`;
  }
  return `The signature is ${signature}${named === '' ? '' : `, with ${named}`}.`;
}

/** The definitions that the annotations of parameters need, directly or through each other. */
function typesIn(parameters: readonly ParameterSpec[], types: readonly string[]): readonly string[] {
  const needed = new Set<string>();
  const texts = parameters.map(({ annotation }) => annotation);
  for (let text = texts.pop(); text !== undefined; text = texts.pop()) {
    const words = new Set(text.match(/[A-Za-z_]\w*/g));
    for (const definition of types) {
      const [, name = ''] = /^(?:class )?(\w+)/.exec(definition) ?? [];
      if (!needed.has(definition) && words.has(name)) {
        needed.add(definition);
        texts.push(definition);
      }
    }
  }
  return types.filter((definition) => needed.has(definition));
}

function parameterLine({ name, alias, description }: ParameterSpec): string {
  const original = name === alias ? '' : ` (${pythonLiteral(name, PARAMETER_CHARS) ?? '…'})`;
  return `  ${alias}${original}${description === undefined ? '' : `: ${description}`}`;
}

function parameterSpec({ name, alias, schema, isRequired }: Parameter, annotation: string): ParameterSpec {
  const facts = isObject(schema) ? schema : {};
  const value = Object.hasOwn(facts, 'default') ? pythonLiteral(facts['default'], MAX_DEFAULT_CHARS) : undefined;
  const description = typeof facts['description'] === 'string' ? inOneLine(facts['description']) : '';
  return {
    name,
    alias,
    annotation,
    required: isRequired,
    ...(value === undefined ? {} : { default: value }),
    ...(description === '' ? {} : { description }),
  };
}

function inOneLine(text: string): string {
  return visibleText(text, PARAMETER_CHARS).replaceAll(/\s+/g, ' ');
}

/** A parameter in a signature. `...` stands for a default that the schema does not give. */
export function parameterText({ alias, annotation, required, default: value }: ParameterSpec): string {
  const typed = annotation === 'Any' ? alias : `${alias}: ${annotation}`;
  if (required) {
    return typed;
  }
  return annotation === 'Any' ? `${alias}=${value ?? '...'}` : `${typed} = ${value ?? '...'}`;
}

function signatureText(
  alias: string,
  parameters: readonly ParameterSpec[],
  isOpen: boolean,
  returns: string | undefined,
): string {
  const names = new Set(parameters.map((parameter) => parameter.alias));
  let rest = 'kwargs';
  while (names.has(rest)) {
    rest += '_';
  }
  const texts = [...parameters.map(parameterText), ...(isOpen ? [`**${rest}`] : [])];
  return `${alias}(${texts.join(', ')})${returns === undefined ? '' : ` -> ${returns}`}`;
}

/**
 * The type of the Python value that the kernel makes of a result: like `values.py`, it unwraps the envelopes `result` and
 * `content`. Undefined if nothing is known.
 */
function returnType(schema: Schema | undefined, scope: TypeScope): string | undefined {
  if (schema === undefined) {
    return undefined;
  }
  const annotate = createAnnotate(schema, scope, { showsLimits: false });
  const { properties } = objectShape(schema, schema, { alternatives: false });
  const [key] = properties.keys();
  const member = properties.get(key ?? '');
  if (properties.size === 1 && key === 'content' && !isText(member, schema)) {
    return contentTypes(member, schema);
  }
  const isEnvelope = properties.size === 1 && (key === 'result' || key === 'content');
  const type = isEnvelope ? annotate(member, typeName('result')) : annotate(schema, 'Result');
  return type === 'Any' ? undefined : type;
}

function isText(schema: unknown, root: Schema): boolean {
  const target = follow(schema, root);
  return isObject(target) && target['type'] === 'string';
}

/**
 * For tools that declare the blocks of content themselves, as server-filesystem does: the kernel gives a single block as an object
 * of its own, and several as a list. Undefined if one of the blocks is of another kind.
 */
function contentTypes(content: unknown, root: Schema): string | undefined {
  const list = follow(content, root);
  const items = isObject(list) ? follow(list['items'], root) : undefined;
  const branches = isObject(items) ? ([items['anyOf'], items['oneOf']].find(Array.isArray) ?? [items]) : [];
  const types = branches.flatMap((branch) => kindsOf(branch, root)).map((kind) => CONTENT_TYPES.get(kind));
  return types.length === 0 || types.includes(undefined) ? undefined : [...new Set(types), 'list'].join(' | ');
}

/** The values that the schema of a block allows for its `type`. */
function kindsOf(block: unknown, root: Schema): readonly unknown[] {
  const target = follow(block, root);
  const properties = isObject(target) ? target['properties'] : undefined;
  const type = isObject(properties) ? follow(properties['type'], root) : undefined;
  return isObject(type) && Array.isArray(type['enum']) ? type['enum'] : [isObject(type) ? type['const'] : undefined];
}
