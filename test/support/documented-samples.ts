/**
 * The code samples in the documentation that tests run: a fence with Python after the comment `<!-- run -->`, then a fence with
 * the answer. The comment may set arguments: `<!-- run: servers=a,b timeout=1 -->`.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { ROOT } from './bridge-client.ts';

export interface DocumentedSample {
  /** `file:line` of the comment. */
  readonly place: string;
  readonly code: string;
  /** Arguments of `run_python` other than the code. */
  readonly arguments: Readonly<Record<string, unknown>>;
  /** The text of the answer. */
  readonly answer: string;
}

const MARKER = /^<!-- run(?:: (?<arguments>[^>]*))? -->$/;
const FENCES = /^```python\n(?<code>[\s\S]*?)\n```\n\n?```text\n(?<answer>[\s\S]*?)\n```$/m;

/** The samples of a file, in order. Throws if a comment is not followed by the two fences. */
export function readSamples(file: string): DocumentedSample[] {
  const lines = readFileSync(join(ROOT, file), 'utf8').split('\n');
  return lines.flatMap((line, index) => {
    const marker = MARKER.exec(line.trim());
    if (marker === null) {
      return [];
    }
    const place = `${file}:${index + 1}`;
    const fences = FENCES.exec(lines.slice(index + 1).join('\n'));
    if (fences?.index !== 0) {
      throw new Error(`${place}: the comment must be followed by a python fence and a text fence`);
    }
    const { code = '', answer = '' } = fences.groups ?? {};
    return [{ place, code, answer, arguments: parseArguments(marker.groups?.['arguments'] ?? '') }];
  });
}

/** A fenced block of a document. */
export interface Fence {
  /** `file:line`. */
  readonly place: string;
  /** Empty if none is named. */
  readonly language: string;
  readonly text: string;
  /** The last line before it that is not empty. */
  readonly before: string;
}

/** All fenced blocks of a file. */
export function allFences(file: string): Fence[] {
  const text = readFileSync(join(ROOT, file), 'utf8');
  return [...text.matchAll(/^```(\w*)\n([\s\S]*?)\n```$/gm)].map(({ 1: language = '', 2: block = '', index }) => {
    const above = text.slice(0, index).trimEnd().split('\n');
    return {
      place: `${file}:${text.slice(0, index).split('\n').length}`,
      language,
      text: block,
      before: above.at(-1) ?? '',
    };
  });
}

/** The fenced blocks of a file in one language. */
export function readFences(file: string, language: string): string[] {
  return allFences(file)
    .filter((fence) => fence.language === language)
    .map(({ text }) => text);
}

/** The documents at the root and everything in `docs`, as paths from the root. */
export function findDocuments(): string[] {
  const inDocs = readdirSync(join(ROOT, 'docs'), { recursive: true, encoding: 'utf8' });
  return [
    ...readdirSync(ROOT).filter((file) => file.endsWith('.md')),
    ...inDocs.filter((file) => file.endsWith('.md')).map((file) => join('docs', file)),
  ];
}

function parseArguments(text: string): Record<string, unknown> {
  const pairs = text.split(' ').filter((word) => word !== '');
  return Object.fromEntries(
    pairs.map((pair) => {
      const [name = '', value = ''] = pair.split('=');
      return [name, name === 'servers' ? value.split(',') : name === 'timeout' ? Number(value) : value];
    }),
  );
}
