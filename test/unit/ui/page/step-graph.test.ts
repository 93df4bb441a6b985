/** Where the steps of a cell are drawn, also if the sandbox says what cannot be. */
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { detailOf, layOutSteps, MAX_DRAWN_STEPS, type StepGraph } from '../../../../src/record/ui/page/step-graph.ts';
import type { UiStep } from '../../../../src/record/ui/schema.ts';
import { uiSamples } from '../../../support/ui-samples.ts';

const NOW = Date.parse('2026-11-27T10:00:00Z');
const step = (number: number, changes: Partial<UiStep> = {}): UiStep => ({
  step: number,
  name: `step_${number}`,
  after: [],
  started: new Date(NOW - 1_000).toISOString(),
  status: 'ok',
  duration_ms: 10,
  ...changes,
});

/** The numbers in each layer, from left to right. */
function layersOf({ boxes }: StepGraph): number[][] {
  const columns = new Map<number, number[]>();
  for (const { step: each, x } of boxes) {
    columns.set(x, [...(columns.get(x) ?? []), each.step]);
  }
  return [...columns].toSorted(([a], [b]) => a - b).map(([, numbers]) => numbers);
}
const edgesOf = ({ boxes }: StepGraph): string[] =>
  boxes.flatMap(({ from, step: to }) => from.map((box) => `${box.step.step}>${to.step}`));
const numbersOf = ({ boxes }: StepGraph): number[] =>
  boxes.flatMap(({ inner, step: each }) => [each.step, ...(inner === undefined ? [] : numbersOf(inner))]);

describe('the graph', () => {
  it('has a step one layer after the last of those that it follows, by number', () => {
    const steps = [step(4, { after: [2, 3] }), step(3, { after: [1] }), step(2, { after: [1] }), step(1), step(5)];
    const graph = layOutSteps(steps, NOW);
    expect(layersOf(graph)).toEqual([[1, 5], [2, 3], [4]]);
    expect(edgesOf(graph)).toEqual(['1>2', '1>3', '2>4', '3>4']);
  });

  it('has the steps that a step did in its frame, and draws what follows them after the frame', () => {
    const steps = [
      step(1),
      step(2, { after: [1] }),
      step(3, { within: 2, after: [1] }),
      step(4, { within: 2, after: [3] }),
      step(5, { after: [4] }),
    ];
    const graph = layOutSteps(steps, NOW);
    expect([layersOf(graph), edgesOf(graph)]).toEqual([
      [[1], [2], [5]],
      ['1>2', '2>5'],
    ]);
    const frame = graph.boxes.find((box) => box.step.step === 2);
    const inner = frame?.inner as StepGraph;
    expect([layersOf(inner), edgesOf(inner)]).toEqual([[[3], [4]], ['3>4']]);
    expect(frame?.width).toBeGreaterThan(inner.width);
    expect(frame?.height).toBeGreaterThan(inner.height);
  });

  it('begins with steps that follow or are in some that it does not have', () => {
    const graph = layOutSteps([step(8, { after: [2] }), step(9, { within: 3, after: [8] })], NOW);
    expect(layersOf(graph)).toEqual([[8], [9]]);
  });

  it('has those that run and the last of the others', () => {
    const steps = Array.from({ length: 250 }, (_, index) => step(index + 1));
    const graph = layOutSteps([step(1, { status: 'running' }), ...steps.slice(1)], NOW);
    expect(graph.boxes).toHaveLength(MAX_DRAWN_STEPS);
    expect(graph.boxes.slice(0, 2).map((box) => box.step.step)).toEqual([1, 52]);
  });

  it('marks the chain of those that ended last', () => {
    const started = (ms: number): string => new Date(NOW + ms).toISOString();
    const steps = [
      step(1, { started: started(-500), duration_ms: 100 }),
      step(2, { started: started(-400), after: [1], duration_ms: 150 }),
      step(3, { started: started(-400), after: [1], duration_ms: 390 }),
      step(4, { started: started(-10), after: [2, 3], status: 'running' }),
      step(5, { started: started(-500), duration_ms: 450 }),
    ];
    const marked = (all: readonly UiStep[]) =>
      layOutSteps(all, NOW).boxes.flatMap((box) => (box.isOnLongest ? box.step.step : []));
    expect(marked(steps)).toEqual([1, 3, 4]);
    // If there is no other, it says nothing.
    expect(marked(steps.slice(0, 1))).toEqual([]);
    expect(marked([step(1), step(2, { after: [1] })])).toEqual([]);
  });

  it('is empty without steps', () => {
    expect(layOutSteps([], NOW)).toMatchObject({ width: 0, height: 0, boxes: [] });
  });

  it('has each step once, and no box on another, whatever the sandbox says', () => {
    const number = fc.integer({ min: 0, max: 30 });
    const said = fc.record({ after: fc.array(number), within: fc.option(number, { nil: undefined }) });
    fc.assert(
      fc.property(fc.array(said, { maxLength: 25 }), (all) => {
        const steps = all.map(({ after, within }, index) =>
          step(index + 1, { after, ...(within !== undefined && { within }) }),
        );
        const graph = layOutSteps(steps, NOW);
        expect(numbersOf(graph).toSorted((a, b) => a - b)).toEqual(steps.map((each) => each.step));
        expectApart(graph);
      }),
    );
  });
});

function expectApart({ boxes, height, width }: StepGraph): void {
  expect(boxes.flatMap(({ from, x }) => from.filter((box) => box.x + box.width >= x))).toEqual([]);
  boxes.forEach((box, index) => {
    expect(box.x + box.width <= width && box.y >= 0 && box.y + box.height <= height).toBe(true);
    for (const other of boxes.slice(index + 1)) {
      const [left, right] = box.x < other.x ? [box, other] : [other, box];
      const [upper, lower] = box.y < other.y ? [box, other] : [other, box];
      expect(left.x + left.width < right.x || upper.y + upper.height < lower.y).toBe(true);
    }
    if (box.inner !== undefined) {
      expectApart(box.inner);
    }
  });
}

it.each([
  [step(1), ''],
  [step(1, { status: 'running', rows: 10, rows_ended: 4, rows_failed: 1 }), '4 of 10 rows, 1 failed'],
  [step(1, { rows: 10, rows_ended: 10 }), '10 rows'],
  [step(1, { status: 'kept' }), 'from an earlier run'],
  [step(1, { status: 'error', exception: 'KeyError', tries: 3 }), 'KeyError, 3 tries'],
])('of %j it says %j', (each, detail) => {
  expect(detailOf(each)).toBe(detail);
});

it('draws the sample with its nested steps', () => {
  const graph = layOutSteps(uiSamples(NOW).cell.steps ?? [], NOW);
  expect(layersOf(graph)).toEqual([[1], [2, 5, 6], [7], [16]]);
});
