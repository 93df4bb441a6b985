/**
 * Untrusted text, made safe to show. Characters that hide, reorder or fake text become visible. So a server cannot tell an agent
 * something that a person does not see, and its text cannot pass for the bridge's own. Source of the ignorable characters:
 * Unicode 15.1, `DerivedCoreProperties.txt`.
 */

/**
 * Control characters except tab and line feed, format and bidi controls, lone surrogates, unusual line separators, ignorable
 * characters, and the blank Braille pattern.
 */
const HIDDEN = '(?![\\t\\n])[\\p{Cc}\\p{Cf}\\p{Cs}\\p{Zl}\\p{Zp}\\p{Default_Ignorable_Code_Point}\\u2800]';
const HAS_HIDDEN = new RegExp(HIDDEN, 'u');
/** A first check, six times as fast for ASCII, which nearly all text is. */
const MAY_HAVE_HIDDEN = /[^\t\n\x20-\x7e]/;

/** Joiners and modifiers are part of an emoji: 👩🏽‍🚀, ❤️, 1️⃣. */
const PICTURE = '\\p{Extended_Pictographic}\\p{Emoji_Modifier}?[\\ufe0e\\ufe0f]?';
const EMOJI = `${PICTURE}(?:\\u200d${PICTURE})*|[0-9#*]\\ufe0f\\u20e3`;
const EMOJI_OR_HIDDEN = new RegExp(`(?<emoji>${EMOJI})|\\r\\n|(?:${HIDDEN})+`, 'gu');

/** Longer runs are counted instead of spelled out: 10,000 tag characters would make 90,000 characters of noise. Chosen. */
const MAX_SPELLED = 16;
/** Wide enough to push the text after it onto the next line of a narrow window. Chosen. */
const WIDE_GAP = /\p{Zs}{8,}/gu;
/** The longest first sentence. Chosen: about 30 tokens. */
const MAX_SENTENCE_CHARS = 120;

/** `text` with each hidden character written as `<U+200B>`, and with `\n` for line ends. Text without any is returned unchanged. */
export function makeVisible(text: string): string {
  if (!MAY_HAVE_HIDDEN.test(text) || !HAS_HIDDEN.test(text)) {
    return text;
  }
  return text.replace(EMOJI_OR_HIDDEN, (found, emoji: string | undefined) => {
    if (emoji !== undefined) {
      return found;
    }
    return found === '\r\n' ? '\n' : spell(found);
  });
}

/** Like `makeVisible`, but cut to a length; a cut text ends with its original length. */
export function visibleText(text: string, maxChars: number): string {
  // Cut first, because a server may send megabytes. Twice the length leaves room for what is trimmed.
  const clean = makeVisible(text.slice(0, maxChars * 2)).trim();
  if (clean.length <= maxChars && text.length <= maxChars * 2) {
    return clean;
  }
  const kept = clean
    .slice(0, maxChars)
    .replace(/[\ud800-\udbff]$/, '')
    .trimEnd();
  // A slice keeps the whole string alive in V8: without this copy, 20 kB would hold 10 MB.
  return Buffer.from(`${kept}… (${text.length.toLocaleString('en-US')} characters in all)`).toString();
}

/** The first sentence of a description on one line, cut to `maxChars`. */
export function firstSentence(description: string, maxChars = MAX_SENTENCE_CHARS): string {
  const line = visibleText(description, MAX_SENTENCE_CHARS * 4).replaceAll(/\s+/g, ' ');
  const [sentence = line] = /^.*?[.!?](?= |$)/.exec(line) ?? [];
  return sentence.length <= maxChars ? sentence : `${sentence.slice(0, maxChars - 1).trimEnd()}…`;
}

/** Text on one line with hidden characters and wide gaps spelled out. If it is longer than `maxChars`, its start and its end. */
export function oneLine(text: string, maxChars: number): string {
  if (text.length <= maxChars) {
    return visibleText(text, maxChars * 2)
      .replaceAll(/[\n\t]+/g, ' ')
      .replaceAll(WIDE_GAP, (gap) => `<${gap.length} spaces>`);
  }
  const tailChars = Math.floor(maxChars / 4);
  const head = oneLine(text.slice(0, maxChars - tailChars), maxChars);
  const tail = oneLine(text.slice(-tailChars), maxChars);
  return `${head} […${text.length.toLocaleString('en-US')} characters in all…] ${tail}`;
}

/** Text of several lines as a quotation: each line begins with `> `, as in Markdown. */
export function quoted(text: string, maxLines: number, maxLineChars: number): string {
  const lines = text.split(/\r\n?|[\n\u2028\u2029]/);
  const shown = lines.slice(0, maxLines).map((line) => `> ${oneLine(line, maxLineChars)}`.trimEnd());
  return [...shown, ...(lines.length > maxLines ? [`> […${lines.length} lines in all…]`] : [])].join('\n');
}

function spell(run: string): string {
  const characters = Array.from(run);
  const spelled = characters.slice(0, MAX_SPELLED).map((character) => {
    const code = (character.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, '0');
    return `<U+${code}>`;
  });
  const more = characters.length - spelled.length;
  return `${spelled.join('')}${more === 0 ? '' : `<and ${more} more hidden characters>`}`;
}
