/** Text from code, servers and people in HTML and SVG: always as text, and never as markup. */
import { escapeControls } from '../../core/base/log.ts';

/** Marks text as markup, so that nothing else gets into the page without being escaped. */
export class Markup {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }
}

type Part = Markup | readonly Markup[] | string | number;

/** Markup with everything escaped that is put into it, unless it is markup. */
export function html(literals: TemplateStringsArray, ...parts: readonly Part[]): Markup {
  return new Markup(
    literals.map((literal, index) => literal + (index < parts.length ? textOfPart(parts[index] ?? '') : '')).join(''),
  );
}

function textOfPart(part: Part): string {
  if (part instanceof Markup) {
    return part.text;
  }
  if (typeof part === 'object') {
    return part.map(({ text }) => text).join('');
  }
  return escapeControls(String(part)).replace(/[&<>"'`]/g, (character) => `&#${character.charCodeAt(0)};`);
}
