/** Servers: their state, what they cost, how they behave, and changes of their tools. */

import { signal } from '@preact/signals';
import { makeVisible } from '../../../catalog/visible.ts';
import type { UiServer } from '../../schema.ts';
import { pathTo, post, whoseQuery } from '../api.ts';
import { formatBytes, formatCount, formatDuration, formatNumberOf, formatShare } from '../format.ts';
import { safeAddress } from '../links.ts';
import type { LiveModel } from '../live-model.ts';
import { ActionButton, Badge, confirmFirst, Empty, Fact, Problem, Status } from '../parts/controls.tsx';
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
  const attention = ({ pins: { changed, problem }, states: all }: UiServer): number =>
    changed.length > 0 || problem !== undefined || all.some(({ state }) => state === 'failing') ? 0 : 1;
  const sorted = data.toSorted((a, b) => attention(a) - attention(b) || a.name.localeCompare(b.name, 'en'));
  return (
    <>
      {error !== undefined && <Problem error={error} retry={reload} />}
      <div class="server-list">
        {sorted.map((server) => (
          <ServerCard key={`${server.name} ${server.file ?? ''}`} server={server} model={model} reload={reload} />
        ))}
      </div>
    </>
  );
}

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
    <article class="card server" aria-label={makeVisible(`Server ${name}`)}>
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
      <ServerFacts server={server} />
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

function ServerFacts({ server }: { readonly server: UiServer }) {
  const {
    calls,
    definition_bytes: bytes,
    definition_tokens: tokens,
    failed,
    p50_ms: p50,
    p95_ms: p95,
    refused,
    tools,
  } = server;
  return (
    <dl class="facts">
      <Fact label="Tools">{tools ?? 'not known yet'}</Fact>
      <Fact label="Definitions">
        {tokens === undefined ? (
          '–'
        ) : (
          <span title={bytes === undefined ? '' : formatBytes(bytes)}>{formatCount(tokens)} tokens</span>
        )}
      </Fact>
      <Fact label="Calls">{formatCount(calls)}</Fact>
      <Fact label="Failed">
        {formatCount(failed)} {failed > 0 && <span class="dim">({formatShare(failed, calls)})</span>}
      </Fact>
      <Fact label="Refused">{formatCount(refused)}</Fact>
      <Fact label="Median">{formatDuration(p50)}</Fact>
      <Fact label="95 % within">{formatDuration(p95)}</Fact>
    </dl>
  );
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
