/** Calls of a cell, one row each, with a bar that shows when it ran. */
import type { ComponentChildren } from 'preact';
import { makeVisible } from '../../../../core/catalog/visible.ts';
import { formatDuration, formatNumberOf } from '../format.ts';
import { placeBar, type TimedCall, type TimeSpan, ticksOf } from '../waterfall.ts';
import { Shown } from './text.tsx';
import { VirtualList } from './virtual-list.tsx';

export interface WaterfallCall extends TimedCall {
  readonly key: string;
  readonly server: string;
  readonly tool: string;
  readonly status: string;
  readonly errorCode: string | undefined;
}

const ROW_PX = 26;
const MAX_TICKS = 4;

interface WaterfallProps {
  readonly calls: readonly WaterfallCall[];
  readonly span: TimeSpan;
  readonly label: string;
  readonly follows?: boolean;
}

export function Waterfall({ calls, follows = false, label, span }: WaterfallProps) {
  const header = (
    <div role="rowgroup" class="waterfall-head">
      <div role="row" class="waterfall-row">
        <span role="columnheader" class="waterfall-name">
          Call
        </span>
        <span role="columnheader" class="waterfall-axis">
          <span class="quiet">Time</span>
          <Ticks span={span} />
        </span>
        <span role="columnheader" class="waterfall-time">
          Took
        </span>
      </div>
    </div>
  );
  return (
    <VirtualList
      class="waterfall"
      role="table"
      label={`${label}, ${formatNumberOf(calls.length, 'call')}`}
      count={calls.length}
      rowHeight={ROW_PX}
      header={header}
      follows={follows}
      row={(index) => {
        const call = calls[index];
        return call === undefined ? null : <CallRow key={call.key} call={call} index={index} span={span} />;
      }}
    />
  );
}

function Ticks({ span }: { readonly span: TimeSpan }) {
  const length = span.to - span.from;
  return (
    <span class="ticks" aria-hidden="true">
      {ticksOf(length, MAX_TICKS)
        .filter((at) => at <= length * 0.92)
        .map((at) => (
          <span key={at} class="tick" style={{ left: `${(at / length) * 100}%` }}>
            {formatDuration(at)}
          </span>
        ))}
    </span>
  );
}

interface CallRowProps {
  readonly call: WaterfallCall;
  readonly index: number;
  readonly span: TimeSpan;
}

function CallRow({ call, index, span }: CallRowProps): ComponentChildren {
  const { left, width } = placeBar(call, span);
  const took = call.endedAt === undefined ? 'running' : formatDuration(call.endedAt - call.startedAt);
  const begins = formatDuration(Math.max(0, call.startedAt - span.from));
  const hasFailed = call.status === 'error' || call.status === 'refused';
  const state = makeVisible(call.errorCode ?? (call.status === 'ok' ? '' : call.status.replaceAll('_', ' ')));
  return (
    <div role="row" aria-rowindex={index + 2} class="waterfall-row">
      <span role="cell" class="waterfall-name" title={makeVisible(`${call.server}.${call.tool}`)}>
        <span class="dim">
          <Shown text={call.server} />.
        </span>
        <Shown text={call.tool} />
      </span>
      <span role="cell" class="waterfall-axis">
        <span class="quiet">
          after {begins}
          {state === '' ? '' : `, ${state}`}
        </span>
        <span class={`bar ${call.status}`} style={{ left: `${left}%`, width: `${width}%` }} aria-hidden="true" />
      </span>
      <span role="cell" class={`waterfall-time ${hasFailed ? 'marked' : ''}`} title={state}>
        {hasFailed ? `${took} ✕` : took}
      </span>
    </div>
  );
}
