/** Steps of a cell as a graph: boxes are nested lists, which screen readers read, over a picture of arrows. */
import { makeVisible } from '../../../../core/catalog/visible.ts';
import type { UiStep } from '../../schema.ts';
import { formatDuration, formatNumberOf } from '../format.ts';
import { detailOf, layOutSteps, MAX_DRAWN_STEPS, type StepBox, type StepGraph, timeOf } from '../step-graph.ts';
import { Status } from './controls.tsx';
import { Shown } from './text.tsx';

interface StepsProps {
  readonly steps: readonly UiStep[];
  /** Milliseconds since 1970, for steps that run. */
  readonly now: number;
  /** Steps of which nothing else is known. */
  readonly leftOut?: number;
}

export function StepsGraph({ leftOut = 0, now, steps }: StepsProps) {
  const graph = layOutSteps(steps, now);
  const missing = Math.max(0, steps.length - MAX_DRAWN_STEPS) + leftOut;
  return (
    <>
      {missing > 0 && <p class="note">Not drawn: {formatNumberOf(missing, 'earlier step')}.</p>}
      <div class="step-graph" tabIndex={0} role="group" aria-label={`Graph of ${formatNumberOf(steps.length, 'step')}`}>
        <Graph graph={graph} now={now} />
      </div>
      {graph.boxes.some(({ isOnLongest }) => isOnLongest) && <p class="dim">Thick: the chain that took longest.</p>}
    </>
  );
}

/** How many there are, run and failed, on one line. */
export function stepsSummary(steps: readonly UiStep[]): string {
  const count = (status: UiStep['status']): number => steps.filter((step) => step.status === status).length;
  const [running, failed] = [count('running'), count('error')];
  const facts = [
    formatNumberOf(steps.length, 'step'),
    running > 0 && `${running} running`,
    failed > 0 && `${failed} failed`,
  ];
  return facts.filter(Boolean).join(', ');
}

function Graph({ graph: { boxes, height, width }, now }: { readonly graph: StepGraph; readonly now: number }) {
  return (
    <div class="step-layer" style={{ width: `${width}px`, height: `${height}px` }}>
      <svg width={width} height={height} aria-hidden="true">
        {boxes.map((box) => box.from.length > 0 && <Arrows key={box.step.step} to={box} />)}
      </svg>
      <ul>
        {boxes.map((box) => (
          <Box key={box.step.step} box={box} now={now} />
        ))}
      </ul>
    </div>
  );
}

/** All that lead to one box, with one head. */
function Arrows({ to }: { readonly to: StepBox }) {
  const [x, y] = [to.x, to.y + to.height / 2];
  const lines = (boxes: readonly StepBox[]): string =>
    boxes.reduce(
      (path, box) => {
        const [left, top] = [box.x + box.width, box.y + box.height / 2];
        const middle = (left + x) / 2;
        return `${path}M${left} ${top}C${middle} ${top} ${middle} ${y} ${x - 1} ${y}`;
      },
      `M${x - 7} ${y - 4}L${x - 1} ${y}l-6 4`,
    );
  const longest = to.isOnLongest ? to.from.filter(({ isOnLongest }) => isOnLongest) : [];
  return (
    <>
      <path class="step-arrow" d={lines(to.from)} />
      {longest.length > 0 && <path class="step-arrow longest" d={lines(longest)} />}
    </>
  );
}

function Box({ box, now }: { readonly box: StepBox; readonly now: number }) {
  const { height, inner, isOnLongest, step, width, x, y } = box;
  const detail = detailOf(step);
  return (
    <li
      class={isOnLongest ? 'step-box longest' : 'step-box'}
      style={{ left: `${x}px`, top: `${y}px`, width: `${width}px`, height: `${height}px` }}
      title={makeVisible([step.name, ...(detail === '' ? [] : [detail])].join('\n'))}
    >
      <div class="step-head">
        <p>
          <span class="quiet">Step {step.step}: </span>
          <code>
            <Shown text={step.name} />
          </code>
        </p>
        <p>
          <Status status={step.status} />
          <span class="step-time">{formatDuration(timeOf(step, now))}</span>
        </p>
        {detail !== '' && (
          <p class="dim">
            <Shown text={detail} />
          </p>
        )}
        {step.after.length > 0 && <p class="quiet">after {step.after.map((each) => `step ${each}`).join(', ')}</p>}
      </div>
      {inner !== undefined && <Graph graph={inner} now={now} />}
    </li>
  );
}
