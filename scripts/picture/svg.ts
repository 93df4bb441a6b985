/** The SVG elements of the pictures. They refer to nothing outside, so the pictures look the same everywhere. */

type Attributes = Readonly<Record<string, string | number>>;

export const MONOSPACE =
  "ui-monospace, SFMono-Regular, Menlo, Consolas, 'Liberation Mono', 'DejaVu Sans Mono', monospace";
const SANS = "-apple-system, BlinkMacSystemFont, 'Segoe UI', 'Noto Sans', Helvetica, Arial, 'DejaVu Sans', sans-serif";

export interface Size {
  readonly width: number;
  readonly height: number;
}

/** The alternative text of a picture. */
export interface Wording {
  readonly title: string;
  readonly description: string;
}

/** A complete SVG file. */
export function svgFile({ height, width }: Size, { description, title }: Wording, children: readonly string[]): string {
  const attributes = {
    xmlns: 'http://www.w3.org/2000/svg',
    viewBox: `0 0 ${width} ${height}`,
    width,
    height,
    role: 'img',
    'aria-labelledby': 'title description',
    'font-family': SANS,
  };
  const wording = [
    element('title', { id: 'title' }, escapeText(title)),
    element('desc', { id: 'description' }, escapeText(description)),
  ];
  return `${element('svg', attributes, `\n${[...wording, ...children].join('\n')}\n`)}\n`;
}

export function element(name: string, attributes: Attributes, content?: string): string {
  const pairs = Object.entries(attributes).map(([key, value]) => ` ${key}="${escapeText(attributeText(value))}"`);
  const tag = `${name}${pairs.join('')}`;
  return content === undefined ? `<${tag}/>` : `<${tag}>${content}</${name}>`;
}

/** One line of text; spaces are preserved. */
export function text(x: number, y: number, content: string, attributes: Attributes): string {
  return textOf(x, y, escapeText(content), attributes);
}

/** The same, with pieces in several colors. */
export function coloredText(
  x: number,
  y: number,
  pieces: readonly { readonly text: string; readonly fill: string }[],
  attributes: Attributes,
): string {
  const spans = pieces.map((piece) => element('tspan', { fill: piece.fill }, escapeText(piece.text)));
  return textOf(x, y, spans.join(''), attributes);
}

function textOf(x: number, y: number, content: string, attributes: Attributes): string {
  return element('text', { x, y, 'xml:space': 'preserve', ...attributes }, content);
}

function attributeText(value: string | number): string {
  return typeof value === 'number' ? String(Number(value.toFixed(2))) : value;
}

function escapeText(value: string): string {
  return value.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('"', '&quot;');
}
