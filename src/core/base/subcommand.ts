/** The subcommands of a program that is used like a server: what an entry declares, and how its arguments are written. */
import type { JsonObject } from './is-object.ts';

/** A tool whose call runs the program once. */
export interface Subcommand {
  readonly description?: string | undefined;
  /** What follows the arguments of the entry, in this order. */
  readonly args: readonly SubcommandArgument[];
  /** By name, JSON Schema with one key more: `mayBeginWithDash`. */
  readonly parameters: Readonly<Record<string, JsonObject>>;
  /** The parameter that is given on standard input. Default: an empty input. */
  readonly stdin?: string | undefined;
  /** Whether it changes nothing. */
  readonly readOnly: boolean;
}

/**
 * A text is one argument; `{name}` in it stands for a parameter, `{{` and `}}` for braces. A list is left out as a whole if
 * one of its parameters is missing, and repeated for each element of a parameter that is a list. A flag is an argument that
 * is there if a parameter is true.
 */
export type SubcommandArgument = string | readonly string[] | { readonly flag: string; readonly if: string };

/** A part of an argument: text, or the name of a parameter. */
export type TemplatePart = { readonly text: string } | { readonly parameter: string };

/** The parts of an argument, in order. Braces around anything but a name are text. */
export function templateParts(template: string): readonly TemplatePart[] {
  const pieces = template.match(/\{\{|\}\}|\{[A-Za-z_]\w*\}|[^{}]+|[{}]/g) ?? [];
  return pieces.map((piece) => {
    const [, parameter] = /^\{(\w+)\}$/.exec(piece) ?? [];
    return parameter === undefined ? { text: piece.replace(/^([{}])\1$/, '$1') } : { parameter };
  });
}

/** The parameters that an argument needs. */
export function parametersIn(templates: readonly string[]): readonly string[] {
  return templates.flatMap(templateParts).flatMap((part) => ('parameter' in part ? [part.parameter] : []));
}
