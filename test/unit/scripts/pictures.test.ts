/**
 * The committed pictures: valid, self-contained files with the same content in both themes, legible in both.
 * `test/e2e/comparison.test.ts` checks that they show the current run.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { drawParts, PARTS_WORDING } from '../../../scripts/picture/parts-picture.ts';
import { colorPython } from '../../../scripts/picture/python-colors.ts';
import { element, text } from '../../../scripts/picture/svg.ts';
import { THEMES } from '../../../scripts/picture/themes.ts';
import { ROOT } from '../../support/bridge-client.ts';

const FOLDER = join(ROOT, 'docs/images');
/** Those in `ui/` are taken by a browser. */
const FILES = readdirSync(FOLDER).filter((file) => file !== 'ui');
const README = readFileSync(join(ROOT, 'README.md'), 'utf8');
const read = (file: string): string => readFileSync(join(FOLDER, file), 'utf8');

/** The elements allowed in pictures: no scripts, styles, links, images or animations. */
const ELEMENTS = ['svg', 'title', 'desc', 'g', 'rect', 'line', 'path', 'text', 'tspan'];
const TOKEN =
  /<(?<open>[a-z]+)(?<attributes>(?: [a-zA-Z][a-zA-Z0-9-]*(?::[a-z]+)?="[^"<]*")*)(?<empty>\/)?>|<\/(?<close>[a-z]+)>|(?<text>[^<]+)/y;
const STRAY_AMPERSAND = /&(?!(?:amp|lt|gt|quot);)/;

interface SvgText {
  readonly content: string;
  readonly fill: string;
}

/** Parses a file in this subset of XML. Throws for anything else. */
function readSvg(source: string) {
  const open: { readonly name: string; readonly fill: string }[] = [];
  const elements: string[] = [];
  const attributes: (readonly [name: string, value: string])[] = [];
  const texts: SvgText[] = [];
  const wording: Record<string, string> = {};
  expect(source).not.toMatch(STRAY_AMPERSAND);
  TOKEN.lastIndex = 0;
  while (TOKEN.lastIndex < source.length) {
    const at = TOKEN.lastIndex;
    const groups = TOKEN.exec(source)?.groups;
    if (groups === undefined) {
      throw new Error(`not well-formed: ${source.slice(at, at + 40)}`);
    }
    const top = open.at(-1);
    if (groups['open'] !== undefined) {
      const pairs = [...(groups['attributes'] ?? '').matchAll(/ ([^=]+)="([^"]*)"/g)].map(
        ([, name = '', value = '']) => [name, value] as const,
      );
      expect(new Set(pairs.map(([name]) => name)).size).toBe(pairs.length);
      elements.push(groups['open']);
      attributes.push(...pairs);
      if (groups['empty'] === undefined) {
        open.push({ name: groups['open'], fill: new Map(pairs).get('fill') ?? top?.fill ?? '' });
      }
    } else if (groups['close'] !== undefined) {
      expect(open.pop()?.name).toBe(groups['close']);
    } else if (top?.name === 'title' || top?.name === 'desc') {
      wording[top.name] = groups['text'] ?? '';
    } else if (groups['text']?.trim() !== '') {
      expect(['text', 'tspan']).toContain(top?.name);
      texts.push({ content: groups['text'] ?? '', fill: top?.fill ?? '' });
    }
  }
  expect(open).toEqual([]);
  return { elements, attributes, texts, wording };
}

/** Of WCAG 2.2: the ratio of the relative luminances of two colors. */
function contrast(one: string, other: string): number {
  const [light = 0, dark = 0] = [luminance(one), luminance(other)].toSorted((a, b) => b - a);
  return (light + 0.05) / (dark + 0.05);
}

function luminance(color: string): number {
  const [red = 0, green = 0, blue = 0] = [1, 3, 5].map((start) => {
    const share = Number.parseInt(color.slice(start, start + 2), 16) / 255;
    return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
  });
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
}

it('there are two pictures, each in both themes', () => {
  expect(FILES.toSorted()).toEqual(['parts-dark.svg', 'parts-light.svg', 'run-dark.svg', 'run-light.svg']);
});

describe.each(FILES)('%s', (file) => {
  const source = read(file);

  it('is well-formed and self-contained', () => {
    const { attributes, elements } = readSvg(source);
    expect(elements[0]).toBe('svg');
    expect(elements.filter((name) => !ELEMENTS.includes(name))).toEqual([]);
    expect(attributes.filter(([name, value]) => /^on|href|^src$|^style$/.test(name) || /url\(/.test(value))).toEqual(
      [],
    );
    expect(attributes.filter(([, value]) => value.includes(':'))).toEqual([['xmlns', 'http://www.w3.org/2000/svg']]);
  });

  it('has a title and a description as alternative text', () => {
    const { attributes, wording } = readSvg(source);
    expect(wording).toEqual({ title: expect.stringMatching(/\w/), desc: expect.stringMatching(/\w/) });
    expect(attributes).toContainEqual(['role', 'img']);
    expect(attributes).toContainEqual(['aria-labelledby', 'title description']);
  });

  it('has text with enough contrast', () => {
    const { background, panel } = THEMES[file.includes('dark') ? 'dark' : 'light'];
    const { texts } = readSvg(source);
    expect(texts.length).toBeGreaterThan(5);
    const weak = texts.filter(({ fill }) => Math.min(contrast(fill, background), contrast(fill, panel)) < 4.5);
    expect(weak).toEqual([]);
  });

  it('has text that is legible on a phone: at least 15 of a width of 760', () => {
    const { attributes } = readSvg(source);
    const width = Number(new Map(attributes).get('width') ?? Number.NaN);
    const sizes = attributes.filter(([name]) => name === 'font-size').map(([, value]) => Number(value));
    expect(Math.min(...sizes)).toBeGreaterThanOrEqual(15);
    expect(width).toBeLessThanOrEqual(760);
  });
});

describe.each(['run', 'parts'])('the picture %s', (name) => {
  it('says the same in both themes', () => {
    const [light, dark] = [readSvg(read(`${name}-light.svg`)), readSvg(read(`${name}-dark.svg`))];
    expect(dark.texts.map(({ content }) => content)).toEqual(light.texts.map(({ content }) => content));
    expect(dark.wording).toEqual(light.wording);
  });

  it('is in README.md in both themes, with its own description', () => {
    const { wording } = readSvg(read(`${name}-light.svg`));
    expect(README).toContain(
      `<source media="(prefers-color-scheme: dark)" srcset="docs/images/${name}-dark.svg">\n  <img alt="${wording['desc']}" src="docs/images/${name}-light.svg"`,
    );
  });
});

it('the picture of the parts is up to date', () => {
  expect(read('parts-light.svg')).toBe(drawParts(THEMES.light));
  expect(read('parts-dark.svg')).toBe(drawParts(THEMES.dark));
  expect(readSvg(read('parts-light.svg')).wording['desc']).toBe(PARTS_WORDING.description);
});

describe('drawing', () => {
  it('escapes special characters of XML', () => {
    expect(element('g', { id: '"&<' }, '')).toBe('<g id="&quot;&amp;&lt;"></g>');
    expect(text(1, 2, 'a < b & c', {})).toBe('<text x="1" y="2" xml:space="preserve">a &lt; b &amp; c</text>');
  });

  it('keeps every character of a line of code', () => {
    const { call, keyword, number, string, text: plain } = THEMES.light;
    const line = '    total += await server.add(a=2, note="for x") ';
    const pieces = colorPython(line, THEMES.light);
    expect(pieces.map((piece) => piece.text).join('')).toBe(line);
    expect(pieces).toEqual([
      { text: '    total += ', fill: plain },
      { text: 'await', fill: keyword },
      { text: ' server.', fill: plain },
      { text: 'add', fill: call },
      { text: '(a=', fill: plain },
      { text: '2', fill: number },
      { text: ', note=', fill: plain },
      { text: '"for x"', fill: string },
      { text: ') ', fill: plain },
    ]);
  });
});
