/** References to files and commands that stand in an entry, and where. */
import { REFERENCE } from './expand.ts';

/** Where references may stand. */
export interface Holder {
  readonly name: string;
  readonly file: string;
  readonly command?: string | undefined;
  readonly args?: readonly string[] | undefined;
  readonly env?: Readonly<Record<string, string>> | undefined;
  readonly url?: string | undefined;
  readonly headers?: Readonly<Record<string, string>> | undefined;
  readonly oauth?: object | undefined;
  readonly secrets?: readonly string[] | undefined;
}

/** Which kinds of references an entry holds: `file`, `cmd`. */
export function referenceKinds(entry: Holder): ReadonlySet<string> {
  return new Set(placesOf(entry).flatMap(([, text]) => [...text.matchAll(REFERENCE)].map(([, kind = '']) => kind)));
}

/** Every text of an entry that may hold a reference, with its place. */
export function placesOf(entry: Holder): [place: string, text: string][] {
  const { command, args = [], env = {}, url, headers = {}, oauth = {} } = entry;
  const single = Object.entries({ command, url }).filter((pair): pair is [string, string] => pair[1] !== undefined);
  return [
    ...single,
    ...args.map((text, index): [string, string] => [`args[${index}]`, text]),
    ...Object.entries(env).map(([name, text]): [string, string] => [`env.${name}`, text]),
    ...Object.entries(headers).map(([name, text]): [string, string] => [`headers.${name}`, text]),
    ...Object.entries(oauth).flatMap(([name, text]: [string, unknown]): [string, string][] =>
      typeof text === 'string' ? [[`oauth.${name}`, text]] : [],
    ),
  ];
}
