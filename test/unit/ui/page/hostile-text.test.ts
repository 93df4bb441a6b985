/** What code and servers write: which addresses become links, and how hidden characters are shown. */
import { describe, expect, it } from 'vitest';
import { makeVisible } from '../../../../src/core/catalog/visible.ts';
import { safeAddress, splitText } from '../../../../src/record/ui/page/links.ts';

const shown = (text: string) => splitText(makeVisible(text), true).map(({ kind, text: part }) => `${kind}:${part}`);

describe('links', () => {
  it.each([
    ['see https://example.com/a?b=c.', ['text:see ', 'link:https://example.com/a?b=c', 'text:.']],
    ['(http://example.com)', ['text:(', 'link:http://example.com/', 'text:)']],
    ['javascript:alert(1)', ['text:javascript:alert(1)']],
    ['data:text/html,<script>alert(1)</script>', ['text:data:text/html,<script>alert(1)</script>']],
    ['https://bank.example@evil.example/', ['text:https://bank.example@evil.example/']],
    ['https://', ['text:https://']],
    ['a https://example.com/\u202egpj.exe', ['text:a ', 'link:https://example.com/', 'mark:<U+202E>', 'text:gpj.exe']],
  ])('%j', (text, parts) => {
    expect(shown(text)).toEqual(parts);
  });

  it('show the host that the browser will ask', () => {
    expect(shown('https://аpple.com/')).toEqual(['link:https://xn--pple-43d.com/']);
  });

  it.each([
    'javascript:alert(1)',
    'file:///etc/passwd',
    'vbscript:x',
    `https://e.example/${'x'.repeat(3_000)}`,
    '//e.example',
    'https://u:p@e.example/',
  ])('never lead to %j', (address) => {
    expect(safeAddress(address)).toBeUndefined();
  });
});

describe('hidden characters', () => {
  it.each([
    ['\u001b[31mred', ['mark:<U+001B>', 'text:[31mred']],
    ['a\u0000b', ['text:a', 'mark:<U+0000>', 'text:b']],
    ['x\u200b\u2066y', ['text:x', 'mark:<U+200B>', 'mark:<U+2066>', 'text:y']],
    ['plain < text', ['text:plain < text']],
    ['<img src=x onerror=alert(1)>', ['text:<img src=x onerror=alert(1)>']],
  ])('%j', (text, parts) => {
    expect(shown(text)).toEqual(parts);
  });
});
