/** The fields of a question, from its JSON Schema as far as MCP allows it in forms, and the values that people enter. Pure. */

export type FormFieldKind = 'choice' | 'choices' | 'flag' | 'number' | 'text';

export interface FormField {
  readonly name: string;
  readonly title: string;
  readonly description: string;
  readonly kind: FormFieldKind;
  readonly isRequired: boolean;
  readonly options: readonly { readonly value: string; readonly label: string }[];
  /** As entered. */
  readonly initial: string | boolean | readonly string[];
}

export type EnteredValue = string | boolean | readonly string[];

type Loose = Readonly<Record<string, unknown>>;

/** More are no form for people. */
const MAX_FIELDS = 50;
const MAX_OPTIONS = 200;

export function formFields(schema: Loose | undefined): readonly FormField[] {
  const required = listOf(schema?.['required']);
  return Object.entries(recordOf(schema?.['properties']))
    .slice(0, MAX_FIELDS)
    .map(([name, given]) => fieldFrom(name, recordOf(given), required.includes(name)));
}

function fieldFrom(name: string, schema: Loose, isRequired: boolean): FormField {
  const items = recordOf(schema['items']);
  const isList = schema['type'] === 'array';
  const options = optionsOf(isList ? items : schema);
  const kind = isList ? 'choices' : options.length > 0 ? 'choice' : kindOf(schema['type']);
  const preset = schema['default'];
  const initial =
    kind === 'choices'
      ? listOf(preset).map(String)
      : kind === 'flag'
        ? preset === true
        : typeof preset === 'string' || typeof preset === 'number'
          ? String(preset)
          : '';
  const [title, description] = [schema['title'], schema['description']].map((text) =>
    typeof text === 'string' ? text : '',
  );
  return { name, title: title || name, description: description ?? '', kind, isRequired, options, initial };
}

function kindOf(type: unknown): FormFieldKind {
  return type === 'boolean' ? 'flag' : type === 'number' || type === 'integer' ? 'number' : 'text';
}

function optionsOf(schema: Loose): FormField['options'] {
  const labels = listOf(schema['enumNames']);
  const plain = listOf(schema['enum']).map((value, index) => ({
    value: String(value),
    label: String(labels[index] ?? value),
  }));
  const titled = [...listOf(schema['oneOf']), ...listOf(schema['anyOf'])].map(recordOf).flatMap((option) => {
    const { const: value, title } = option;
    return typeof value === 'string' ? [{ value, label: typeof title === 'string' ? title : value }] : [];
  });
  return [...plain, ...titled].slice(0, MAX_OPTIONS);
}

/** The content of an answer, or the sentence that says which field needs what. */
export function readForm(
  fields: readonly FormField[],
  entered: Readonly<Record<string, EnteredValue>>,
): { readonly content: Record<string, string | number | boolean | readonly string[]> } | { readonly problem: string } {
  const content: Record<string, string | number | boolean | readonly string[]> = {};
  for (const field of fields) {
    const value = entered[field.name] ?? field.initial;
    const isEmpty = value === '' || (Array.isArray(value) && value.length === 0);
    if (isEmpty && field.isRequired) {
      return { problem: `Fill in “${field.title}”.` };
    }
    if (field.kind === 'number' && !isEmpty) {
      const number = Number(value);
      if (!Number.isFinite(number)) {
        return { problem: `“${field.title}” must be a number.` };
      }
      content[field.name] = number;
    } else if (!isEmpty) {
      content[field.name] = value;
    }
  }
  return { content };
}

function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}

function recordOf(value: unknown): Loose {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Loose) : {};
}
