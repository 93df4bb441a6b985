/** Savings: tokens with the bridge, beside what the same calls would have cost directly. */
import type { RefObject } from 'preact';
import { useLayoutEffect, useRef, useState } from 'preact/hooks';
import type { UiSavings } from '../../schema.ts';
import { pathTo } from '../api.ts';
import { type ChartBar, type ChartSeries, type ChartSize, layOutBars } from '../bar-layout.ts';
import { formatCount, formatNumberOf, formatShare, formatShortCount } from '../format.ts';
import { Empty, Problem } from '../parts/controls.tsx';
import { DataTable } from '../parts/data-table.tsx';
import { Shown } from '../parts/text.tsx';
import { useLoad } from '../parts/use-load.ts';
import { replaceRoute, route } from '../store.ts';

const SPANS: readonly (readonly [string, string])[] = [
  ['1d', '24 hours'],
  ['7d', '7 days'],
  ['30d', '30 days'],
  ['365d', 'A year'],
];
const SIZE: Omit<ChartSize, 'width'> = { height: 240, left: 48, bottom: 26, top: 12 };
/** Until it is measured. */
const FIRST_WIDTH = 900;
/** More than fit into the chart and a table that someone reads. */
const MAX_SERVERS = 100;

export function SavingsView() {
  const since = route.value.query['since'] ?? '30d';
  const { data, error, reload } = useLoad<UiSavings>(pathTo(['savings'], { since }));
  return (
    <>
      <div class="segmented" role="group" aria-label="Time">
        {SPANS.map(([value, title]) => (
          <button
            key={value}
            type="button"
            aria-pressed={value === since}
            onClick={() => replaceRoute('savings', { since: value })}
          >
            {title}
          </button>
        ))}
      </div>
      {error !== undefined && <Problem error={error} retry={reload} />}
      {data === undefined ? error === undefined && <p class="loading">Counting…</p> : <Savings savings={data} />}
    </>
  );
}

function Savings({ savings }: { readonly savings: UiSavings }) {
  const { calls, days, method, servers } = savings;
  if (calls === 0 && days.length === 0) {
    return (
      <>
        <Empty title="Nothing to count in this time.">Run cells that call servers, or choose a longer time.</Empty>
        <Method method={method} />
      </>
    );
  }
  return (
    <>
      <Summary savings={savings} />
      <section aria-labelledby="per-day">
        <h2 id="per-day">Per day</h2>
        <DayChart days={days} />
        <details>
          <summary>The same as a table</summary>
          <SavingsTable name="Day" rows={days.map((day) => ({ ...day, name: day.day }))} />
        </details>
      </section>
      <section aria-labelledby="per-server">
        <h2 id="per-server">Per server</h2>
        <ServerBars servers={servers.slice(0, MAX_SERVERS)} />
      </section>
      <Method method={method} />
    </>
  );
}

function Summary({ savings }: { readonly savings: UiSavings }) {
  const { bridge, bridge_tokens: with_, calls, direct, direct_tokens: without, saved_tokens: saved } = savings;
  return (
    <>
      <div class="figures">
        <Figure
          label="Saved"
          value={formatCount(saved)}
          note={
            without > 0 && saved > 0 ? `tokens, ${formatShare(saved, without)} of what it would have cost` : 'tokens'
          }
        />
        <Figure label="With the bridge" value={formatCount(with_)} note={partsOf(bridge)} tone="bridge" />
        <Figure label="Directly" value={formatCount(without)} note={partsOf(direct)} tone="direct" />
        <Figure label="Calls counted" value={formatCount(calls)} note={missing(savings)} />
      </div>
    </>
  );
}

function partsOf({ definitions, read, written }: UiSavings['bridge']): string {
  return `definitions ${formatShortCount(definitions)}, written ${formatShortCount(written)}, read ${formatShortCount(read)}`;
}

function missing({ calls_not_counted: calls, results_not_counted: results }: UiSavings): string {
  const parts = [
    ...(calls > 0 ? [`${formatNumberOf(calls, 'call')} not counted`] : []),
    ...(results > 0 ? [`${formatNumberOf(results, 'result')} counted as nothing`] : []),
  ];
  return parts.join(', ') || 'none left out';
}

interface FigureProps {
  readonly label: string;
  readonly value: string;
  readonly note: string;
  readonly tone?: 'bridge' | 'direct';
}

function Figure({ label, note, tone, value }: FigureProps) {
  return (
    <div class={`card figure ${tone ?? ''}`}>
      <p class="figure-label">{label}</p>
      <p class="figure-value">{value}</p>
      <p class="dim">{note}</p>
    </div>
  );
}

function DayChart({ days }: { readonly days: UiSavings['days'] }) {
  const series = [
    { name: 'with the bridge', values: days.map((day) => day.bridge_tokens) },
    { name: 'directly', values: days.map((day) => day.direct_tokens) },
  ];
  const box = useRef<HTMLElement>(null);
  const width = useWidth(box);
  const { bars, labels, ticks } = layOutBars(days.length, series, { ...SIZE, width });
  const [first, last] = [days[0]?.day ?? '', days.at(-1)?.day ?? ''];
  const sums = series.map(
    ({ name, values }) => `${formatCount(values.reduce((sum, value) => sum + value, 0))} ${name}`,
  );
  return (
    <figure class="chart" ref={box}>
      <ul class="legend" aria-hidden="true">
        <li class="bridge">with the bridge</li>
        <li class="direct">directly</li>
      </ul>
      <svg
        viewBox={`0 0 ${width} ${SIZE.height}`}
        role="img"
        aria-label={`Tokens per day from ${first} to ${last}: ${sums.join(', ')} in all. The table below has every value.`}
      >
        {ticks.map(({ value, y }) => (
          <g key={value}>
            <line class="grid" x1={SIZE.left} x2={width} y1={y} y2={y} />
            <text class="y" x={SIZE.left - 8} y={y + 4}>
              {formatShortCount(value)}
            </text>
          </g>
        ))}
        {bars.map((bar) => (
          <DayBar
            key={`${bar.index}/${bar.series}`}
            bar={bar}
            day={days[bar.index]?.day ?? ''}
            series={series[bar.series]}
          />
        ))}
        {labels.map(({ index, x }) => (
          <text key={index} class="x" x={x} y={SIZE.height - 8}>
            {days[index]?.day.slice(5)}
          </text>
        ))}
      </svg>
    </figure>
  );
}

/** Text in the chart keeps its size, so the chart has the width of its place. */
function useWidth(box: RefObject<HTMLElement | null>): number {
  const [width, setWidth] = useState(FIRST_WIDTH);
  useLayoutEffect(() => {
    const svg = box.current?.querySelector('svg');
    if (svg === null || svg === undefined) {
      return undefined;
    }
    const observer = new ResizeObserver(([entry]) =>
      setWidth(Math.max(200, Math.round(entry?.contentRect.width ?? 0))),
    );
    observer.observe(svg);
    return () => observer.disconnect();
  }, []);
  return width;
}

interface DayBarProps {
  readonly bar: ChartBar;
  readonly day: string;
  readonly series: ChartSeries | undefined;
}

function DayBar({ bar: { height, index, series: number, width, x, y }, day, series }: DayBarProps) {
  const name = number === 0 ? 'bridge' : 'direct';
  return (
    <rect class={name} x={x} y={y} width={width} height={height} rx={Math.min(2, width / 4)}>
      <title>{`${day}, ${series?.name ?? ''}: ${formatCount(series?.values[index] ?? 0)} tokens`}</title>
    </rect>
  );
}

function ServerBars({ servers }: { readonly servers: UiSavings['servers'] }) {
  const most = Math.max(1, ...servers.map((each) => Math.max(each.direct_tokens, each.bridge_tokens)));
  return (
    <DataTable
      caption="Tokens per server"
      columns={[
        { title: 'Server' },
        { title: 'Calls', isNumber: true },
        { title: 'With the bridge', isNumber: true },
        { title: 'Directly', isNumber: true },
        { title: 'Saved', isNumber: true },
        { title: 'Compared' },
      ]}
      rows={servers.map(({ bridge_tokens: with_, calls, direct_tokens: without, saved_tokens: saved, server }) => ({
        key: server ?? '',
        cells: [
          server === null ? (
            <span key="none" class="dim">
              no server
            </span>
          ) : (
            <Shown key="name" text={server} />
          ),
          formatCount(calls),
          formatCount(with_),
          formatCount(without),
          formatCount(saved),
          <span key="bars" class="pair" aria-hidden="true">
            <span class="pair-bar bridge" style={{ width: `${(with_ / most) * 100}%` }} />
            <span class="pair-bar direct" style={{ width: `${(without / most) * 100}%` }} />
          </span>,
        ],
      }))}
    />
  );
}

interface SavingsRow {
  readonly name: string;
  readonly calls: number;
  readonly bridge_tokens: number;
  readonly direct_tokens: number;
  readonly saved_tokens: number;
}

function SavingsTable({ name, rows }: { readonly name: string; readonly rows: readonly SavingsRow[] }) {
  return (
    <DataTable
      caption={`Tokens per ${name.toLowerCase()}`}
      columns={[
        { title: name },
        { title: 'Calls', isNumber: true },
        { title: 'With the bridge', isNumber: true },
        { title: 'Directly', isNumber: true },
        { title: 'Saved', isNumber: true },
      ]}
      rows={rows.map((row) => ({
        key: row.name,
        cells: [row.name, ...[row.calls, row.bridge_tokens, row.direct_tokens, row.saved_tokens].map(formatCount)],
      }))}
    />
  );
}

function Method({ method }: { readonly method: readonly string[] }) {
  return (
    <section aria-labelledby="method" class="method">
      <h2 id="method">How it is counted</h2>
      <ul>
        {method.map((sentence) => (
          <li key={sentence}>{sentence}</li>
        ))}
      </ul>
    </section>
  );
}
