/** Reads Server-Sent Events from pieces of text (HTML standard, section 9.2), as far as this API uses them: only `data`. */

/** One event has at most 65,536 characters of output, each of which JSON may write as six. */
const MAX_EVENT_CHARS = 4 * 1024 * 1024;

export class PageEventParser {
  #rest = '';
  #data: string[] = [];

  /** The `data` of the events that `text` completes. */
  push(text: string): string[] {
    const lines = (this.#rest + text).split(/\r\n|\n|\r(?!$)/);
    this.#rest = lines.pop() ?? '';
    const events: string[] = [];
    for (const line of lines) {
      if (line === '' && this.#data.length > 0) {
        events.push(this.#data.join('\n'));
        this.#data = [];
      } else if (line.startsWith('data:')) {
        this.#data.push(line.slice(line[5] === ' ' ? 6 : 5));
      }
    }
    if (this.#rest.length + this.#data.reduce((sum, each) => sum + each.length, 0) > MAX_EVENT_CHARS) {
      throw new Error('An event is longer than 4 MiB.');
    }
    return events;
  }
}
