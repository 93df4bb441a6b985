/**
 * Compiles a GraphQL schema: each field of `Query` and `Mutation` becomes a tool whose call sends a prepared document. What
 * the documents select by default is in `selection.ts`.
 */
import {
  type GraphQLField,
  GraphQLNonNull,
  type GraphQLObjectType,
  type GraphQLOutputType,
  type GraphQLSchema,
  isNonNullType,
  isObjectType,
} from 'graphql';
import { isObject, type JsonObject } from '../../../../core/base/is-object.ts';
import type { UpstreamTool } from '../../tool-list.ts';
import type { ApiOperation, CompiledApi, GraphqlOperation } from '../compiled-api.ts';
import { type ArgumentSchema, ArgumentSchemas, cutText } from './json-schema.ts';
import { readSchema } from './read-schema.ts';
import {
  defaultSelection,
  isUsableName,
  nextPageOf,
  printSelection,
  resultSchema,
  type Selection,
  unselectedFields,
} from './selection.ts';

/** With two tools for whole documents, as many as a list of tools may have. */
const MAX_FIELDS = 9_998;
/** What all tools and operations have together as JSON. Chosen: half of what a list of tools may have. */
const MAX_ALL_BYTES = 32 * 1024 * 1024;
const MAX_INPUT_BYTES = 64 * 1024;
const MAX_OUTPUT_BYTES = 16 * 1024;
/** With many tools, each may have less, but so much. */
const MIN_BYTES = 2 * 1024;
const DESCRIPTION_CHARS = 4_000;
/** Of the text about the default selection and about fields that are not in it. */
const SELECTION_CHARS = 180;
const UNSELECTED_CHARS = 800;
const INSTRUCTIONS_CHARS = 4_000;

const INSTRUCTIONS =
  'A GraphQL API. The argument "fields" of a tool chooses what is returned, as a GraphQL selection such as ' +
  '"id owner { login }". For other documents there are the tools for whole queries and mutations; ' +
  '{ __type(name: "Issue") { fields { name } } } shows the fields of a type.';

/** Compiles an introspection result or a schema in the definition language. Throws an Error whose message follows "the schema". */
export function compileGraphql(text: string): CompiledApi {
  const schema = readSchema(text);
  const compiler = new Compiler(schema);
  compiler.addRoot(schema.getQueryType(), 'query');
  compiler.addRoot(schema.getMutationType(), 'mutation');
  if (compiler.tools.size === 0) {
    throw new Error('has no fields in Query or Mutation');
  }
  compiler.addDocumentTools();
  const own = cutText(schema.description ?? '', INSTRUCTIONS_CHARS);
  return {
    title: 'GraphQL API',
    version: '',
    instructions: own === '' ? INSTRUCTIONS : `${own}\n\n${INSTRUCTIONS}`,
    addresses: [],
    credentials: [],
    tools: [...compiler.tools.values()],
    operations: Object.fromEntries(compiler.operations),
    notices: compiler.notices(),
  };
}

type RootKind = 'query' | 'mutation';
type RootField = GraphQLField<unknown, unknown>;

class Compiler {
  readonly tools = new Map<string, UpstreamTool>();
  readonly operations = new Map<string, ApiOperation>();
  readonly #schema: GraphQLSchema;
  readonly #arguments = new ArgumentSchemas();
  readonly #share: number;
  #left = MAX_ALL_BYTES;
  #simplified = 0;
  #leftOut = 0;

  constructor(schema: GraphQLSchema) {
    this.#schema = schema;
    const roots = [schema.getQueryType(), schema.getMutationType()];
    const count = roots.reduce((sum, root) => sum + Object.keys(root?.getFields() ?? {}).length, 1);
    this.#share = Math.max(MIN_BYTES, MAX_ALL_BYTES / count);
  }

  addRoot(root: GraphQLObjectType | null | undefined, kind: RootKind): void {
    for (const field of Object.values(root?.getFields() ?? {})) {
      if (!isUsableName(field.name) || field.args.some(({ name }) => !isUsableName(name))) {
        this.#leftOut += 1;
      } else {
        this.#addField(field, kind);
      }
    }
  }

  /** Adds the tools that take whole documents. */
  addDocumentTools(): void {
    if (isObjectType(this.#schema.getQueryType())) {
      this.#addTool(documentTool(this.#free(['query', 'graphql_query']), 'query'), {
        kind: 'graphql-document',
        allows: 'query',
      });
    }
    if (isObjectType(this.#schema.getMutationType())) {
      this.#addTool(documentTool(this.#free(['mutate', 'graphql_mutate']), 'mutation'), {
        kind: 'graphql-document',
        allows: 'mutation',
      });
    }
  }

  notices(): string[] {
    const count = (number: number): string => number.toLocaleString('en-US');
    return [
      ...(isObjectType(this.#schema.getSubscriptionType()) ? ['subscriptions were left out'] : []),
      ...(this.#leftOut === 0 ? [] : [`${count(this.#leftOut)} fields of Query or Mutation were left out`]),
      ...(this.#simplified === 0 ? [] : [`large input types were left open in ${count(this.#simplified)} tools`]),
    ];
  }

  #addField(field: RootField, kind: RootKind): void {
    const name = this.#free([field.name, `${field.name}_${kind}`]);
    const args = this.#arguments.of(field.args, Math.min(MAX_INPUT_BYTES, this.#share / 2));
    const selection = defaultSelection(this.#schema, field.type);
    const argument = selection && selectionArgument(field);
    const operation = operationOf(field, kind, { selection, argument, names: [...args.properties.keys()] });
    const tool = fieldTool(name, field, kind, { args, selection, argument, share: this.#share });
    this.#left -= Buffer.byteLength(JSON.stringify([tool, operation]));
    if (this.tools.size >= MAX_FIELDS || this.#left < 0) {
      this.#leftOut += 1;
    } else {
      this.#simplified += args.isCut ? 1 : 0;
      this.#addTool(tool, operation);
    }
  }

  #addTool(tool: UpstreamTool, operation: ApiOperation): void {
    this.tools.set(tool.name, tool);
    this.operations.set(tool.name, operation);
  }

  /** The first of these names that no tool has. */
  #free(names: readonly string[]): string {
    let name = names.find((each) => !this.tools.has(each)) ?? `${names.at(-1)}_`;
    while (this.tools.has(name)) {
      name += '_';
    }
    return name;
  }
}

/** The name of the argument that selects fields: one that the field does not have. */
function selectionArgument({ args }: RootField): string {
  let name = 'fields';
  while (args.some((argument) => argument.name === name)) {
    name = `_${name}`;
  }
  return name;
}

interface DocumentParts {
  readonly selection: Selection | undefined;
  readonly argument: string | undefined;
  /** The arguments that a call can have. */
  readonly names: readonly string[];
}

function operationOf(
  field: RootField,
  kind: RootKind,
  { selection, argument, names }: DocumentParts,
): GraphqlOperation {
  const args = field.args.filter(({ name }) => names.includes(name));
  // A variable for an argument with a default may be left out only if its own type allows that (section 5.8.5).
  const typeOf = (each: (typeof args)[number]): string =>
    each.defaultValue === undefined ? String(each.type) : String(each.type).replace(/!$/, '');
  const variables = args.map((each) => `$${each.name}: ${typeOf(each)}`).join(', ');
  const given = args.map(({ name }) => `${name}: $${name}`).join(', ');
  const head = `${kind} ${field.name}${variables === '' ? '' : `(${variables})`} { ${field.name}${given === '' ? '' : `(${given})`}`;
  const nextPage = nextPageOf(field);
  const common = { kind: 'graphql', field: field.name, variables: args.map(({ name }) => name) } as const;
  if (selection === undefined || argument === undefined) {
    return { ...common, document: `${head} }` };
  }
  const start = head.length + 3;
  const selected = printSelection(selection);
  return {
    ...common,
    document: `${head} { ${selected} } }`,
    selection: { argument, start, end: start + selected.length },
    ...(nextPage === undefined ? {} : { nextPage }),
  };
}

interface ToolParts extends Omit<DocumentParts, 'names'> {
  readonly args: ArgumentSchema;
  /** Bytes that the tool may have. */
  readonly share: number;
}

function fieldTool(name: string, field: RootField, kind: RootKind, parts: ToolParts): UpstreamTool {
  const { args, selection, argument, share } = parts;
  const properties = new Map(args.properties);
  if (selection !== undefined && argument !== undefined) {
    properties.set(argument, { type: 'string', description: selectionText(printSelection(selection)) });
  }
  const output = outputOf(field.type, selection);
  const isShown = Buffer.byteLength(JSON.stringify(output)) <= Math.min(MAX_OUTPUT_BYTES, share / 4);
  return {
    name,
    description: descriptionOf(field, selection, argument),
    inputSchema: {
      type: 'object',
      properties: Object.fromEntries(properties),
      ...(args.required.length === 0 ? {} : { required: args.required }),
      additionalProperties: false,
      ...(args.definitions.size === 0 ? {} : { $defs: Object.fromEntries(args.definitions) }),
    },
    ...(isShown ? { outputSchema: output } : {}),
    annotations: annotationsOf(kind),
  };
}

/** The schema of the structured content: results that are no objects are in an envelope (`result.ts`). */
function outputOf(type: GraphQLOutputType, selection: Selection | undefined): JsonObject {
  const schema = resultSchema(isNonNullType(type) ? type : new GraphQLNonNull(type), selection);
  const members = isObject(schema['properties']) ? Object.keys(schema['properties']) : undefined;
  if (members !== undefined && members.join() !== 'result') {
    return schema;
  }
  return { type: 'object', properties: { result: resultSchema(type, selection) }, required: ['result'] };
}

function selectionText(selected: string): string {
  return `What to return, as a GraphQL selection. Default: ${cutText(selected, SELECTION_CHARS)}`;
}

function descriptionOf(field: RootField, selection: Selection | undefined, argument: string | undefined): string {
  const deprecated = typeof field.deprecationReason === 'string' ? [`Deprecated: ${field.deprecationReason}`] : [];
  const more = selection === undefined ? [] : unselectedFields(selection);
  const unselected = `By default, not all fields are returned. More for "${argument}": ${more.join(', ')}`;
  const texts = [
    ...deprecated,
    field.description ?? '',
    ...(more.length === 0 ? [] : [cutText(unselected, UNSELECTED_CHARS)]),
  ];
  const own = cutText(texts.filter((text) => text !== '').join('\n\n'), DESCRIPTION_CHARS);
  return own;
}

function annotationsOf(kind: RootKind): JsonObject {
  return kind === 'query'
    ? { readOnlyHint: true, idempotentHint: true, openWorldHint: true }
    : { readOnlyHint: false, destructiveHint: true, openWorldHint: true };
}

function documentTool(name: string, kind: RootKind): UpstreamTool {
  const example =
    kind === 'query' ? 'query ($id: ID!) { user(id: $id) { name } }' : 'mutation ($id: ID!) { close(id: $id) { id } }';
  return {
    name,
    description: `Sends a GraphQL document with one ${kind}, such as ${example}. Returns its data.`,
    inputSchema: {
      type: 'object',
      properties: {
        document: { type: 'string', description: `The ${kind}, with the fragments it uses.` },
        variables: { type: 'object', description: 'The values of its variables, by name without "$".' },
      },
      required: ['document'],
      additionalProperties: false,
    },
    annotations: annotationsOf(kind),
  };
}
