import { visibleText } from './visible.ts';

/** The first sentence of a description is cut here. Chosen: about 30 tokens. */
const MAX_SENTENCE_CHARS = 120;

/** The first sentence of a description in one line. */
export function firstSentence(description: string): string {
  const line = visibleText(description, MAX_SENTENCE_CHARS * 4).replaceAll(/\s+/g, ' ');
  const [sentence = line] = /^.*?[.!?](?= |$)/.exec(line) ?? [];
  return sentence.length <= MAX_SENTENCE_CHARS ? sentence : `${sentence.slice(0, MAX_SENTENCE_CHARS - 1).trimEnd()}…`;
}
