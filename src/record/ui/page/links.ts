/** Finds addresses in text. Only `http` and `https` become links, and a link shows where it leads, in full. */

export type TextPart =
  | { readonly kind: 'text'; readonly text: string }
  | { readonly kind: 'mark'; readonly text: string }
  | { readonly kind: 'link'; readonly text: string };

const ADDRESS = /https?:\/\/[^\s<>"'`{}|\\^]+/giu;
/** What follows an address in a sentence. */
const TRAILING = /[.,;:!?)\]}]+$/;
/** How `makeVisible` writes hidden characters. */
const MARK = /<U\+[0-9A-F]{4,6}>|<and \d+ more hidden characters>/g;
/** An address that is longer is no link: its end could not be seen. */
const MAX_ADDRESS_CHARS = 2_000;

/** The address as a browser understands it, or undefined if it should not be a link. */
export function safeAddress(text: string): string | undefined {
  if (text.length > MAX_ADDRESS_CHARS || !URL.canParse(text)) {
    return undefined;
  }
  const { href, password, protocol, username } = new URL(text);
  // `https://bank.example@evil.example/` leads elsewhere than it seems.
  const isPlain = username === '' && password === '';
  return isPlain && (protocol === 'https:' || protocol === 'http:') ? href : undefined;
}

/** `text` in parts; hidden characters, which `makeVisible` has spelled out, are parts of their own. */
export function splitText(text: string, withLinks: boolean): readonly TextPart[] {
  const parts: TextPart[] = [];
  let end = 0;
  for (const { 0: found, index } of withLinks ? text.matchAll(ADDRESS) : []) {
    const trimmed = found.replace(TRAILING, '');
    const address = safeAddress(trimmed);
    if (address !== undefined) {
      parts.push(...splitMarks(text.slice(end, index)), { kind: 'link', text: address });
      end = index + trimmed.length;
    }
  }
  return [...parts, ...splitMarks(text.slice(end))];
}

function splitMarks(text: string): TextPart[] {
  if (!text.includes('<')) {
    return text === '' ? [] : [{ kind: 'text', text }];
  }
  const parts: TextPart[] = [];
  let end = 0;
  for (const { 0: found, index } of text.matchAll(MARK)) {
    parts.push({ kind: 'text', text: text.slice(end, index) }, { kind: 'mark', text: found });
    end = index + found.length;
  }
  return [...parts, { kind: 'text' as const, text: text.slice(end) }].filter((part) => part.text !== '');
}
