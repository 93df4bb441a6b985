/** History: cells, calls and events of the audit log, newest first. */
import { useEffect, useMemo, useState } from 'preact/hooks';
import type { UiHistory, UiHistoryItem } from '../../schema.ts';
import { explainFailure, get, pathTo } from '../api.ts';
import { formatCount, formatDuration, formatNumberOf, formatWhen } from '../format.ts';
import { Empty, Problem, Status } from '../parts/controls.tsx';
import { Shown } from '../parts/text.tsx';
import { useLoad } from '../parts/use-load.ts';
import { formatRoute, type Route } from '../route.ts';
import { neighboursOf, spanOfRun, statusesOf } from '../runs.ts';
import { clock, notify, replaceRoute, route } from '../store.ts';

const PAGE = '100';
/** More rows than anyone reads; a search finds what is older. */
const MAX_ITEMS = 2_000;
const TYPING_MS = 250;
const DAY_MS = 24 * 3_600_000;
const SPANS: readonly (readonly [string, string])[] = [
  ['', 'Any time'],
  ['1', 'Last 24 hours'],
  ['7', 'Last 7 days'],
  ['30', 'Last 30 days'],
];
const STATUSES = [
  // Every one that is no success.
  'failed',
  'success',
  'error',
  'timeout',
  'cancelled',
  'validation_error',
  'running',
  'ok',
  'refused',
  'dry_run',
  'started',
  'lost',
];
const KINDS: readonly (readonly [string, string])[] = [
  ['', 'Cells'],
  ['call', 'Calls'],
  ['event', 'Other events'],
  ['all', 'Everything'],
];
/** No cell has these. */
const STATUSES_OF_OTHERS = ['ok', 'refused', 'dry_run', 'started', 'lost'];

export function HistoryView() {
  const { query } = route.value;
  // "The last 7 days" are those before the search: otherwise the older pages would be gone a minute later.
  const path = useMemo(() => searchPath(query), [query]);
  const { data, error, isLoading, reload } = useLoad<UiHistory>(path);
  const more = useMore(path, data);
  return (
    <>
      <Filters query={query} />
      {error !== undefined && <Problem error={error} retry={reload} />}
      {data !== undefined && (
        <>
          <p class="dim result-line" role="status">
            {isLoading ? 'Searching…' : describe(data, more.items.length, more.next !== undefined)}
          </p>
          {data.unreadable.map((problem) => (
            <p key={problem} class="note">
              <Shown text={problem} />
            </p>
          ))}
          {more.items.length === 0 ? <NothingFound query={query} total={data.total} /> : <Items items={more.items} />}
          {more.next !== undefined && (
            <button type="button" class="button" onClick={more.load}>
              Show older ones
            </button>
          )}
        </>
      )}
      {data === undefined && error === undefined && <p class="loading">Reading the audit log…</p>}
    </>
  );
}

function searchPath(query: Route['query']): string {
  const days = Number(query['days'] ?? '');
  const since = days > 0 ? new Date(Date.now() - days * DAY_MS).toISOString() : '';
  const { days: _days, ...filters } = query;
  const kind = kindIn(query);
  return pathTo(['history'], { ...filters, kind: kind === 'all' ? '' : kind, since, limit: PAGE });
}

/** Cells have all else behind them, so they are what is shown first. */
function kindIn({ kind, status = '' }: Route['query']): string {
  return kind ?? (STATUSES_OF_OTHERS.includes(status) ? 'all' : 'cell');
}

function describe({ bad_lines: bad, took_ms: took, total }: UiHistory, shown: number, hasMore: boolean): string {
  const parts = [
    `${hasMore ? 'The newest ' : ''}${formatCount(shown)} of ${formatCount(total)} in the log, found in ${formatDuration(took)}`,
    ...(bad > 0 ? [`${formatNumberOf(bad, 'line')} cannot be read`] : []),
  ];
  return `${parts.join('; ')}.`;
}

interface More {
  readonly items: readonly UiHistoryItem[];
  readonly next: string | undefined;
  readonly load: () => void;
}

/** The first page, and those that were asked for since. */
function useMore(path: string, data: UiHistory | undefined): More {
  const [older, setOlder] = useState<{ readonly items: readonly UiHistoryItem[]; readonly next: string | undefined }>();
  useEffect(() => setOlder(undefined), [path, data]);
  const items = [...(data?.items ?? []), ...(older?.items ?? [])];
  const next = items.length >= MAX_ITEMS ? undefined : older === undefined ? data?.next : older.next;
  const load = (): void => {
    get<UiHistory>(`${path}&${new URLSearchParams({ cursor: next ?? '' }).toString()}`).then(
      (page) => setOlder({ items: [...(older?.items ?? []), ...page.items], next: page.next }),
      (error: unknown) => notify(explainFailure(error), true),
    );
  };
  return { items, next, load };
}

function NothingFound({ query, total }: { readonly query: Route['query']; readonly total: number }) {
  if (Object.keys(query).length > 0) {
    return (
      <Empty title="Nothing matches.">
        Use fewer words or filters
        {kindIn(query) === 'cell' && (
          <>
            , or <a href={formatRoute('history', { ...query, kind: 'all' })}>search calls and events, too</a>
          </>
        )}
        . <a href={formatRoute('history')}>Show all cells</a>
      </Empty>
    );
  }
  return total > 0 ? null : (
    <Empty title="The audit log is empty.">
      Run a cell, and it appears here: <a href={formatRoute('now')}>Now</a> says how. If it does not, look at{' '}
      <code>MCP_BRIDGE_AUDIT</code>, which may be off.
    </Empty>
  );
}

function Filters({ query }: { readonly query: Route['query'] }) {
  const change = (name: string, value: string): void => {
    const { [name]: _old, ...others } = route.value.query;
    replaceRoute('history', value === '' ? others : { ...others, [name]: value });
  };
  const statuses = STATUSES.map((status): [string, string] => [
    status,
    status === 'failed' ? 'any failure' : status.replaceAll('_', ' '),
  ]);
  const filter = { query, change };
  return (
    <form class="filters" role="search" aria-label="Search the history" onSubmit={(event) => event.preventDefault()}>
      <TypedFilter name="text" label="Text" placeholder="Code, errors, names" {...filter} />
      <TypedFilter name="server" label="Server" {...filter} />
      <TypedFilter name="tool" label="Tool" {...filter} />
      <SelectFilter name="status" label="Status" options={[['', 'Any'], ...statuses]} {...filter} />
      <SelectFilter name="kind" label="Kind" options={KINDS} {...filter} />
      <SelectFilter name="days" label="Time" options={SPANS} {...filter} />
      {query['session'] !== undefined && (
        <button type="button" class="button" onClick={() => change('session', '')}>
          Session <Shown text={query['session']} /> ✕<span class="quiet"> remove this filter</span>
        </button>
      )}
    </form>
  );
}

interface FilterProps {
  readonly name: string;
  readonly label: string;
  readonly query: Route['query'];
  readonly change: (name: string, value: string) => void;
}

/** Searches a moment after the last key. */
function TypedFilter({ change, label, name, placeholder, query }: FilterProps & { readonly placeholder?: string }) {
  const given = query[name] ?? '';
  const [text, setText] = useState(given);
  // The address has changed: by a link, or by Back.
  useEffect(() => setText((old) => (old.trim() === given ? old : given)), [given]);
  useEffect(() => {
    const timer = window.setTimeout(() => {
      if (text.trim() !== (route.value.query[name] ?? '')) {
        change(name, text.trim());
      }
    }, TYPING_MS);
    return () => window.clearTimeout(timer);
  }, [text]);
  const isMain = name === 'text';
  return (
    <label class={isMain ? 'grow' : ''}>
      <span>{label}</span>
      <input
        type="search"
        id={isMain ? 'search' : undefined}
        value={text}
        placeholder={placeholder}
        autocomplete="off"
        spellcheck={false}
        size={12}
        onInput={(event) => setText(event.currentTarget.value)}
      />
    </label>
  );
}

function SelectFilter({
  change,
  label,
  name,
  options,
  query,
}: FilterProps & { readonly options: readonly (readonly [string, string])[] }) {
  return (
    <label>
      <span>{label}</span>
      <select value={query[name] ?? ''} onChange={(event) => change(name, event.currentTarget.value)}>
        {options.map(([value, title]) => (
          <option key={value} value={value}>
            {title}
          </option>
        ))}
      </select>
    </label>
  );
}

function Items({ items }: { readonly items: readonly UiHistoryItem[] }) {
  return (
    <div class="table-box">
      <table class="history">
        <caption class="quiet">Cells, calls and events, newest first</caption>
        <thead>
          <tr>
            <th scope="col">When</th>
            <th scope="col">What</th>
            <th scope="col">Client and session</th>
            <th scope="col">Status</th>
            <th scope="col" class="number">
              Took
            </th>
          </tr>
        </thead>
        <tbody>
          {neighboursOf(items, (item) =>
            item.kind === 'call' ? JSON.stringify([item.cell, item.server, item.tool]) : undefined,
          ).map((run) => (
            <ItemRow key={keyOf(run[0])} run={run} />
          ))}
        </tbody>
      </table>
    </div>
  );
}

function keyOf(item: UiHistoryItem): string {
  return item.kind === 'event' ? `${item.at}${item.type}${item.summary}` : item.id;
}

/** A cell, an event, a call, or the calls of a loop. */
function ItemRow({ run }: { readonly run: readonly [UiHistoryItem, ...UiHistoryItem[]] }) {
  const [item] = run;
  const calls = run.filter((each) => each.kind === 'call');
  const statuses = calls.length > 1 ? statusesOf(calls) : [];
  const { endedAt, startedAt } = spanOfRun(calls);
  return (
    <tr class={item.kind}>
      <td class="when">
        <time dateTime={item.at}>{formatWhen(item.at, clock.peek())}</time>
      </td>
      <td class="what">
        <What item={item} />
        {calls.length > 1 && <CallsOfRun calls={calls} />}
      </td>
      <td class="where">
        <Where item={item} />
      </td>
      <td>
        {statuses.length === 0 && item.status !== '' && <Status status={item.status} />}
        {statuses.map(([status, count]) => (
          <Status key={status} status={`${formatCount(count)} ${status}`} of={status} />
        ))}
        {statuses.length === 0 && item.kind !== 'event' && item.error_code !== undefined && (
          <span class="dim error-code">
            <Shown text={item.error_code} />
          </span>
        )}
      </td>
      <td class="number">
        {item.kind === 'event' ? '' : formatDuration(calls.length > 1 ? endedAt - startedAt : item.duration_ms)}
      </td>
    </tr>
  );
}

function CallsOfRun({ calls }: { readonly calls: readonly Extract<UiHistoryItem, { kind: 'call' }>[] }) {
  const [isOpen, setOpen] = useState(false);
  return (
    <details onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>{formatNumberOf(calls.length, 'call')}</summary>
      {isOpen && (
        <ul>
          {calls.map(({ at, duration_ms: duration, error_code: code = '', id, status }) => (
            <li key={id}>
              <time dateTime={at}>{formatWhen(at, clock.peek())}</time> <Status status={status} />{' '}
              {formatDuration(duration)} <Shown text={code} />
            </li>
          ))}
        </ul>
      )}
    </details>
  );
}

/** Whose it is: the principal or the client, and the session. */
function Where({ item }: { readonly item: UiHistoryItem }) {
  const session = item.kind === 'cell' ? item.session : item.kind === 'call' ? item.cell.split('/')[1] : undefined;
  const client = item.kind === 'cell' && item.principal === undefined ? item.client : item.principal;
  return (
    <>
      {client !== undefined && <Shown text={client} />}
      {session !== undefined && (
        <a class="under" href={formatRoute('history', { session })}>
          <Shown text={session} />
        </a>
      )}
    </>
  );
}

const MAX_SUMMARY_CHARS = 160;

/** Background jobs outlive their cells, so their calls belong to none: the id of one has the number 0. */
function isOfJob(cell: string): boolean {
  return cell.endsWith('/0');
}

function What({ item }: { readonly item: UiHistoryItem }) {
  if (item.kind === 'event') {
    return (
      <details>
        <summary>
          <Shown text={item.summary} />
        </summary>
        <pre tabIndex={0} role="group" aria-label="The record" class="message">
          <Shown text={JSON.stringify(item.record, null, 2)} />
        </pre>
      </details>
    );
  }
  if (item.kind === 'call') {
    const name = <Shown text={`${item.server}.${item.tool}`} />;
    return (
      <>
        {isOfJob(item.cell) ? name : <a href={formatRoute('cells', {}, item.cell)}>{name}</a>}
        {isOfJob(item.cell) && <span class="dim under">of a background job</span>}
        {item.rule !== undefined && (
          <span class="dim under">
            <Shown text={item.rule} />
          </span>
        )}
      </>
    );
  }
  const facts = [
    item.calls > 0 ? formatNumberOf(item.calls, 'call') : undefined,
    item.run_by === undefined ? undefined : 'run by the operator',
    item.exception,
  ];
  const line = item.code.split('\n').find((each) => each.trim() !== '' && !each.trim().startsWith('#')) ?? item.code;
  return (
    <>
      <a class="code-link" href={formatRoute('cells', {}, item.id)}>
        <code>
          <Shown text={line.trim().slice(0, MAX_SUMMARY_CHARS) || 'A cell without code'} />
        </code>
      </a>
      <span class="dim under">
        <Shown text={facts.filter((fact) => fact !== undefined).join(', ')} />
      </span>
    </>
  );
}
