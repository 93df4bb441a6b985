/** `image …`: manages the images of sandboxes. */
import { InvalidArgumentError } from 'commander';
import { CONTAINER_ENGINE_NAMES } from '../../core/session/engine.ts';
import {
  action,
  argument,
  choice,
  flag,
  type Group,
  json,
  type LineOf,
  matching,
  option,
  repeated,
} from '../../edges/terminal/define.ts';

/** Packages for tables, statistics, charts and documents. */
export const DATA_SCIENCE =
  'numpy pandas scipy scikit-learn statsmodels matplotlib seaborn openpyxl pyarrow pillow pypdf pypdfium2 reportlab icalendar python-docx python-pptx sympy lxml tabulate networkx'.split(
    ' ',
  );
/** A PyPI name with optional extras and one version specifier. Strict, because names reach a shell inside the build. */
const PACKAGE = /^[A-Za-z0-9][A-Za-z0-9._-]*(\[[A-Za-z0-9,._-]+\])?([=<>~!]=?[A-Za-z0-9.*+!-]+)?$/;
const readTag = matching(/^[A-Za-z0-9_][A-Za-z0-9._-]{0,127}$/, 'a tag');
const readImage = matching(/^[A-Za-z0-9][A-Za-z0-9._/:@-]{0,255}$/, 'the name of an image');

const common = () => ({ engine: choice('--engine <engine>', 'engine to use', CONTAINER_ENGINE_NAMES), isJson: json() });

export const IMAGE = {
  command: 'image',
  summary: 'pull, build and list the images of sandboxes',
  description: 'Pull, build and list the images of sandboxes, on podman or docker.',
  defaultAction: 'list',
  actions: () => ({
    list: action('List the image in use and those made by `image build`.', common()),
    pull: action('Pull the image that sandboxes use, or another one.', {
      ...common(),
      image: argument('[image]', 'name of the image (default: MCP_BRIDGE_IMAGE)', readImage),
    }),
    build: action(
      'Build an image with a faster Python start, and optionally with packages.',
      {
        ...common(),
        packages: repeated('--packages <names>', 'packages to install with pip, separated by commas', readPackages),
        isForDataScience: flag('--data-science', `install ${DATA_SCIENCE.join(', ')}`),
        base: option('--base <image>', 'base image (default: python:3.14-slim)', readImage),
        tag: option('--tag <tag>', 'tag of the new image', readTag),
      },
      { notes: 'Prints the setting that selects the new image: MCP_BRIDGE_IMAGE=localhost/mcp-bridge-python:TAG.' },
    ),
    prune: action('Remove images that `image build` made and that are not in use.', common()),
  }),
} as const satisfies Group;

export type ImageCommand = LineOf<typeof IMAGE>;

function readPackages(text: string): string[] {
  const names = text.split(',').map((name) => name.trim());
  const wrong = names.find((name) => !PACKAGE.test(name));
  if (wrong !== undefined) {
    throw new InvalidArgumentError(`'${wrong}' is not a package name such as numpy or pandas==2.3.1.`);
  }
  return names;
}
