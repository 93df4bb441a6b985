/**
 * What registries and catalogs say about a server that is not configured yet, in one form. All of it was written by strangers: texts
 * are data that is shown, a command is a list of words that no shell sees, and what would not be the same tomorrow cannot be added.
 */
import { oneLine } from '../../core/catalog/visible.ts';

/** Something that the person must fill in, or may. */
export interface Input {
  readonly name: string;
  readonly description: string;
  readonly isSecret: boolean;
  readonly isRequired: boolean;
  readonly default?: string | undefined;
}

/** A text with inputs in it. */
export type Template = readonly (string | { readonly input: string })[];

/** What would be started or reached. */
export type Run =
  | {
      readonly kind: 'npm' | 'pypi' | 'oci';
      readonly command: string;
      /** Words that belong together, so that all of them are left out if an input of theirs is. */
      readonly args: readonly (readonly Template[])[];
      readonly env: Readonly<Record<string, Template>>;
      /** Folders of this machine that a container would see. */
      readonly mounts: readonly Template[];
    }
  | {
      readonly kind: 'remote';
      readonly url: Template;
      readonly transport: 'http' | 'sse';
      readonly headers: Readonly<Record<string, Template>>;
    };

export interface NewServer {
  /** In the registry or catalog; ASCII, so that nothing can look like it without being it. */
  readonly name: string;
  readonly title?: string | undefined;
  readonly description: string;
  /** The namespace, which the official registry has verified. */
  readonly publisher: string;
  readonly repository?: string | undefined;
  readonly version: string;
  readonly isDeprecated: boolean;
  /** How many times it was downloaded, where that is known. */
  readonly users?: number | undefined;
  readonly run?: Run | undefined;
  /** Why it cannot be added, in one clause, and what a person can do instead; undefined if it can. */
  readonly refusal?: string | undefined;
  readonly inputs: readonly Input[];
  /** The address of the registry, or the path of the catalog. */
  readonly origin: string;
}

/** Thrown while a record is read; the message is the clause of `refusal`. */
export class Unusable extends Error {}

export const MAX_DESCRIPTION_CHARS = 300;
const MAX_TITLE_CHARS = 80;
const MAX_NAME_CHARS = 200;
/** A namespace and a name, or the name in a catalog of Docker. */
const NAME = /^[A-Za-z0-9][A-Za-z0-9._-]*(?:\/[A-Za-z0-9][A-Za-z0-9._-]*)?$/;

export function isName(name: string): boolean {
  return name.length <= MAX_NAME_CHARS && NAME.test(name);
}

/** A title or description as it can be shown: on one line, without hidden characters, cut. */
export function shownText(text: string | undefined, maxChars = MAX_DESCRIPTION_CHARS): string {
  return oneLine((text ?? '').replaceAll(/\s+/g, ' ').trim(), maxChars);
}

export function shownTitle(title: string | undefined): string | undefined {
  const shown = shownText(title, MAX_TITLE_CHARS);
  return shown === '' ? undefined : shown;
}

/** Names that look the same, such as `acme/mail` and `acme/rnail`, have the same text here. */
export function lookOf(name: string): string {
  return name
    .toLowerCase()
    .replaceAll(/[-_.]/g, '')
    .replaceAll('rn', 'm')
    .replaceAll('vv', 'w')
    .replaceAll(/[1il]/g, 'l')
    .replaceAll('0', 'o');
}

/** A template as people read it: `--port <port>`. */
export function showTemplate(template: Template): string {
  return template.map((part) => (typeof part === 'string' ? part : `<${part.input}>`)).join('');
}

/** The inputs that a template contains. */
export function inputsIn(template: Template): string[] {
  return template.flatMap((part) => (typeof part === 'string' ? [] : [part.input]));
}
