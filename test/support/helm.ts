/**
 * Renders the chart in `deploy/` without Helm: of its templates, only what that chart uses. `helm template` gives the same objects
 * (compared by hand with Helm 4.1.4).
 */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse, parseAllDocuments, stringify } from 'yaml';

/** What a template can name. */
interface Scope {
  readonly dot: unknown;
  readonly root: object;
}

const FUNCTIONS: Readonly<Record<string, (...given: never[]) => unknown>> = {
  toYaml: (value: unknown) => stringify(value).trimEnd(),
  toJson: (value: unknown) => JSON.stringify(value),
  quote: (value: string) => JSON.stringify(value),
  nindent: (spaces: string, text: string) => `\n${text.replaceAll(/^(?=.)/gm, ' '.repeat(Number(spaces)))}`,
  default: (otherwise: string, value: string) => value || JSON.parse(otherwise),
  not: (value: unknown) => !isTrue(value),
};

/** The objects of a chart, with `values` over those of `values.yaml` (top-level keys replace each other). */
export function renderChart(folder: string, namespace: string, values: object = {}): unknown[] {
  const defaults = parse(readFileSync(join(folder, 'values.yaml'), 'utf8')) as object;
  const root = { Values: { ...defaults, ...values }, Release: { Namespace: namespace } };
  return readdirSync(join(folder, 'templates')).flatMap((file) => {
    const text = render(readFileSync(join(folder, 'templates', file), 'utf8'), { dot: root, root });
    return readObjects(text);
  });
}

/** The objects in a YAML file. Throws if it is not valid. */
export function readObjects(text: string): unknown[] {
  return parseAllDocuments(text).flatMap((document) => {
    if (document.errors[0] !== undefined) {
      throw document.errors[0];
    }
    const value: unknown = document.toJS();
    return value === null ? [] : [value];
  });
}

function render(template: string, scope: Scope): string {
  const pieces = template.split(/(\s*\{\{-[^}]*\}\}|\{\{[^}]*\}\})/);
  return renderUntil(pieces, scope, true);
}

/** Takes pieces until the `end` of its block. */
function renderUntil(pieces: string[], scope: Scope, isShown: boolean): string {
  let text = '';
  for (let piece = pieces.shift(); piece !== undefined; piece = pieces.shift()) {
    const action = /\{\{-? ?(.*?) ?\}\}$/.exec(piece)?.[1];
    if (action === undefined) {
      text += piece;
    } else if (action === 'end') {
      return isShown ? text : '';
    } else if (/^(?:with|if) /.test(action)) {
      const [keyword, ...expression] = action.split(' ');
      const value = evaluate(expression.join(' '), scope);
      text += renderUntil(pieces, keyword === 'with' ? { ...scope, dot: value } : scope, isTrue(value));
    } else if (isShown) {
      text += String(evaluate(action, scope));
    }
  }
  return text;
}

/** `PATH`, `FUNCTION ARGUMENT` or either piped to functions. */
function evaluate(expression: string, scope: Scope): unknown {
  return expression.split(' | ').reduce<unknown>((value, part, index) => {
    const [first = '', ...others] = part.split(' ');
    if (first.startsWith('.')) {
      return valueAt(first, scope);
    }
    const call = FUNCTIONS[first];
    if (call === undefined) {
      throw new Error(`the chart uses ${first}, which is not rendered here`);
    }
    const given = others.map((other) => (other.startsWith('.') ? valueAt(other, scope) : other));
    return call(...([...given, ...(index === 0 ? [] : [value])] as never[]));
  }, undefined);
}

function valueAt(path: string, { dot, root }: Scope): unknown {
  if (path === '.') {
    return dot;
  }
  return path
    .slice(1)
    .split('.')
    .reduce<unknown>((value, key) => (value as Record<string, unknown> | undefined)?.[key], root);
}

function isTrue(value: unknown): boolean {
  return Array.isArray(value) || (typeof value === 'object' && value !== null)
    ? Object.keys(value).length > 0
    : Boolean(value);
}
