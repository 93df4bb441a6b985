/** Which of the media types of a body is sent, and how it becomes bytes. */
import { objectOf } from './api-document.ts';

export type BodyKind = 'json' | 'form' | 'multipart' | 'bytes' | 'text';

export interface ChosenMedia {
  /** As it is sent. */
  readonly mediaType: string;
  readonly kind: BodyKind;
  readonly schema: unknown;
  /** Of forms: members that are written with brackets. */
  readonly brackets: readonly string[];
}

/** The best first. */
const PREFERENCE: readonly (readonly [pattern: RegExp, kind: BodyKind])[] = [
  [/^application\/json$/, 'json'],
  // A patch as an object is easier to write than one as a list of changes.
  [/^application\/merge-patch\+json$/, 'json'],
  [/\/json$/, 'json'],
  [/^(?!.*json-patch).*\+json$/, 'json'],
  [/\+json$/, 'json'],
  // Documents say so if any type will do.
  [/^(?:\*\/\*|application\/\*)$/, 'json'],
  [/^application\/x-www-form-urlencoded$/, 'form'],
  [/^multipart\/form-data$/, 'multipart'],
  [/^multipart\//, 'multipart'],
  [/^text\/|[/+](?:xml|yaml|x-yaml|x-ndjson|ndjson|jsonl|json-seq|graphql|csv|sql)$/, 'text'],
  [/\//, 'bytes'],
];

/** Undefined if the content names no media type. */
export function chooseMedia(content: unknown): ChosenMedia | undefined {
  const found = Object.entries(objectOf(content)).flatMap(([name, media]) => {
    const rank = PREFERENCE.findIndex(([pattern]) => pattern.test(withoutParameters(name)));
    return rank === -1 ? [] : { name, media, rank };
  });
  const [best] = found.toSorted((a, b) => a.rank - b.rank);
  const kind = best && PREFERENCE[best.rank]?.[1];
  if (best === undefined || kind === undefined) {
    return undefined;
  }
  // Of a body that may be anything, JSON is the most likely; bytes are sent as such.
  const mediaType = best.name.includes('*')
    ? kind === 'json'
      ? 'application/json'
      : 'application/octet-stream'
    : best.name;
  const { schema, encoding } = objectOf(best.media);
  const brackets = Object.entries(objectOf(encoding)).filter(([, said]) => objectOf(said)['style'] === 'deepObject');
  return { mediaType, kind, schema, brackets: kind === 'form' ? brackets.map(([name]) => name) : [] };
}

export function isJson(mediaType: string): boolean {
  return /^\*\/\*$|[/+]json$/.test(withoutParameters(mediaType));
}

function withoutParameters(mediaType: string): string {
  return mediaType.replace(/;.*/s, '').trim().toLowerCase();
}
