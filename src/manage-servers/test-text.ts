/** What `servers test` prints for people: a line for each server, and below it why one failed and the next step. */
import { escapeControls } from '../base/log.ts';
import type { ServerTest, StepReport } from '../directory/server-test.ts';
import { countOf } from '../terminal/table.ts';

export function renderTests(tests: readonly ServerTest[], nothing: string): string {
  if (tests.length === 0) {
    return `${nothing}\n`;
  }
  const width = Math.max(...tests.map(({ name }) => name.length));
  return tests.map((one) => renderTest(one, width)).join('');
}

function renderTest({ name, steps, error, notices, ...facts }: ServerTest, width: number): string {
  const shown = escapeControls(name).padEnd(width);
  const times = steps.map(renderStep).join(', ');
  if (error === null) {
    const lines = [
      `${shown}  ok      ${describe(facts)}: ${times}`,
      ...notices.map((notice) => `  note: ${escapeControls(notice)}`),
    ];
    return `${lines.join('\n')}\n`;
  }
  const why = error.message.split('\n').map((line) => `  ${escapeControls(line)}`);
  const hint = error.hint === undefined ? [] : [`  → ${escapeControls(error.hint)}`];
  return `${[`${shown}  failed  ${times}`, ...why, ...hint].join('\n')}\n`;
}

function renderStep({ step, isDone, ms }: StepReport): string {
  return isDone ? `${step} ${milliseconds(ms)}` : `${step} failed after ${milliseconds(ms)}`;
}

function describe({
  tools,
  protocolVersion,
  serverVersion,
}: Pick<ServerTest, 'tools' | 'protocolVersion' | 'serverVersion'>): string {
  const parts = [
    countOf(tools ?? 0),
    ...(protocolVersion === null ? [] : [`MCP ${protocolVersion}`]),
    ...(serverVersion === null ? [] : [`version ${serverVersion}`]),
  ];
  return escapeControls(parts.join(', '));
}

function milliseconds(ms: number): string {
  return `${ms.toLocaleString('en-US')} ms`;
}
