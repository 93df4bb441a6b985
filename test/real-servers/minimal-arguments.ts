/** The fewest arguments that a JSON Schema allows, for calls that only need to be valid. */

type Json = Readonly<Record<string, unknown>>;

const MAX_DEPTH = 12;
/** Tried in order if a string has a pattern. */
const TEXTS = [
  'a',
  '1',
  'abc',
  'a-b',
  'A1',
  'https://example.com',
  '2026-01-02',
  '2026-01-02T03:04:05Z',
  'a/b',
  '#1',
  '0:0',
  '1d',
  '1.0.0',
];
const FORMATS: Readonly<Record<string, string>> = {
  uri: 'https://example.com',
  url: 'https://example.com',
  email: 'a@example.com',
  date: '2026-01-02',
  'date-time': '2026-01-02T03:04:05Z',
  uuid: '3b241101-e2bb-4255-8caf-4136c566a962',
};

/** Values for the required parameters. */
export function minimalArguments(schema: Json): Record<string, unknown> {
  const value = minimalValue(schema, schema, 0);
  return isObject(value) ? { ...value } : {};
}

function minimalValue(given: unknown, root: Json, depth: number): unknown {
  if (!isObject(given) || depth > MAX_DEPTH) {
    return 'x';
  }
  const schema = follow(given, root);
  const fixed = fixedValue(schema);
  if (fixed !== undefined) {
    return fixed;
  }
  const [alternative] = [schema['anyOf'], schema['oneOf']].flatMap((list) =>
    Array.isArray(list) ? (list as unknown[]) : [],
  );
  const parts = Array.isArray(schema['allOf']) ? (schema['allOf'] as unknown[]) : [];
  if (alternative !== undefined && schema['properties'] === undefined) {
    return minimalValue(alternative, root, depth + 1);
  }
  const values = [...parts, ...(alternative === undefined ? [] : [alternative])].map((part) =>
    minimalValue(part, root, depth + 1),
  );
  const own = valueOfType(schema, root, depth);
  return isObject(own) ? Object.assign({}, ...values.filter(isObject), own) : values.length > 0 ? values[0] : own;
}

function follow(schema: Json, root: Json): Json {
  const ref = schema['$ref'];
  if (typeof ref !== 'string' || !ref.startsWith('#/')) {
    return schema;
  }
  let target: unknown = root;
  for (const key of ref.slice(2).split('/')) {
    target = isObject(target) ? target[key.replaceAll('~1', '/').replaceAll('~0', '~')] : undefined;
  }
  return isObject(target) ? target : {};
}

function fixedValue(schema: Json): unknown {
  if ('const' in schema) {
    return schema['const'];
  }
  if ('default' in schema && schema['default'] !== null) {
    return schema['default'];
  }
  return Array.isArray(schema['enum']) ? (schema['enum'] as unknown[])[0] : undefined;
}

function valueOfType(schema: Json, root: Json, depth: number): unknown {
  const { type } = schema;
  const first: unknown = Array.isArray(type) ? type.find((one) => one !== 'null') : type;
  const number = (key: string): number => (typeof schema[key] === 'number' ? schema[key] : 0);
  switch (first ?? (isObject(schema['properties']) ? 'object' : 'string')) {
    case 'object': {
      const properties = isObject(schema['properties']) ? schema['properties'] : {};
      const required = Array.isArray(schema['required']) ? (schema['required'] as string[]) : [];
      return Object.fromEntries(required.map((key) => [key, minimalValue(properties[key], root, depth + 1)]));
    }
    case 'array': {
      const items: unknown = Array.isArray(schema['items']) ? (schema['items'] as unknown[])[0] : schema['items'];
      return Array.from({ length: number('minItems') }, () => minimalValue(items, root, depth + 1));
    }
    case 'integer':
    case 'number':
      return Math.max(number('minimum'), number('exclusiveMinimum') + ('exclusiveMinimum' in schema ? 1 : 0));
    case 'boolean':
      return false;
    case 'null':
      return null;
    default:
      return textFor(schema, number('minLength'));
  }
}

function textFor(schema: Json, minLength: number): string {
  const { format, pattern } = schema;
  const candidates = [
    ...(typeof format === 'string' ? [FORMATS[format] ?? 'a'] : []),
    ...TEXTS,
    ...Object.values(FORMATS),
  ];
  const matches = (text: string): boolean => typeof pattern !== 'string' || new RegExp(pattern, 'u').test(text);
  const text = candidates.find(matches) ?? 'a';
  return text.length < minLength ? text.padEnd(minLength, 'a') : text;
}

function isObject(value: unknown): value is Json {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
