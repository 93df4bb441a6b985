/** How `console.log` shows values: as Node does for what scripts print, without its rarer forms (proxies, getters, symbols of iterators). */

const MAX_DEPTH = 2;
const MAX_ITEMS = 100;
const LINE_CHARS = 76;
/** Arrays with more items than this are shown several to a line. */
const COLUMN_ITEMS = 6;
const IDENTIFIER = /^[A-Za-z_$][\w$]*$/;

interface InspectOptions {
  readonly depth?: number | null;
}

interface Walk {
  readonly maxDepth: number;
  /** The objects around the current one. */
  readonly parents: object[];
}

export function inspectValue(value: unknown, { depth }: InspectOptions = {}): string {
  return show(value, { maxDepth: depth === null ? Number.POSITIVE_INFINITY : (depth ?? MAX_DEPTH), parents: [] });
}

/** The arguments of `console.log` as one text. */
export function formatValues(values: readonly unknown[]): string {
  const [first, ...rest] = values;
  if (typeof first !== 'string' || rest.length === 0) {
    return values.map(showTop).join(' ');
  }
  const text = first.replaceAll(/%[sdifjoOc%]/g, (directive) => {
    if (directive === '%%') {
      return '%';
    }
    return rest.length === 0 ? directive : fill(directive, rest.shift());
  });
  return [text, ...rest.map(showTop)].join(' ');
}

function fill(directive: string, value: unknown): string {
  switch (directive) {
    case '%s':
      return typeof value === 'object' && value !== null ? inspectValue(value, { depth: 0 }) : String(value);
    case '%d':
      return typeof value === 'bigint' ? `${value}n` : String(Number(value));
    case '%i':
      return String(Number.parseInt(String(value), 10));
    case '%f':
      return String(Number.parseFloat(String(value)));
    case '%j':
      return JSON.stringify(value) ?? 'undefined';
    case '%c':
      return '';
    default:
      return inspectValue(value, { depth: 4 });
  }
}

function showTop(value: unknown): string {
  return typeof value === 'string' ? value : inspectValue(value);
}

function show(value: unknown, walk: Walk): string {
  switch (typeof value) {
    case 'string':
      return quote(value);
    case 'number':
      return Object.is(value, -0) ? '-0' : String(value);
    case 'bigint':
      return `${value}n`;
    case 'object':
      return value === null ? 'null' : showObject(value, walk);
    case 'function':
      return showObject(value, walk);
    default:
      return String(value);
  }
}

function quote(text: string): string {
  const mark = !text.includes("'") ? "'" : !text.includes('"') ? '"' : text.includes('`') ? "'" : '`';
  const escaped = JSON.stringify(text).slice(1, -1).replaceAll('\\"', '"');
  return mark + escaped.replaceAll(mark, `\\${mark}`) + mark;
}

function showObject(value: object, walk: Walk): string {
  if (walk.parents.includes(value)) {
    return '[Circular *1]';
  }
  const name = classOf(value);
  const head = headOf(value, name);
  const isNested = head === undefined;
  if (walk.parents.length > walk.maxDepth && isNested) {
    return Array.isArray(value) ? '[Array]' : `[${name ?? 'Object: null prototype'}]`;
  }
  walk.parents.push(value);
  const items = walk.parents.length > walk.maxDepth + 1 ? [] : itemsOf(value, walk);
  walk.parents.pop();
  const prefix = head ?? prefixOf(value, name);
  if (head !== undefined && items.length === 0) {
    return head;
  }
  const [open, close] = Array.isArray(value) || ArrayBuffer.isView(value) ? ['[', ']'] : ['{', '}'];
  const start = (prefix === '' ? '' : `${prefix} `) + open;
  return items.length === 0 ? start + close : layOut(start, items, close, Array.isArray(value));
}

function classOf(value: object): string | undefined {
  const prototype: unknown = Object.getPrototypeOf(value);
  const maker = prototype === null ? undefined : (prototype as { constructor?: { name?: unknown } }).constructor;
  return prototype === null ? undefined : typeof maker?.name === 'string' && maker.name !== '' ? maker.name : 'Object';
}

/** What objects are shown as instead of their braces. */
function headOf(value: object, name: string | undefined): string | undefined {
  if (typeof value === 'function') {
    const isClass = Function.prototype.toString.call(value).startsWith('class');
    const label = value.name === '' ? '(anonymous)' : isClass ? value.name : `: ${value.name}`;
    return isClass ? `[class ${label}]` : `[${name ?? 'Function'}${value.name === '' ? ` ${label}` : label}]`;
  }
  if (value instanceof Error) {
    return errorText(value);
  }
  if (value instanceof Date) {
    return Number.isNaN(value.getTime()) ? 'Invalid Date' : value.toISOString();
  }
  if (value instanceof RegExp) {
    return RegExp.prototype.toString.call(value);
  }
  return undefined;
}

/** The stack of an error, or its text in brackets if it has none. */
export function errorText(error: Error): string {
  const { stack } = error;
  return typeof stack === 'string' && stack !== '' ? stack : `[${Error.prototype.toString.call(error)}]`;
}

function prefixOf(value: object, name: string | undefined): string {
  if (Array.isArray(value)) {
    return name === 'Array' ? '' : `${name}(${value.length})`;
  }
  if (ArrayBuffer.isView(value)) {
    return `${name}(${(value as Uint8Array).length ?? value.byteLength})`;
  }
  if (value instanceof Map || value instanceof Set) {
    return `${name}(${value.size})`;
  }
  const tag: unknown = (value as { [Symbol.toStringTag]?: unknown })[Symbol.toStringTag];
  const suffix = typeof tag === 'string' && tag !== '' && tag !== name ? ` [${tag}]` : '';
  return name === undefined ? '[Object: null prototype]' : name === 'Object' && suffix === '' ? '' : name + suffix;
}

function itemsOf(value: object, walk: Walk): string[] {
  const items: string[] = [];
  let hidden = 0;
  const add = (make: () => string) => (items.length < MAX_ITEMS ? items.push(make()) : (hidden += 1));
  if (Array.isArray(value) || ArrayBuffer.isView(value)) {
    const list = value as ArrayLike<unknown>;
    for (let index = 0; index < list.length && index < MAX_ITEMS; index += 1) {
      items.push(index in list ? show(list[index], walk) : '<empty>');
    }
    hidden = Math.max(0, list.length - MAX_ITEMS);
  } else if (value instanceof Map) {
    value.forEach((item, key) => add(() => `${show(key, walk)} => ${show(item, walk)}`));
  } else if (value instanceof Set) {
    value.forEach((item) => add(() => show(item, walk)));
  }
  if (hidden > 0) {
    items.push(`... ${hidden} more item${hidden === 1 ? '' : 's'}`);
  }
  return [...items, ...propertiesOf(value, walk)];
}

function propertiesOf(value: object, walk: Walk): string[] {
  const isList = Array.isArray(value) || ArrayBuffer.isView(value);
  const keys = isList ? [] : Reflect.ownKeys(value);
  const shown: string[] = [];
  for (const key of keys) {
    const property = Object.getOwnPropertyDescriptor(value, key);
    if (property !== undefined && isShown(value, key, property)) {
      const label = typeof key === 'symbol' ? `[${String(key)}]` : IDENTIFIER.test(key) ? key : quote(key);
      shown.push(
        `${key === 'cause' && property.enumerable !== true ? '[cause]' : label}: ${showProperty(property, walk)}`,
      );
    }
  }
  return shown;
}

/** The stack of an error already has its name and message. */
function isShown(value: object, key: string | symbol, { enumerable }: PropertyDescriptor): boolean {
  const isInStack = value instanceof Error && (key === 'name' || key === 'message' || key === 'stack');
  return (enumerable === true && !isInStack) || (key === 'cause' && value instanceof Error);
}

function showProperty(property: PropertyDescriptor, walk: Walk): string {
  if (property.get !== undefined) {
    return property.set === undefined ? '[Getter]' : '[Getter/Setter]';
  }
  return property.set === undefined ? show(property.value, walk) : '[Setter]';
}

function layOut(start: string, items: readonly string[], close: string, isArray: boolean): string {
  const total = items.reduce((sum, item) => sum + item.length + 2, start.length);
  const isFlat = items.every((item) => !item.includes('\n'));
  if (isArray && items.length > COLUMN_ITEMS && isFlat && items.every((item) => item.length <= COLUMN_ITEMS * 2)) {
    return `${start}\n  ${fillLines(items).join(',\n  ')}\n${close}`;
  }
  if (isFlat && total <= LINE_CHARS - 4) {
    return `${start} ${items.join(', ')} ${close}`;
  }
  return `${start}\n  ${items.map((item) => item.replaceAll('\n', '\n  ')).join(',\n  ')}\n${close}`;
}

function fillLines(items: readonly string[]): string[] {
  const lines: string[] = [];
  for (const item of items) {
    const last = lines.at(-1);
    if (last !== undefined && last.length + item.length + 2 <= LINE_CHARS) {
      lines[lines.length - 1] = `${last}, ${item}`;
    } else {
      lines.push(item);
    }
  }
  return lines;
}
