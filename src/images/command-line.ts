/** `image …`: manages the images of sandboxes. */
import { type Command, InvalidArgumentError, Option } from 'commander';
import { CONTAINER_ENGINE_NAMES } from '../engines/engine.ts';
import { addNotes, jsonOption, type Settle } from '../terminal/define.ts';

export interface ImageCommand {
  readonly command: 'image';
  readonly action: 'list' | 'pull' | 'build' | 'prune';
  readonly engine: (typeof CONTAINER_ENGINE_NAMES)[number] | undefined;
  /** The image to pull; undefined for the image of the settings. */
  readonly image: string | undefined;
  readonly base: string | undefined;
  /** Packages for pip. */
  readonly packages: readonly string[];
  readonly tag: string | undefined;
  readonly isJson: boolean;
}

interface Given {
  readonly engine?: ImageCommand['engine'];
  readonly base?: string;
  readonly packages?: readonly string[];
  readonly dataScience?: true;
  readonly tag?: string;
  readonly json?: true;
}

/** Packages for tables, statistics, charts and documents. */
const DATA_SCIENCE =
  'numpy pandas scipy scikit-learn statsmodels matplotlib seaborn openpyxl pyarrow pillow pypdf pypdfium2 reportlab icalendar python-docx python-pptx sympy lxml tabulate networkx'.split(
    ' ',
  );
/** A PyPI name with optional extras and one version specifier. Strict, because names reach a shell inside the build. */
const PACKAGE = /^[A-Za-z0-9][A-Za-z0-9._-]*(\[[A-Za-z0-9,._-]+\])?([=<>~!]=?[A-Za-z0-9.*+!-]+)?$/;
const TAG = /^[A-Za-z0-9_][A-Za-z0-9._-]{0,127}$/;
const IMAGE = /^[A-Za-z0-9][A-Za-z0-9._/:@-]{0,255}$/;

export function defineImage(program: Command, settle: Settle<ImageCommand>): void {
  const group = program
    .command('image')
    .summary('pull, build and list the images of sandboxes')
    .description(
      'Pull, build and list the images of sandboxes, on podman or docker. Without a subcommand: `image list`.',
    )
    .helpCommand(false);
  const take =
    (action: ImageCommand['action']) =>
    ({ base, dataScience, engine, json, packages = [], tag }: Given, image?: string): void =>
      settle({
        command: 'image',
        action,
        engine,
        image,
        base,
        packages: [...(dataScience === true ? DATA_SCIENCE : []), ...packages],
        tag,
        isJson: json === true,
      });

  subcommand(group, 'list', 'List the image in use and those made by `image build`.').action(take('list'));
  subcommand(group, 'pull', 'Pull the image that sandboxes use, or another one.')
    .argument('[image]', 'name of the image (default: MCP_BRIDGE_IMAGE)', matching(IMAGE, 'the name of an image'))
    .action((image: string | undefined, given: Given) => take('pull')(given, image));
  const build = subcommand(group, 'build', 'Build an image with a faster Python start, and optionally with packages.')
    .option('--packages <names>', 'packages to install with pip, separated by commas', readPackages)
    .option('--data-science', `install ${DATA_SCIENCE.join(', ')}`)
    .option('--base <image>', 'base image (default: python:3.14-slim)', matching(IMAGE, 'the name of an image'))
    .option('--tag <tag>', 'tag of the new image', matching(TAG, 'a tag'))
    .action(take('build'));
  addNotes(build, 'Prints the setting that selects the new image: MCP_BRIDGE_IMAGE=localhost/mcp-bridge-python:TAG.');
  subcommand(group, 'prune', 'Remove images that `image build` made and that are not in use.').action(take('prune'));
}

function subcommand(group: Command, name: string, description: string): Command {
  return group
    .command(name)
    .description(description)
    .addOption(new Option('--engine <engine>', 'engine to use').choices(CONTAINER_ENGINE_NAMES))
    .addOption(jsonOption());
}

function matching(pattern: RegExp, what: string): (text: string) => string {
  return (text) => {
    if (!pattern.test(text)) {
      throw new InvalidArgumentError(`It must be ${what}.`);
    }
    return text;
  };
}

function readPackages(text: string, before: readonly string[] = []): string[] {
  const names = text.split(',').map((name) => name.trim());
  const wrong = names.find((name) => !PACKAGE.test(name));
  if (wrong !== undefined) {
    throw new InvalidArgumentError(`'${wrong}' is not a package name such as numpy or pandas==2.3.1.`);
  }
  return [...before, ...names];
}
