/** Draws how client, bridge, sandbox and servers communicate. */
import { element, MONOSPACE, svgFile, text, type Wording } from './svg.ts';
import type { Theme } from './themes.ts';

interface Part {
  readonly name: string;
  readonly lines: readonly string[];
}

/** What two parts exchange: downwards and upwards. */
interface Exchange {
  readonly down: string;
  readonly up: string;
}

const CLIENT: Part = { name: 'MCP client', lines: ['Claude Code, Cursor, Codex, …'] };
const BRIDGE: Part = { name: 'Bridge', lines: ['on your machine, checks every call'] };
const SANDBOX: Part = {
  name: 'Sandbox',
  lines: ['one Python session', 'no network, no credentials,', 'only the folders you mount'],
};
const SERVERS: Part = {
  name: 'Your MCP servers',
  lines: ['run outside the sandbox,', 'as you, with credentials', 'from their own entries'],
};
const WITH_CLIENT: Exchange = { down: 'run_python', up: 'answer' };
const WITH_SANDBOX: Exchange = { down: 'code', up: 'calls' };
const WITH_SERVERS: Exchange = { down: 'calls', up: 'results' };

export const PARTS_WORDING: Wording = {
  title: 'Client, bridge, sandbox and servers',
  description: [
    'The MCP client sends code to the bridge, which runs it in the sandbox.',
    'Calls from the sandbox go to the bridge, which checks each one and passes it on to your MCP servers.',
  ].join(' '),
};

const WIDTH = 640;
const HEIGHT = 386;
const BOX = { left: 1, wide: WIDTH - 2, narrow: 308 };
const RIGHT_BOX = WIDTH - 1 - BOX.narrow;
const ROWS = { client: 1, bridge: 123, below: 245 };
const FLAT = 64;
const TALL = 140;

export function drawParts(theme: Theme): string {
  return svgFile({ width: WIDTH, height: HEIGHT }, PARTS_WORDING, [
    ...flatBox(CLIENT, ROWS.client, theme),
    ...exchange(WITH_CLIENT, WIDTH / 2, ROWS.client + FLAT, theme),
    ...flatBox(BRIDGE, ROWS.bridge, theme),
    ...exchange(WITH_SANDBOX, BOX.left + BOX.narrow / 2, ROWS.bridge + FLAT, theme),
    ...exchange(WITH_SERVERS, RIGHT_BOX + BOX.narrow / 2, ROWS.bridge + FLAT, theme),
    ...tallBox(SANDBOX, BOX.left, theme, { stroke: theme.low, 'stroke-width': 2, 'stroke-dasharray': '7 5' }),
    ...tallBox(SERVERS, RIGHT_BOX, theme, { stroke: theme.border }),
  ]);
}

/** The name on the left, the description on the right. */
function flatBox({ lines, name }: Part, top: number, theme: Theme): string[] {
  const box = { x: BOX.left, y: top, width: BOX.wide, height: FLAT, rx: 8, fill: theme.panel, stroke: theme.border };
  return [
    element('rect', box),
    text(BOX.left + 22, top + 39, name, { 'font-size': 19, 'font-weight': 600, fill: theme.text }),
    text(WIDTH - 23, top + 39, lines.join(' '), { 'font-size': 17, fill: theme.muted, 'text-anchor': 'end' }),
  ];
}

function tallBox({ lines, name }: Part, left: number, theme: Theme, border: Record<string, string | number>): string[] {
  const box = { x: left, y: ROWS.below, width: BOX.narrow, height: TALL, rx: 8, fill: theme.panel };
  return [
    element('rect', { ...box, ...border }),
    text(left + 22, ROWS.below + 37, name, { 'font-size': 19, 'font-weight': 600, fill: theme.text }),
    ...lines.map((line, index) =>
      text(left + 22, ROWS.below + 67 + index * 25, line, { 'font-size': 17, fill: theme.muted }),
    ),
  ];
}

/** An arrow down and an arrow up, with their labels outside. */
function exchange({ down, up }: Exchange, center: number, top: number, theme: Theme): string[] {
  const [left, right] = [center - 12, center + 12];
  const [start, end] = [top + 8, top + 50];
  const words = { 'font-family': MONOSPACE, 'font-size': 16, fill: theme.text };
  const arrow = { fill: 'none', stroke: theme.muted, 'stroke-width': 2 };
  return [
    element('path', { d: `M${left} ${start}V${end}m-6 -8l6 8l6 -8`, ...arrow }),
    element('path', { d: `M${right} ${end}V${start}m-6 8l6 -8l6 8`, ...arrow }),
    text(left - 16, top + 34, down, { ...words, 'text-anchor': 'end' }),
    text(right + 16, top + 34, up, words),
  ];
}
