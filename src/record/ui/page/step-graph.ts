/**
 * Where the steps of a cell are drawn: each in a layer to the right of those that it follows, and the steps that it did in a frame inside
 * it. Pure. Only earlier steps can be followed and be around a step, so what code says cannot make a circle.
 */
import type { UiStep } from '../schema.ts';
import { formatCount, formatNumberOf } from './format.ts';

/** In pixels. */
export interface StepBox {
  readonly step: UiStep;
  /** The steps that it did. */
  readonly inner: StepGraph | undefined;
  /** The boxes that it follows. */
  readonly from: readonly StepBox[];
  readonly isOnLongest: boolean;
  readonly width: number;
  readonly height: number;
  readonly x: number;
  readonly y: number;
}

export interface StepGraph {
  readonly width: number;
  readonly height: number;
  readonly boxes: readonly StepBox[];
}

export const MAX_DRAWN_STEPS = 200;
/** As in app.css. */
const BOX_HEAD_PX = 62;
const BOX_PX = 188;
const LAYER_GAP_PX = 40;
const ROW_GAP_PX = 12;
const FRAME_PX = 10;

/** Those that run and the last of the others. @param now milliseconds since 1970, until which running steps have taken time. */
export function layOutSteps(all: readonly UiStep[], now: number): StepGraph {
  const drawn = all
    .toSorted((a, b) => Number(b.status === 'running') - Number(a.status === 'running') || b.step - a.step)
    .slice(0, MAX_DRAWN_STEPS)
    .toSorted((a, b) => a.step - b.step);
  const plan = new Plan(drawn);
  const longest = longestChain(plan, now);
  const isTold = longest.size > 1 && longest.size < plan.stepsIn(undefined).length;
  return layOut(plan, undefined, isTold ? longest : new Set());
}

/** Which of the drawn steps belong together. */
class Plan {
  readonly #steps: ReadonlyMap<number, UiStep>;
  readonly #inside = new Map<number | undefined, UiStep[]>();
  readonly #before = new Map<UiStep, readonly UiStep[]>();

  constructor(drawn: readonly UiStep[]) {
    this.#steps = new Map(drawn.map((step) => [step.step, step]));
    for (const step of this.#steps.values()) {
      const around = this.#around(step)?.step;
      this.#inside.set(around, [...this.stepsIn(around), step]);
      this.#before.set(step, [...new Set(step.after.flatMap((number) => this.#beside(step, number) ?? []))]);
    }
  }

  /** The steps that a step did, or the cell itself, in the order of their numbers. */
  stepsIn(around: number | undefined): readonly UiStep[] {
    return this.#inside.get(around) ?? [];
  }

  /** Beside this step, those that it follows, or that are around one that it follows. */
  before(step: UiStep): readonly UiStep[] {
    return this.#before.get(step) ?? [];
  }

  #beside(step: UiStep, number: number): UiStep | undefined {
    let each = number < step.step ? this.#steps.get(number) : undefined;
    while (each !== undefined && this.#around(each) !== this.#around(step)) {
      each = this.#around(each);
    }
    return each;
  }

  #around({ step, within = step }: UiStep): UiStep | undefined {
    return within < step ? this.#steps.get(within) : undefined;
  }
}

function layOut(plan: Plan, around: number | undefined, longest: ReadonlySet<UiStep>): StepGraph {
  const layerOf = new Map<UiStep, number>();
  const layers: Omit<StepBox, 'from' | 'x' | 'y'>[][] = [];
  for (const step of plan.stepsIn(around)) {
    const layer = Math.max(0, ...plan.before(step).map((each) => (layerOf.get(each) ?? 0) + 1));
    layerOf.set(step, layer);
    const inner = plan.stepsIn(step.step).length === 0 ? undefined : layOut(plan, step.step, new Set());
    const box = {
      step,
      inner,
      isOnLongest: longest.has(step),
      width: Math.max(BOX_PX, (inner?.width ?? 0) + 2 * FRAME_PX),
      height: BOX_HEAD_PX + (inner === undefined ? 0 : inner.height + FRAME_PX),
    };
    (layers[layer] ??= []).push(box);
  }
  const heights = layers.map((boxes) => boxes.reduce((sum, { height }) => sum + height + ROW_GAP_PX, -ROW_GAP_PX));
  const height = Math.max(0, ...heights);
  const boxes = new Map<UiStep, StepBox>();
  let x = 0;
  layers.forEach((layer, index) => {
    let y = (height - (heights[index] ?? 0)) / 2;
    for (const box of layer) {
      boxes.set(box.step, { ...box, from: plan.before(box.step).flatMap((each) => boxes.get(each) ?? []), x, y });
      y += box.height + ROW_GAP_PX;
    }
    x += Math.max(...layer.map(({ width }) => width)) + LAYER_GAP_PX;
  });
  return { width: Math.max(0, x - LAYER_GAP_PX), height, boxes: [...boxes.values()] };
}

/** Of the steps that the cell did itself: the last to end, the last to end before that one, and so on. */
function longestChain(plan: Plan, now: number): ReadonlySet<UiStep> {
  const endOf = (step: UiStep): number => Date.parse(step.started) + (timeOf(step, now) ?? 0);
  const chain = new Set<UiStep>();
  for (let steps = plan.stepsIn(undefined); steps.length > 0; ) {
    const last = steps.reduce((latest, step) => (endOf(step) > endOf(latest) ? step : latest));
    chain.add(last);
    steps = plan.before(last);
  }
  return chain;
}

/** How long a step took, or has taken until now. */
export function timeOf({ duration_ms: ms, started, status }: UiStep, now: number): number | undefined {
  return status === 'running' ? Math.max(0, now - Date.parse(started)) : ms;
}

/** What else there is to say of a step, such as `4 of 10 rows, 1 failed`. */
export function detailOf({ exception, rows, rows_ended: ended = 0, rows_failed, status, tries }: UiStep): string {
  const facts = [
    status === 'kept' && 'from an earlier run',
    exception,
    rows !== undefined && (status === 'running' ? `${formatCount(ended)} of ` : '') + formatNumberOf(rows, 'row'),
    rows_failed !== undefined && `${formatCount(rows_failed)} failed`,
    tries !== undefined && formatNumberOf(tries, 'try', 'tries'),
  ];
  return facts.filter(Boolean).join(', ');
}
