import { describe, expect, it } from 'vitest';
import { replaceGenerated } from '../../../scripts/generate/markers.ts';

const START = '<!-- generated: table -->';
const END = '<!-- end of generated -->';
const parts = { table: () => 'new' };

describe('replaceGenerated', () => {
  it('replaces only the text between the markers', () => {
    expect(replaceGenerated(`before\n${START}\nold\n${END}\nafter\n`, parts)).toBe(
      `before\n${START}\n\nnew\n\n${END}\nafter\n`,
    );
  });

  it('is idempotent', () => {
    const once = replaceGenerated(`${START}\n${END}\n`, parts);
    expect(replaceGenerated(once, parts)).toBe(once);
  });

  it.each([
    ['no marker', 'text\n'],
    ['a marker without an end', `${START}\ntext\n`],
    ['an unknown marker', `${START}\n${END}\n<!-- generated: other -->\n${END}\n`],
    ['a marker used twice', `${START}\n${END}\n${START}\n${END}\n`],
    ['a marker whose end is another one’s', `${START}\n<!-- generated: other -->\n${END}\n`],
  ])('refuses a document with %s', (_what, document) => {
    expect(() => replaceGenerated(document, parts)).toThrow(/marker/);
  });
});
