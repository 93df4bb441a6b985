/**
 * What a terminal would show of a text in the end. Progress bars redraw their lines with carriage returns and control sequences
 * (ECMA-48), often thousands of times, and only the last state is worth reading. Linear in the text, whatever it contains.
 */

/**
 * Sequences with parameters, such as colors and movements; strings, such as titles and links; other sequences; single characters.
 * None can match what another can, and a sequence that is cut off at the end of the text matches, too.
 */
const CONTROL =
  // biome-ignore lint/suspicious/noControlCharactersInRegex: finding them is the purpose.
  /(?:\u001b\[|\u009b)([0-?]*)[ -/]*([@-~]?)|\u001b[\]PX^_][^\u0007\u001b]*(?:\u0007|\u001b\\)?|\u001b[ -/]*[0-OQ-WYZ\\`-~]?|\r\n|[\r\n\b]/g;
// biome-ignore lint/suspicious/noControlCharactersInRegex: as above.
const HAS_CONTROL = /[\r\b\u001b\u009b]/;
/** How far a sequence can move beyond the end of a line, or of the text. Chosen: no progress bar goes further. */
const MAX_BEYOND = 80;
const SPACE = 0x20;

/**
 * Carriage returns, backspaces, movements by lines and columns, and erasures of lines take effect; colors and all other sequences
 * are left out. Clearing the screen removes nothing, because it is no reason to hide output. `\r\n` stays, as Windows writes it.
 */
export function asShown(text: string): string {
  if (!HAS_CONTROL.test(text)) {
    return text;
  }
  const screen = new Screen();
  let start = 0;
  for (const match of text.matchAll(CONTROL)) {
    screen.write(text.slice(start, match.index));
    start = match.index + match[0].length;
    screen.control(match[0], match[2] ?? '', match[1] ?? '');
  }
  screen.write(text.slice(start));
  return screen.toString();
}

class Screen {
  #lines = [new Line()];
  #row = 0;
  #column = 0;

  write(text: string): void {
    if (text !== '') {
      this.#line.write(this.#column, text);
      this.#column += text.length;
    }
  }

  /** Applies a control character, or the sequence that ends with `final`. */
  control(character: string, final: string, parameters: string): void {
    const count = Math.max(1, Number.parseInt(parameters, 10) || 1);
    const edge = this.#line.length + MAX_BEYOND;
    switch (final === '' ? character : final) {
      case '\r\n':
      case '\n':
        this.#line.end = character;
        this.#moveTo(this.#row + 1);
        this.#column = 0;
        break;
      case '\r':
        this.#column = 0;
        break;
      case '\b':
      case 'D':
        this.#column = Math.max(0, this.#column - count);
        break;
      case 'C':
        this.#column = Math.min(edge, this.#column + count);
        break;
      case 'G':
        this.#column = Math.min(edge, count - 1);
        break;
      case 'A':
      case 'F':
        this.#moveTo(Math.max(0, this.#row - count));
        this.#column = final === 'F' ? 0 : this.#column;
        break;
      case 'B':
      case 'E':
        this.#moveTo(Math.min(this.#lines.length + MAX_BEYOND, this.#row + count));
        this.#column = final === 'E' ? 0 : this.#column;
        break;
      case 'K':
        this.#erase(parameters);
        break;
      case 'J':
        this.#eraseBelow(parameters);
        break;
      default: // Has no effect on a text.
    }
  }

  #erase(parameters: string): void {
    if (parameters === '1') {
      this.#line.write(0, ' '.repeat(Math.min(this.#line.length, this.#column + 1)));
    } else {
      this.#line.cut(parameters === '2' ? 0 : this.#column);
    }
  }

  #eraseBelow(parameters: string): void {
    if (parameters === '' || parameters === '0') {
      this.#line.cut(this.#column);
      this.#lines.length = this.#row + 1;
      this.#line.end = '';
    }
  }

  get #line(): Line {
    return this.#lines[this.#row] as Line;
  }

  #moveTo(row: number): void {
    while (this.#lines.length <= row) {
      const last = this.#lines.at(-1) as Line;
      last.end ||= '\n';
      this.#lines.push(new Line());
    }
    this.#row = row;
  }

  toString(): string {
    return this.#lines.map((line) => line.toString() + line.end).join('');
  }
}

/** One line. Its characters are in an array as soon as it is changed, so that each change takes only as long as what it writes. */
class Line {
  /** `\n`, `\r\n`, or empty for the last line. */
  end = '';
  #text = '';
  #units: Uint16Array<ArrayBuffer> | undefined;
  #length = 0;

  get length(): number {
    return this.#length;
  }

  write(column: number, text: string): void {
    if (this.#units === undefined && column === this.#length) {
      this.#text += text;
      this.#length += text.length;
      return;
    }
    const end = column + text.length;
    const units = this.#room(end);
    units.fill(SPACE, this.#length, Math.max(this.#length, column));
    for (let index = 0; index < text.length; index += 1) {
      units[column + index] = text.charCodeAt(index);
    }
    this.#length = Math.max(this.#length, end);
  }

  cut(length: number): void {
    if (length < this.#length) {
      this.#room(this.#length);
      this.#length = length;
    }
  }

  #room(length: number): Uint16Array<ArrayBuffer> {
    let units = this.#units;
    if (units === undefined || units.length < length) {
      const larger = new Uint16Array(2 * Math.max(length, this.#length));
      if (units === undefined) {
        Buffer.from(larger.buffer).write(this.#text, 'utf16le');
      } else {
        larger.set(units.subarray(0, this.#length));
      }
      units = larger;
      this.#units = larger;
      this.#text = '';
    }
    return units;
  }

  /** Without the blanks with which bars clear their line. */
  toString(): string {
    if (this.#units === undefined) {
      return this.#text;
    }
    return Buffer.from(this.#units.buffer, 0, 2 * this.#length)
      .toString('utf16le')
      .trimEnd();
  }
}
