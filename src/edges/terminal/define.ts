/**
 * Defines commands as tables. One list of fields makes what the library reads, the help, docs/reference/commands.md, and the type of
 * the parsed line. Tables are made by functions, so that only a start that reads a command line makes them.
 */
import { Argument, InvalidArgumentError, Option, type Command as Program } from 'commander';
import { parseDurationMs } from '../../core/base/units.ts';
import { TOKEN_NAME } from '../../core/state/principals.ts';

export { COMMAND_NAME, SHORT_NAME } from '../../core/base/package.ts';

/** Receives the parsed command line; called once. */
export type Settle<Line> = (line: Line) => void;

/** A field of a parsed line: what people type for it, and what the line has. */
export interface Field<Value> {
  readonly usage: Argument | Option;
  /** The option that says no. */
  readonly opposite?: Option;
  /** Of what the library has read; that is undefined if it was not given. */
  readonly read: (given: unknown) => Value;
}

/** By their names in the line. Arguments and the help are in the same order. */
type Fields = Readonly<Record<string, Field<unknown>>>;

type ValuesOf<Given extends Fields> = {
  readonly [Name in keyof Given]: Given[Name] extends Field<infer Value> ? Value : never;
};

/** What a command or subcommand does, and what is typed after its name. */
interface Action<Given extends Fields = Fields> extends ActionExtras<Given> {
  readonly description: string;
  readonly fields: Given;
}

interface ActionExtras<Given extends Fields> {
  /** Instead of the description, in the list of commands. */
  readonly summary?: string;
  /** Text below the options, such as exit codes and examples. Indented lines are code; the help wraps the others. */
  readonly notes?: string;
  /** Refuses what no field can refuse alone: throws, or calls `error` of the definition. */
  check?(values: ValuesOf<Given>, definition: Program): void | Promise<void>;
  /** Changes settings of the library for this command. */
  refine?(definition: Program): void;
}

export function action<Given extends Fields>(
  description: string,
  fields: Given,
  extras: ActionExtras<Given> = {},
): Action<Given> {
  return { description, fields, ...extras };
}

/** A command with subcommands. Each has the option `--json`, last if it does not list it. */
export interface Group {
  /** `command` in the line, and the word that is typed if there is no other. */
  readonly command: string;
  readonly word?: string;
  readonly alias?: string;
  readonly summary: string;
  readonly description: string;
  readonly defaultAction: string;
  readonly actions: () => Readonly<Record<string, Action>>;
}

/** A command without subcommands. */
export interface Single {
  /** `command` in the line, and the word that is typed if there are no places. */
  readonly command: string;
  /** The words that are typed. After the first place, they are names that it had before, which no help shows. */
  readonly places?: readonly (readonly string[])[];
  readonly action: () => Action;
}

/** The parsed lines of a group or a command. */
export type LineOf<Table extends Group | Single> = Table extends Group
  ? ActionLines<Table['command'], ReturnType<Table['actions']>>
  : Table extends Single
    ? { readonly command: Table['command'] } & ValuesOf<ReturnType<Table['action']>['fields']>
    : never;

type ActionLines<Name extends string, Actions extends Readonly<Record<string, Action>>> = {
  [Word in keyof Actions & string]: {
    readonly command: Name;
    readonly action: Word;
    readonly isJson: boolean;
  } & ValuesOf<Actions[Word]['fields']>;
}[keyof Actions & string];

/** Adds a table to the program, which then passes what was typed to `settle`. */
export function define(program: Program, table: Group | Single, settle: Settle<{ readonly command: string }>): void {
  const { command } = table;
  if (!('actions' in table)) {
    const { places = [[command]] } = table;
    for (const [index, place] of places.entries()) {
      defineAction(addAt(program, place, index > 0), table.action(), (values) => settle({ command, ...values }));
    }
    return;
  }
  const { word = command, alias, defaultAction, description, summary } = table;
  const group = program
    .command(word)
    .summary(summary)
    .description(`${description} Without a subcommand: \`${word} ${defaultAction}\`.`)
    .helpCommand(false);
  if (alias !== undefined) {
    group.alias(alias);
  }
  for (const [name, { fields, ...rest }] of Object.entries(table.actions())) {
    const withJson = { ...rest, fields: 'isJson' in fields ? fields : { ...fields, isJson: json() } };
    defineAction(group.command(name), withJson, (values) => {
      const line = { command, action: name, ...values };
      settle(line);
    });
  }
}

/** The default subcommand of each group, by the words that name the group. */
export function defaultActions(tables: readonly (Group | Single)[]): ReadonlyMap<string, string> {
  return new Map(
    tables.flatMap((table) => {
      if ('actions' in table) {
        const { alias, command, defaultAction, word = command } = table;
        return [word, ...(alias === undefined ? [] : [alias])].map((name) => [name, defaultAction] as const);
      }
      // A group that a former place made has nothing else.
      const [, ...former] = table.places ?? [];
      return former.flatMap(([name = '', word]) => (word === undefined ? [] : [[name, word] as const]));
    }),
  );
}

/** Groups on the way are those of other tables, or hidden. */
function addAt(program: Program, place: readonly string[], isFormer: boolean): Program {
  const words = place.slice();
  const last = words.pop() ?? '';
  const group = words.reduce(
    (at, word) =>
      at.commands.find((one) => one.name() === word) ?? at.command(word, { hidden: isFormer }).helpCommand(false),
    program,
  );
  return group.command(last, { hidden: isFormer && group === program });
}

function defineAction(
  definition: Program,
  { check, description, fields, notes, refine, summary }: Action,
  take: (values: object) => void,
): void {
  const entries = Object.entries(fields);
  definition.description(description);
  if (summary !== undefined) {
    definition.summary(summary);
  }
  for (const [, { opposite, usage }] of entries) {
    if (usage instanceof Argument) {
      definition.addArgument(usage);
      continue;
    }
    for (const one of [usage, opposite]) {
      if (one !== undefined) {
        definition.addOption(one);
      }
    }
  }
  refine?.(definition);
  definition.action(async () => {
    const options = definition.opts<Record<string, unknown>>();
    const words: unknown[] = definition.processedArgs.slice();
    const values = Object.fromEntries(
      entries.map(([name, { read, usage }]) => [
        name,
        read(usage instanceof Option ? options[usage.attributeName()] : words.shift()),
      ]),
    );
    await check?.(values, definition);
    take(values);
  });
  if (notes !== undefined) {
    addNotes(definition, notes);
  }
}

/** What the brackets and dots around a name say about its value. */
type Typed<Usage extends string, Value> = Usage extends `${string}...${string}`
  ? readonly Value[]
  : Usage extends `<${string}`
    ? Value
    : Value | undefined;

/** A positional argument: `<one>`, `[one]`, `<several...>` or `[several...]`. */
export function argument<const Usage extends string>(usage: Usage, what: string): Field<Typed<Usage, string>>;
export function argument<const Usage extends string, Value>(
  usage: Usage,
  what: string,
  parse: (text: string) => Value,
): Field<Typed<Usage, Value>>;
export function argument(usage: string, what: string, parse?: (text: string) => unknown): Field<unknown> {
  const typed = new Argument(usage, what);
  if (parse !== undefined) {
    typed.argParser<unknown>((text, before) =>
      typed.variadic ? [...((before ?? []) as readonly unknown[]), parse(text)] : parse(text),
    );
  }
  return { usage: typed, read: (given) => given };
}

/** An option with a value. */
export function option(usage: string, what: string): Field<string | undefined>;
export function option<Value>(usage: string, what: string, parse: (text: string) => Value): Field<Value | undefined>;
export function option<Value>(
  usage: string,
  what: string,
  parse: (text: string) => Value,
  otherwise: Value,
): Field<Value>;
export function option(
  usage: string,
  what: string,
  parse?: (text: string) => unknown,
  otherwise?: unknown,
): Field<unknown> {
  const typed = new Option(usage, what);
  if (parse !== undefined) {
    typed.argParser(parse);
  }
  return { usage: typed, read: (given) => given ?? otherwise };
}

/** An option without which the command is refused. */
export function required(usage: string, what: string): Field<string> {
  return { usage: new Option(usage, what).makeOptionMandatory(), read: String };
}

/** An option with one of several values. The help names the value that it has otherwise. */
export function choice<const Value extends string>(
  usage: string,
  what: string,
  values: readonly Value[],
): Field<Value | undefined>;
export function choice<const Value extends string>(
  usage: string,
  what: string,
  values: readonly Value[],
  otherwise: NoInfer<Value>,
): Field<Value>;
export function choice(usage: string, what: string, values: readonly string[], otherwise?: string): Field<unknown> {
  return { usage: new Option(usage, what).choices(values).default(otherwise), read: (given) => given };
}

/** An option that may be repeated. A value may stand for several. */
export function repeated(
  usage: string,
  what: string,
  parse: (text: string) => readonly string[] = (text) => [text],
): Field<readonly string[]> {
  const typed = new Option(usage, what).argParser((text, before?: readonly string[]) => [
    ...(before ?? []),
    ...parse(text),
  ]);
  return { usage: typed, read: (given = []) => given as readonly string[] };
}

/** An option without a value. */
export function flag(usage: string, what: string): Field<boolean> {
  return { usage: new Option(usage, what), read: (given) => given === true };
}

/** An option `--no-…`: true unless it is given. */
export function unless(usage: string, what: string): Field<boolean> {
  return { usage: new Option(usage, what), read: (given) => given !== false };
}

/** For commands whose output a program may want to read. */
export function json(): Field<boolean> {
  return flag('--json', 'print JSON');
}

/** Whose part of something a command is about. */
export function principal(what: string): Field<string | undefined> {
  return option('--for <principal>', what, (text) => {
    // An address is what OAuth calls someone.
    if (!TOKEN_NAME.test(text) && !/^https?:\/\/\P{Cc}{1,1000}$/u.test(text)) {
      throw new InvalidArgumentError('It must be the name of a token, or a principal as in the audit log.');
    }
    return text;
  });
}

/** A parser of text of a form; `what` describes it in the error, such as `the name of an image`. */
export function matching(form: RegExp, what: string): (text: string) => string {
  return (text) => {
    if (!form.test(text)) {
      throw new InvalidArgumentError(`It must be ${what}.`);
    }
    return text;
  };
}

/** A parser of whole numbers from `min` to `max`; `what` describes them in the error, such as `a whole number of seconds`. */
export function wholeNumber(what: string, min: number, max: number): (text: string) => number {
  return (text) => {
    const value = Number(text);
    if (!/^\d+$/.test(text) || value < min || value > max) {
      throw new InvalidArgumentError(`It must be ${what}.`);
    }
    return value;
  };
}

/** A parser of durations from `minMs` to `maxMs`, in milliseconds; `what` describes them in the error, such as `a duration`. */
export function duration(what: string, minMs: number, maxMs: number): (text: string) => number {
  return (text) => {
    const ms = parseDurationMs(text);
    if (!(ms >= minMs && ms <= maxMs)) {
      throw new InvalidArgumentError(`It must be ${what}.`);
    }
    return ms;
  };
}

/** What `pointInTime` reads, for the help of an option. */
export const POINT_IN_TIME = '30m, 2h, 7d, or a time such as 2026-11-21 or 2026-11-21T17:00Z';

/** A point in time, or a duration before now; in milliseconds since 1970. */
export function pointInTime(text: string): number {
  const agoMs = parseDurationMs(text);
  const timeMs = Number.isNaN(agoMs) ? Date.parse(text) : Date.now() - agoMs;
  if (Number.isNaN(timeMs) || timeMs < 0) {
    throw new InvalidArgumentError(
      'It must be a duration such as 30m, 2h or 7d, or a date or time such as 2026-11-21.',
    );
  }
  return timeMs;
}

const notesByCommand = new WeakMap<Program, string>();

/** Adds text below the options in `--help` and in docs/reference/commands.md. */
export function addNotes(command: Program, text: string): void {
  notesByCommand.set(command, text);
  const lines = text.split('\n').map((line) => (line.startsWith('    ') ? line : wrap(line)));
  command.addHelpText('after', `\n${lines.join('\n')}`);
}

const LINE_CHARS = 80;

function wrap(text: string): string {
  const lines = [''];
  for (const word of text.split(' ')) {
    const line = lines.at(-1) === '' ? word : `${lines.at(-1)} ${word}`;
    if (line.length > LINE_CHARS) {
      lines.push(word);
    } else {
      lines[lines.length - 1] = line;
    }
  }
  return lines.join('\n');
}

export function notesOf(command: Program): string | undefined {
  return notesByCommand.get(command);
}
