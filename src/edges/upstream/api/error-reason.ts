/** Why an API refused a request, in its own words: what is found in the shapes in which APIs say it. Bounded. */
import { isObject, type JsonObject } from '../../../core/base/is-object.ts';

/** Of a page or an XML document, this much is searched. */
const SEARCHED_CHARS = 16 * 1024;
const MAX_LEVELS = 5;
/** Reasons of one list. Chosen. */
const MAX_LISTED = 5;
/** Of one text. */
const MAX_TEXT_CHARS = 1_000;

/**
 * Members that say why, in lower case without `_` and `-`, in the order of reading. `title`, `detail`, `errors`: RFC 9457 and JSON:API;
 * `error`: OAuth, Stripe, Google and many others; `loc`, `msg`: FastAPI; `errorMessages`: Jira; `faultstring`: SOAP;
 * `reason`: Elasticsearch; `value`: OData before 4.
 */
const SAYS = [
  'title',
  'message',
  'msg',
  'errormessage',
  'errormessages',
  'errordescription',
  'detail',
  'description',
  'reason',
  'faultstring',
  'fault',
  'error',
  'errors',
  'value',
];
/** Members that say what the reason is about. */
const ABOUT = ['code', 'errorcode', 'param', 'parameter', 'field', 'path', 'pointer', 'loc', 'source', 'name'];

/** The reason in a JSON value; empty if it has none of the known shapes. */
export function reasonIn(value: unknown, level = 0): string {
  if (typeof value === 'string') {
    return short(value);
  }
  if (typeof value !== 'object' || value === null || level > MAX_LEVELS) {
    return '';
  }
  if (Array.isArray(value)) {
    const reasons = distinct(value.slice(0, MAX_LISTED).map((item) => reasonIn(item, level + 1)));
    return reasons.join('; ') + (value.length > MAX_LISTED ? `; and ${value.length - MAX_LISTED} more` : '');
  }
  const members = membersOf(value as JsonObject);
  const said = SAYS.map((key) => saidBy(key, members.get(key), level + 1));
  const reasons = distinct(said.filter((text) => text !== ''));
  const about = ABOUT.map((key) => aboutText(key, members.get(key))).filter((text) => text !== '');
  const shown = about.filter((text) => !reasons.some((reason) => reason.includes(text)));
  if (reasons.length === 0) {
    return level > 0 ? shown.join(', ') : '';
  }
  // A sentence ends by itself.
  const text = reasons.reduce((before, reason) => `${before}${/[.!?:]$/.test(before) ? '' : ':'} ${reason}`);
  return `${text}${shown.length === 0 ? '' : ` (${shown.join(', ')})`}`;
}

/** The reason in a page, an XML document or a plain text. */
export function reasonInText(text: string, type: string): string {
  const searched = text.slice(0, SEARCHED_CHARS);
  if (!/[/+](?:x?html|xml)$/.test(type)) {
    return text.trim();
  }
  const named = ['message', 'faultstring', 'title', 'h1', 'code'].map((name) => elementText(searched, name));
  const [message, ...others] = distinct(named.filter((found) => found !== ''));
  return message === undefined ? plain(searched) : [message, ...others.slice(0, 1)].join(' – ');
}

/** By name in lower case without separators. The first of two that are the same is kept. */
function membersOf(value: JsonObject): ReadonlyMap<string, unknown> {
  const members = new Map<string, unknown>();
  for (const [key, member] of Object.entries(value).slice(0, 100)) {
    const name = key.toLowerCase().replaceAll(/[_-]/g, '');
    if (!members.has(name)) {
      members.set(name, member);
    }
  }
  return members;
}

/** In `errors`, each member may be named like the field that it is about, as ASP.NET and Rails do. */
function saidBy(key: string, value: unknown, level: number): string {
  if (key === 'errors' && isObject(value)) {
    const fields = Object.entries(value).slice(0, MAX_LISTED);
    return fields.map(([field, reason]) => `${short(field)}: ${reasonIn(reason, level + 1)}`).join('; ');
  }
  return reasonIn(value, level);
}

function aboutText(key: string, value: unknown): string {
  if (key === 'source' && isObject(value)) {
    return reasonIn({ path: value['pointer'] ?? value['parameter'] }, 1);
  }
  const isPath = Array.isArray(value) && value.every((part) => typeof part === 'string' || typeof part === 'number');
  const text = isPath ? value.join('.') : value;
  const isSaid = (typeof text === 'string' && text !== '') || typeof text === 'number';
  return isSaid ? `${key === 'errorcode' ? 'code' : key}: ${short(String(text))}` : '';
}

/** Without those that another one says. */
function distinct(texts: readonly string[]): readonly string[] {
  return texts.filter(
    (text, index) =>
      text !== '' &&
      !texts.some((other, at) => at !== index && other.includes(text) && (other.length > text.length || at < index)),
  );
}

/** The lengths are bounded because a text without an end would be searched again from each beginning. */
function elementText(text: string, name: string): string {
  const found = new RegExp(`<(?:\\w{1,20}:)?${name}(?:\\s[^<>]{0,200})?>([^<]{1,${MAX_TEXT_CHARS}})<`, 'i').exec(text);
  return plain(found?.[1] ?? '');
}

function plain(markup: string): string {
  const text = markup
    .replaceAll(/<(script|style)\b[^<]{0,4000}<\/\1>/gi, ' ')
    .replaceAll(/<[^<>]{0,1000}>/g, ' ')
    .replaceAll(/&(amp|lt|gt|quot|apos|#39|nbsp);/g, (_whole, name: string) => ENTITIES[name] ?? ' ');
  return short(text.replaceAll(/\s+/g, ' ').trim());
}

const ENTITIES: Readonly<Record<string, string>> = { amp: '&', lt: '<', gt: '>', quot: '"', apos: "'", '#39': "'" };

function short(text: string): string {
  const trimmed = text.slice(0, MAX_TEXT_CHARS + 1).trim();
  return trimmed.length > MAX_TEXT_CHARS ? `${trimmed.slice(0, MAX_TEXT_CHARS)}…` : trimmed;
}
