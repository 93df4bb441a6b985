/** The arguments, variables and headers of a record: what is fixed in them, and what a person fills in. */
import { z } from 'zod';
import { type Input, shownText, type Template, Unusable } from './new-server.ts';

const MAX_TEXT_CHARS = 4_000;
const MAX_INPUTS = 50;
const text = z.string().max(MAX_TEXT_CHARS);
/** `null` is what some programs write for a key without a value. */
const optional = text.nullish().transform((value) => value ?? undefined);
const yes = z
  .boolean()
  .nullish()
  .transform((value) => value === true);

const InputShape = {
  description: optional,
  isRequired: yes,
  isSecret: yes,
  value: optional,
  default: z
    .union([text, z.number(), z.boolean()])
    .nullish()
    .transform((value) => (value === null || value === undefined ? undefined : String(value))),
};
const VariablesSchema = z
  .record(text, z.object(InputShape))
  .nullish()
  .transform((value) => value ?? {});
/** `Input` of server.json, with the variables in its value. */
export const FieldSchema = z.object({ ...InputShape, variables: VariablesSchema });
export const NamedFieldSchema = FieldSchema.extend({ name: text.min(1) });
export const ArgumentSchema = FieldSchema.extend({ type: optional, name: optional, valueHint: optional });

type Field = z.infer<typeof FieldSchema>;

/** Variables that decide what a program runs or loads, whatever the command line says. */
const STEERING =
  /^(?!NODE_ENV$|PYTHONUNBUFFERED$|DOCKER_CONTAINER$)(?:PATH|HOME|SHELL|IFS|ENV|BASH_ENV|PERL5LIB|RUBYOPT|JAVA_TOOL_OPTIONS|_JAVA_OPTIONS|GIT_SSH.*|(?:NPM_CONFIG|YARN|BUN|DENO|NODE|UV|PIP|PIPX|PYTHON|LD|DYLD|DOCKER|CONTAINERS?|SSL|MCP_BRIDGE)_.*|PYTHON[A-Z]+|COREPACK_.*|(?:HTTPS?|ALL|NO)_PROXY|REQUESTS_CA_BUNDLE)$/i;
const VARIABLE = /^[A-Za-z_][A-Za-z0-9_]{0,127}$/;
const HEADER = /^[A-Za-z0-9-]{1,64}$/;
/** Set by the transport. */
const OWN_HEADERS = /^(?:host|content-.*|accept|connection|transfer-encoding|mcp-.*|origin|cookie)$/i;

/** Collects the inputs of one record. */
export class Inputs {
  readonly #inputs = new Map<string, Input>();

  list(): readonly Input[] {
    return [...this.#inputs.values()];
  }

  /** Fixed text with `{name}` for its variables, or a single input. Names that are not declared stay as they are. */
  template(name: string, field: Field): Template {
    const { value, variables } = field;
    if (value === undefined) {
      return [this.#input(name, field)];
    }
    const parts = value.split(/\{([^{}]{1,64})\}/);
    return parts.flatMap((part, index): Template => {
      const variable = index % 2 === 1 && Object.hasOwn(variables, part) ? variables[part] : undefined;
      if (variable?.value !== undefined) {
        return [variable.value];
      }
      const literal = index % 2 === 1 ? `{${part}}` : part;
      return variable === undefined ? (literal === '' ? [] : [literal]) : [this.#input(part, variable)];
    });
  }

  /** An environment variable. Throws `Unusable` for one that could change what is run. */
  variable(field: z.infer<typeof NamedFieldSchema>): [string, Template] {
    if (!VARIABLE.test(field.name)) {
      throw new Unusable(`it needs a variable that has no usable name (${shownText(field.name, 40)})`);
    }
    if (STEERING.test(field.name)) {
      throw new Unusable(`it sets the variable ${field.name}, which can change what is run`);
    }
    return [field.name, this.template(field.name, field)];
  }

  /** A header. Throws `Unusable` for one that belongs to the transport. */
  header(field: z.infer<typeof NamedFieldSchema>): [string, Template] {
    if (!HEADER.test(field.name) || OWN_HEADERS.test(field.name)) {
      throw new Unusable(`it sets the header ${shownText(field.name, 40)}`);
    }
    return [field.name, this.template(field.name, field)];
  }

  #input(wanted: string, { default: given, description, isRequired, isSecret }: Omit<Field, 'variables'>) {
    // As in `values` and in names of secrets.
    const name = wanted.replaceAll(/[^A-Za-z0-9_.-]+/g, '_').slice(0, 40) || 'value';
    if (!this.#inputs.has(name)) {
      if (this.#inputs.size === MAX_INPUTS) {
        throw new Unusable(`it asks for more than ${MAX_INPUTS} values`);
      }
      const about = shownText(description, 200);
      this.#inputs.set(name, { name, description: about, isSecret, isRequired, default: isSecret ? undefined : given });
    }
    return { input: name };
  }
}
