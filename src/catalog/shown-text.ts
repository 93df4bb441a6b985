/** Foreign text for a person to read, in a form in which it cannot pass for words of the bridge. */
import { visibleText } from '../catalog/visible.ts';

/** Wide enough to push what follows to the start of the next line of a narrow window. Chosen. */
const WIDE_GAP = /\p{Zs}{8,}/gu;

/** Text on one line, with what cannot be seen spelled out, and its start and its end when it is longer than `maxChars`. */
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

/** Text of several lines as a quotation: each begins with `> `, which Markdown shows as one too. */
export function quoted(text: string, maxLines: number, maxLineChars: number): string {
  const lines = text.split(/\r\n?|[\n\u2028\u2029]/);
  const shown = lines.slice(0, maxLines).map((line) => `> ${oneLine(line, maxLineChars)}`.trimEnd());
  return [...shown, ...(lines.length > maxLines ? [`> […${lines.length} lines in all…]`] : [])].join('\n');
}
