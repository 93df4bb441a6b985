import { visibleText } from './visible.ts';

/** The first sentence of a description is cut here, if not before. Chosen: about 30 tokens. */
const MAX_SENTENCE_CHARS = 120;

/** The first sentence of a description in one line, cut to `maxChars`. */
export function firstSentence(description: string, maxChars = MAX_SENTENCE_CHARS): string {
  const line = visibleText(description, MAX_SENTENCE_CHARS * 4).replaceAll(/\s+/g, ' ');
  const [sentence = line] = /^.*?[.!?](?= |$)/.exec(line) ?? [];
  return sentence.length <= maxChars ? sentence : `${sentence.slice(0, maxChars - 1).trimEnd()}…`;
}
