/** Tables of the documentation, as Markdown. */

import { ERROR_PAGES } from '../../src/app/cli/help/error-texts.ts';
import { ERROR_CODES, type ErrorCode } from '../../src/core/base/errors.ts';
import { CALL_METHODS } from '../../src/core/protocol/frames.ts';
import { SETTINGS_TABLE } from '../../src/edges/settings/settings.ts';
import { membersOf, type ObjectSchema, type PropertySchema } from './json-schemas.ts';

const ERROR_CODE_NAMES = Object.keys(ERROR_CODES) as ErrorCode[];

/** One section per frame, with its description and fields. Throws if a description is missing. */
export function renderFrames(union: 'HostFrame' | 'SandboxFrame'): string {
  return membersOf(union)
    .map((frame) => {
      const name = frame.properties['type']?.const;
      return `### \`${name}\`\n\n${described(frame, `frame ${name}`)}\n\n${renderFields(frame, 'type')}`.trimEnd();
    })
    .join('\n\n');
}

export function renderSupervisorReports(): string {
  return membersOf('SupervisorReport')
    .map((report) => `### \`${report.properties['report']?.const}\`\n\n${renderFields(report, 'report')}`)
    .join('\n\n');
}

export function renderCallMethods(): string {
  return CALL_METHODS.map((method) => `\`${method}\``).join(', ');
}

export function renderErrors(): string {
  const rows = ERROR_CODE_NAMES.map((code) => {
    const { meaning, fixedBy, retry, exitCode } = ERROR_CODES[code];
    return [
      `[\`${code}\`](#${code.toLowerCase()})`,
      meaning,
      FIXED_BY_WORD[fixedBy],
      retry ? 'yes' : '',
      String(exitCode),
    ];
  });
  return renderTable(['Code', 'Meaning', 'Fixed by', 'Retry', 'Exit code'], rows);
}

const FIXED_BY_WORD = { user: 'you', model: 'agent', us: 'us' } as const;

/** One section per code with its usual cause and remedy. The table has the rest. */
export function renderErrorPages(): string {
  return ERROR_CODE_NAMES.map((code) => {
    const { cause, remedy } = ERROR_PAGES[code];
    return `### ${code}\n\n${cause}\n\n${remedy}`;
  }).join('\n\n');
}

export function renderSettings(): string {
  const starts = SETTINGS_TABLE.flatMap(({ section }, index) => (section === undefined ? [] : [index]));
  return starts.map((start, at) => renderSection(SETTINGS_TABLE.slice(start, starts[at + 1]))).join('\n\n');
}

function renderSection(settings: typeof SETTINGS_TABLE): string {
  const rows = settings.map(({ variable, default: standard, meaning, allowed }) => {
    return [`\`${variable}\``, standard === '' ? '' : `\`${standard}\``, meaning, allowed];
  });
  return `## ${settings[0]?.section}\n\n${renderTable(['Variable', 'Default', 'Meaning', 'Allowed'], rows)}`;
}

/** The fields of an object without its tag. Fields of nested objects follow, with dotted names. */
export function renderFields(schema: ObjectSchema, tag: string): string {
  const { [tag]: _, ...properties } = schema.properties;
  return renderFieldList({ ...schema, properties });
}

/** A list, because in a table most of the words would be `yes` and most of the width type names. */
export function renderFieldList(schema: Pick<PropertySchema, 'properties' | 'required'>): string {
  return fieldLines(schema, '').join('\n');
}

function fieldLines(schema: Pick<PropertySchema, 'properties' | 'required'>, prefix: string): string[] {
  return Object.entries(schema.properties ?? {}).flatMap(([name, property]) => {
    const path = `${prefix}${name}`;
    const isRequired = schema.required?.includes(name) === true;
    const meaning = property.const === undefined ? ` ${described(property, path)}` : '';
    const line = `- \`${path}\`${isRequired ? '' : ' (optional)'}: ${typeName(property)}.${meaning}`;
    const inner = property.type === 'array' ? property.items : property;
    const innerPrefix = property.type === 'array' ? `${path}[].` : `${path}.`;
    return [line].concat(inner === undefined ? [] : fieldLines(inner, innerPrefix));
  });
}

function typeName(schema: PropertySchema): string {
  if (schema.const !== undefined) {
    return `\`${JSON.stringify(schema.const)}\``;
  }
  if (schema.enum !== undefined) {
    return schema.enum.map((value) => `\`"${value}"\``).join(', ');
  }
  if (schema.anyOf !== undefined) {
    return schema.anyOf.map(typeName).join(' or ');
  }
  if (schema.type === 'array') {
    return `${typeName(schema.items ?? {}).replace(/.* .*/, '($&)')}[]`;
  }
  if (schema.type === 'integer') {
    return schema.exclusiveMinimum === 0 ? 'integer > 0' : 'integer';
  }
  return schema.type === undefined ? 'any JSON' : [schema.type].flat().join(' or ');
}

function described(schema: { readonly description?: string }, what: string): string {
  if (schema.description === undefined) {
    throw new Error(`${what} has no description`);
  }
  return schema.description;
}

/** A Markdown table. */
export function renderTable(header: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]) => `| ${cells.map((cell) => cell.replaceAll('|', '\\|')).join(' | ')} |`;
  return [line(header), `|${'---|'.repeat(header.length)}`, ...rows.map(line)].join('\n');
}
