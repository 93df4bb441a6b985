/** Servers: their state, what they cost, how they behave, and changes of their tools. */

import { signal } from '@preact/signals';
import { type ComponentChildren, Fragment } from 'preact';
import { useState } from 'preact/hooks';
import { makeVisible } from '../../../../core/catalog/visible.ts';
import type { UiServer } from '../../schema.ts';
import { pathTo, post, whoseQuery } from '../api.ts';
import { formatBytes, formatCount, formatDuration, formatNumberOf, formatShare } from '../format.ts';
import { safeAddress } from '../links.ts';
import type { LiveModel } from '../live-model.ts';
import { ActionButton, Badge, confirmFirst, Empty, Problem, Status } from '../parts/controls.tsx';
import { DataTable } from '../parts/data-table.tsx';
import { OutLink, Shown } from '../parts/text.tsx';
import { useLoad } from '../parts/use-load.ts';
import { live, notify } from '../store.ts';
import { differenceOf } from '../text-difference.ts';

type ServerState = UiServer['states'][number];
type Change = UiServer['pins']['changed'][number];

/** Addresses of logins that were asked for, by server: a browser may block a window that opens late, so they are links. */
const logins = signal<Readonly<Record<string, string>>>({});

export function ServersView() {
  const model = live();
  const states = model.servers.map(({ bridge, name, state }) => `${bridge}/${name}:${state}`).join();
  const { data, error, reload } = useLoad<readonly UiServer[]>('/api/servers', states);
  if (data === undefined) {
    return error === undefined ? <p class="loading">Reading the servers…</p> : <Problem error={error} retry={reload} />;
  }
  if (data.length === 0) {
    return (
      <Empty title="No servers are configured.">
        Add one with <code>servers add NAME COMMAND</code>, or put its entry into a file that <code>servers list</code>{' '}
        names.
      </Empty>
    );
  }
  return (
    <>
      {error !== undefined && <Problem error={error} retry={reload} />}
      <ServerTable servers={data} model={model} reload={reload} />
    </>
  );
}

interface ServerColumn {
  readonly title: string;
  readonly isNumber: boolean;
  /** What it is sorted by; undefined comes last. */
  readonly valueOf: (server: UiServer) => string | number | undefined;
  readonly show: (server: UiServer) => ComponentChildren;
}

const COLUMNS: readonly ServerColumn[] = [
  { title: 'Server', isNumber: false, valueOf: ({ name }) => name, show: ({ name }) => <Shown text={name} /> },
  {
    title: 'State',
    isNumber: false,
    valueOf: (server) => stateOf(server),
    show: (server) => <Status status={stateOf(server)} />,
  },
  { title: 'Tools', isNumber: true, valueOf: ({ tools }) => tools, show: ({ tools }) => tools ?? '–' },
  {
    title: 'Tokens',
    isNumber: true,
    valueOf: ({ definition_tokens: tokens }) => tokens,
    show: ({ definition_bytes: bytes = 0, definition_tokens: tokens }) =>
      tokens === undefined ? '–' : <span title={`Definitions of ${formatBytes(bytes)}`}>{formatCount(tokens)}</span>,
  },
  { title: 'Calls', isNumber: true, valueOf: ({ calls }) => calls, show: ({ calls }) => formatCount(calls) },
  {
    title: 'Failed',
    isNumber: true,
    valueOf: ({ failed }) => failed,
    show: ({ calls, failed }) => (failed === 0 ? '0' : `${formatCount(failed)} (${formatShare(failed, calls)})`),
  },
  { title: 'Refused', isNumber: true, valueOf: ({ refused }) => refused, show: ({ refused }) => formatCount(refused) },
  { title: 'Median', isNumber: true, valueOf: ({ p50_ms: ms }) => ms, show: ({ p50_ms: ms }) => formatDuration(ms) },
  {
    title: '95 % within',
    isNumber: true,
    valueOf: ({ p95_ms: ms }) => ms,
    show: ({ p95_ms: ms }) => formatDuration(ms),
  },
];

/** In one word: what a person should look at first. */
function stateOf({ pins, state, states }: UiServer): string {
  const has = (wanted: string): boolean => states.some((one) => one.state === wanted);
  if (has('failing') || pins.problem !== undefined) {
    return 'failing';
  }
  const running = ['ready', 'starting', 'idle'].find(has);
  return pins.changed.length > 0 ? 'changed' : (running ?? state);
}

function needsAttention(server: UiServer): boolean {
  return ['failing', 'changed', 'failed', 'login-needed'].includes(stateOf(server));
}

function compareBy({ valueOf }: ServerColumn, isDown: boolean, a: UiServer, b: UiServer): number {
  const [left, right] = [valueOf(a), valueOf(b)];
  if (left === undefined || right === undefined) {
    return Number(left === undefined) - Number(right === undefined);
  }
  const isNumber = typeof left === 'number' && typeof right === 'number';
  return (isNumber ? left - right : String(left).localeCompare(String(right), 'en')) * (isDown ? -1 : 1);
}

type ServersProps = Omit<CardProps, 'server'> & { readonly servers: readonly UiServer[] };

function ServerTable({ servers, ...parts }: ServersProps) {
  const [text, setText] = useState('');
  const [state, setState] = useState('');
  const isWanted = ({ file = '', name, transport }: UiServer): boolean =>
    `${name} ${transport} ${file}`.toLowerCase().includes(text.trim().toLowerCase());
  const found = servers.filter(isWanted).filter((server) => {
    return state === '' || (state === ATTENTION ? needsAttention(server) : stateOf(server) === state);
  });
  const all = formatNumberOf(servers.length, 'server');
  return (
    <>
      <form class="filters" role="search" aria-label="Filter the servers" onSubmit={(event) => event.preventDefault()}>
        <label class="grow">
          <span>Name, file or transport</span>
          <input
            type="search"
            value={text}
            autocomplete="off"
            onInput={(event) => setText(event.currentTarget.value)}
          />
        </label>
        <label>
          <span>State</span>
          <select value={state} onChange={(event) => setState(event.currentTarget.value)}>
            {['', ATTENTION, ...new Set(servers.map(stateOf))].map((each) => (
              <option key={each} value={each}>
                {each === '' ? 'Any' : each.replaceAll('-', ' ')}
              </option>
            ))}
          </select>
        </label>
      </form>
      <p class="dim result-line" role="status">
        {found.length === servers.length ? all : `${found.length} of ${all}`}
      </p>
      <FoundServers servers={found} {...parts} />
    </>
  );
}

function FoundServers({ model, reload, servers }: ServersProps) {
  const [sorted, setSorted] = useState<{ readonly title: string; readonly isDown: boolean }>();
  /** What was opened or closed; otherwise, what needs attention is open. */
  const [chosen, setChosen] = useState<Readonly<Record<string, boolean>>>({});
  // A number is most telling where it is largest.
  const press = ({ isNumber, title }: ServerColumn): void =>
    setSorted({ title, isDown: sorted?.title === title ? !sorted.isDown : isNumber });
  return (
    <DataTable
      caption="Servers"
      columns={COLUMNS.map((each) => {
        const by = sorted?.title !== each.title ? 'none' : sorted.isDown ? 'descending' : 'ascending';
        return { title: each.title, isNumber: each.isNumber, sort: { by, press: () => press(each) } };
      })}
      rows={inOrder(servers, sorted).map((server) => {
        const key = `${server.name} ${server.file ?? ''}`;
        const isOpen = chosen[key] ?? needsAttention(server);
        const [first, ...others] = COLUMNS.map(({ show, title }) => <Fragment key={title}>{show(server)}</Fragment>);
        const toggle = (): void => setChosen({ ...chosen, [key]: !isOpen });
        const name = (
          <button key="name" type="button" class="link-button" aria-expanded={isOpen} onClick={toggle}>
            <span aria-hidden="true">{isOpen ? '▾ ' : '▸ '}</span>
            {first}
          </button>
        );
        const card = isOpen && { below: <ServerCard server={server} model={model} reload={reload} /> };
        return { key, cells: [name, ...others], ...card };
      })}
    />
  );
}

function inOrder(
  servers: readonly UiServer[],
  sorted: { readonly title: string; readonly isDown: boolean } | undefined,
): readonly UiServer[] {
  const column = COLUMNS.find(({ title }) => title === sorted?.title);
  const byName = servers.toSorted((a, b) => a.name.localeCompare(b.name, 'en'));
  return column === undefined
    ? byName.toSorted((a, b) => Number(needsAttention(b)) - Number(needsAttention(a)))
    : byName.toSorted((a, b) => compareBy(column, sorted?.isDown === true, a, b));
}

const ATTENTION = 'needs attention';

interface CardProps {
  readonly server: UiServer;
  readonly model: LiveModel;
  readonly reload: () => void;
}

function ServerCard({ model, reload, server }: CardProps) {
  const { can_log_in: canLogIn, disabled_reason: disabled, error, file, hint, name, states, transport } = server;
  const login = logins.value[name];
  const loginLabel = server.logged_in === true ? 'Log in again' : 'Log in';
  return (
    <article class="server" aria-label={makeVisible(`Server ${name}`)}>
      <header class="card-head">
        <h2>
          <Shown text={name} />
        </h2>
        <Badge tone="calm">{transport}</Badge>
        {states.length === 0 && <Status status={server.state} />}
        <span class="spring" />
        {canLogIn && (
          <ActionButton label={loginLabel} name={`${loginLabel} at ${name}`} act={() => logIn(name, reload)} />
        )}
      </header>
      {login !== undefined && (
        <p class="note">
          Open this address to log in: <OutLink href={login} />
        </p>
      )}
      {disabled !== undefined && (
        <p class="note">
          <Shown text={disabled} />
        </p>
      )}
      {error !== undefined && (
        <p class="note bad">
          <Shown text={error} links /> {hint !== undefined && <Shown text={hint} />}
        </p>
      )}
      {states.length > 0 && <States server={server} model={model} reload={reload} />}
      <Pins server={server} reload={reload} />
      {file !== undefined && (
        <p class="dim path">
          <Shown text={file} />
        </p>
      )}
    </article>
  );
}

async function logIn(name: string, reload: () => void): Promise<void> {
  const { url } = await post<{ url?: string }>(pathTo(['servers', name, 'login']));
  const address = url === undefined ? undefined : safeAddress(url);
  if (address !== undefined) {
    logins.value = { ...logins.value, [name]: address };
  } else if (url === undefined) {
    notify(`${name} needs no login.`);
  } else {
    throw new Error(`${name} wants a login at an address that is not one of the web.`);
  }
  reload();
}

function States({ model, reload, server: { name, states } }: CardProps) {
  return (
    <DataTable
      caption={`${name} in running bridges`}
      columns={[
        { title: 'Bridge' },
        { title: 'State' },
        { title: 'Process', isNumber: true },
        { title: 'Actions', isQuiet: true },
      ]}
      rows={states.map((state) => {
        const bridge = model.bridges.find((each) => each.bridge === state.bridge);
        const who = [bridge?.client ?? `process ${bridge?.pid ?? state.bridge}`, state.principal, state.profile];
        const known = who.filter((each) => each !== undefined).join(', ');
        return {
          key: JSON.stringify([state.bridge, state.principal, state.profile]),
          cells: [
            <Shown key="bridge" text={known} />,
            <>
              <Status status={state.state} />
              {state.error !== undefined && (
                <span class="under dim">
                  <Shown text={state.error} links />
                </span>
              )}
            </>,
            state.pid ?? '–',
            <StateActions key="actions" name={name} state={state} reload={reload} />,
          ],
        };
      })}
    />
  );
}

interface StateActionsProps {
  readonly name: string;
  readonly state: ServerState;
  readonly reload: () => void;
}

function StateActions({ name, reload, state }: StateActionsProps) {
  const request = async (action: string): Promise<void> => {
    await post(pathTo(['bridges', state.bridge, 'servers', name, action]) + whoseQuery(state));
    reload();
  };
  const isStopped = state.state === 'idle' || state.state === 'failing';
  return (
    <div class="buttons">
      {isStopped ? (
        <ActionButton label="Start" name={`Start ${name}`} act={() => request('start')} done={`${name} runs.`} />
      ) : (
        <ActionButton
          label="Stop"
          name={`Stop ${name}`}
          act={() => request('stop')}
          done={`${name} is stopped; its next call starts it.`}
        />
      )}
      <ActionButton
        label="Refresh"
        name={`Refresh ${name}`}
        title="Reads its tools again"
        act={() => request('refresh')}
        done={`The tools of ${name} were read again.`}
      />
    </div>
  );
}

function Pins({ reload, server: { name, pins } }: Omit<CardProps, 'model'>) {
  const { accepted, changed, mode, problem, seen } = pins;
  if (problem !== undefined) {
    return (
      <p class="note bad">
        <Shown text={problem} />
      </p>
    );
  }
  if (changed.length === 0) {
    return accepted === 0 ? null : <p class="dim">{formatNumberOf(accepted, 'tool')} as accepted.</p>;
  }
  const answer = async (action: 'accept' | 'refuse', tools: readonly string[]): Promise<void> => {
    await post(pathTo(['servers', name, 'pins', action]), { tools, seen });
    reload();
  };
  const acceptAll = async (): Promise<unknown> => {
    const text = `You accept ${formatNumberOf(changed.length, 'change')} as shown here. Read them first: a description is an instruction to the model.`;
    return (
      (await confirmFirst(`Accept all changes of ${name}?`, text, 'Accept all')) &&
      answer(
        'accept',
        changed.map(({ tool }) => tool),
      )
    );
  };
  return (
    <details class="pins" open>
      <summary>
        <strong>
          {formatNumberOf(changed.length, 'tool')} {changed.length === 1 ? 'differs' : 'differ'}
        </strong>{' '}
        from what you accepted
        {mode === 'strict' ? '; calls are refused until you decide' : ''}
      </summary>
      {changed.length > 1 && (
        <div class="buttons">
          <ActionButton label="Accept all" name={`Accept all changes of ${name}`} act={acceptAll} done="Accepted." />
        </div>
      )}
      {changed.map((change) => (
        <ChangedTool key={change.tool} change={change} answer={(action) => answer(action, [change.tool])} />
      ))}
    </details>
  );
}

interface ChangedToolProps {
  readonly change: Change;
  readonly answer: (action: 'accept' | 'refuse') => Promise<void>;
}

function ChangedTool({ answer, change: { change, differences, is_refused: isRefused, tool } }: ChangedToolProps) {
  return (
    <div class="changed-tool" role="group" aria-label={makeVisible(`Change of ${tool}`)}>
      <div class="card-head">
        <h3>
          <code>
            <Shown text={tool} />
          </code>
        </h3>
        <Status status={change} />
        {isRefused && <span class="dim">its calls are refused</span>}
        <span class="spring" />
        <div class="buttons">
          <ActionButton
            kind="primary"
            label="Accept"
            name={`Accept the change of ${tool}`}
            act={() => answer('accept')}
            done={`Accepted: ${tool}.`}
          />
          <ActionButton
            label="Refuse"
            name={`Refuse ${tool}`}
            title="Writes a rule that denies its calls"
            act={() => answer('refuse')}
            done={`Refused: ${tool}. Your policy denies its calls.`}
          />
        </div>
      </div>
      {differences.map(({ after, before, path }) => (
        <div key={path} class="difference">
          <h4>
            <Shown text={path} />
          </h4>
          <Difference before={before} after={after} />
        </div>
      ))}
    </div>
  );
}

function Difference({ after, before }: { readonly before: string | undefined; readonly after: string | undefined }) {
  return (
    <pre class="diff" tabIndex={0} role="group" aria-label="Difference">
      {differenceOf(before ?? '', after ?? '').map(({ kind, text }, index) => {
        if (kind === 'same') {
          return <Shown key={index} text={text} />;
        }
        return kind === 'added' ? (
          <ins key={index}>
            <span class="quiet">[added: </span>
            <Shown text={text} />
            <span class="quiet">]</span>
          </ins>
        ) : (
          <del key={index}>
            <span class="quiet">[removed: </span>
            <Shown text={text} />
            <span class="quiet">]</span>
          </del>
        );
      })}
    </pre>
  );
}
