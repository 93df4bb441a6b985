/**
 * Makes the characters visible that hide, reorder or fake text: what a person cannot see, an agent must not be told in
 * secret. Used where foreign text enters the catalog. Source of the class of ignorable characters: Unicode 15.1,
 * `DerivedCoreProperties.txt`.
 */

/** Controls but tab and line feed, format and bidi controls, lone surrogates, odd line ends, ignorable characters, blank Braille. */
const HIDDEN = '(?![\\t\\n])[\\p{Cc}\\p{Cf}\\p{Cs}\\p{Zl}\\p{Zp}\\p{Default_Ignorable_Code_Point}\\u2800]';
const HAS_HIDDEN = new RegExp(HIDDEN, 'u');
/** Nearly all text is ASCII, where this is six times as fast. */
const MAY_HAVE_HIDDEN = /[^\t\n\x20-\x7e]/;

/** What joins and colours a picture is part of it: 👩🏽‍🚀, ❤️, 1️⃣. */
const PICTURE = '\\p{Extended_Pictographic}\\p{Emoji_Modifier}?[\\ufe0e\\ufe0f]?';
const EMOJI = `${PICTURE}(?:\\u200d${PICTURE})*|[0-9#*]\\ufe0f\\u20e3`;
const EMOJI_OR_HIDDEN = new RegExp(`(?<emoji>${EMOJI})|\\r\\n|(?:${HIDDEN})+`, 'gu');

/** Longer runs are counted, not spelled: 10,000 tag characters would be 90,000 characters of noise. Chosen. */
const MAX_SPELLED = 16;

/** `text` with each hidden character as `<U+200B>`; line ends become `\n`. Text without any is returned as it is. */
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

/** As `makeVisible`, cut to a length; a cut text ends with how long it was. */
export function visibleText(text: string, maxChars: number): string {
  // Cut first: a server may send megabytes. Twice the length leaves room for what is trimmed.
  const clean = makeVisible(text.slice(0, maxChars * 2)).trim();
  if (clean.length <= maxChars && text.length <= maxChars * 2) {
    return clean;
  }
  const kept = clean
    .slice(0, maxChars)
    .replace(/[\ud800-\udbff]$/, '')
    .trimEnd();
  // V8 makes a part of a text point into the whole: without a copy, 20 kB would keep 10 MB alive.
  return Buffer.from(`${kept}… (${text.length.toLocaleString('en-US')} characters in all)`).toString();
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
