/** Now: bridges, their sessions, and the cells that run in them. */
import { useState } from 'preact/hooks';
import type { UiBridge, UiHistory } from '../../schema.ts';
import { pathTo, post, whoseQuery } from '../api.ts';
import { formatAge, formatBytes, formatDuration, formatNumberOf, formatWhen } from '../format.ts';
import type { LiveCell, PageSession } from '../live-model.ts';
import type { OutputLine } from '../output-lines.ts';
import { Waterfall } from '../parts/call-waterfall.tsx';
import { Code } from '../parts/code.tsx';
import { ActionButton, Badge, confirmFirst, Empty, Fact, Status } from '../parts/controls.tsx';
import { StepsGraph, stepsSummary } from '../parts/step-graph.tsx';
import { Shown } from '../parts/text.tsx';
import { useLoad } from '../parts/use-load.ts';
import { VirtualList } from '../parts/virtual-list.tsx';
import { formatRoute } from '../route.ts';
import { clock, connection, live } from '../store.ts';
import { spanOf } from '../waterfall.ts';

const OUTPUT_ROW_PX = 19;

export function NowView() {
  const { bridges, sessions } = live();
  if (bridges.length === 0) {
    return connection.value === 'connecting' ? <p class="loading">Connecting…</p> : <NoBridge />;
  }
  return (
    <>
      {bridges.map((bridge) => (
        <BridgePart
          key={bridge.bridge}
          bridge={bridge}
          sessions={sessions.filter((session) => session.bridge === bridge.bridge).toSorted(byActivity)}
        />
      ))}
    </>
  );
}

/** If nothing has ever run, what to type first. */
function NoBridge() {
  const { data, isLoading } = useLoad<UiHistory>(pathTo(['history'], { limit: '1' }));
  if (data === undefined && isLoading) {
    return <p class="loading">Reading the audit log…</p>;
  }
  if (data?.total !== 0) {
    return (
      <Empty title="No bridge is running.">
        Start a client that uses the bridge, such as Claude Code or Cursor, and its sessions appear here at once.{' '}
        <code>doctor</code> checks the set-up.
      </Empty>
    );
  }
  return (
    <div class="empty">
      <p class="empty-title">Nothing has run yet.</p>
      <ol class="steps">
        <li>
          Register the bridge with your client: <code>mcp-server-code-execution-mode install cursor</code>.{' '}
          <code>install --help</code> lists the clients.
        </li>
        <li>Restart the client, and tell it: {FIRST_TASK} Its session appears here at once.</li>
        <li>
          Without a client: <code>mcp-server-code-execution-mode exec -c "2 ** 64"</code> runs a cell, which is then in{' '}
          <a href={formatRoute('history')}>History</a>.
        </li>
      </ol>
      <p>
        <code>mcp-server-code-execution-mode doctor</code> checks the set-up.
      </p>
    </div>
  );
}

const FIRST_TASK = '“Use run_python to compute 2 ** 64.”';
const WAITS = 'waits for you';

/** What waits for a person comes first, then what runs; then the most recent. */
function byActivity(a: PageSession, b: PageSession): number {
  const rank = (session: PageSession): number =>
    live().isAsking(session) ? -1 : ['running', 'starting', 'idle', 'hibernated'].indexOf(session.state);
  return rank(a) - rank(b) || a.name.localeCompare(b.name, 'en');
}

function BridgePart({ bridge, sessions }: { readonly bridge: UiBridge; readonly sessions: readonly PageSession[] }) {
  const title = bridge.client ?? (bridge.transport === 'http' ? 'Clients over HTTP' : 'A client');
  return (
    <section class="bridge" aria-label={`Bridge of ${title}, process ${bridge.pid}`}>
      <header class="bridge-head">
        <h2>
          <Shown text={title} />
        </h2>
        <p class="dim facts-line">
          <span>process {bridge.pid}</span>
          <span>up {formatAge(clock.value - Date.parse(bridge.started))}</span>
          <span title="Of the bridge itself, without sandboxes and servers">{formatBytes(bridge.memory_bytes)}</span>
          <span class="path">
            <Shown text={bridge.folder} />
          </span>
        </p>
      </header>
      {sessions.length === 0 ? (
        <Empty title="No session yet.">The first call of run_python starts one. Tell the client: {FIRST_TASK}</Empty>
      ) : (
        sessions.map((session) => <SessionCard key={session.key} session={session} bridge={bridge} />)
      )}
    </section>
  );
}

function SessionCard({ bridge, session }: { readonly session: PageSession; readonly bridge: UiBridge }) {
  const cell = live().cell(session.key);
  const [isOpen, setOpen] = useState(false);
  const isRunning = cell?.status === 'running';
  const isAsking = live().isAsking(session);
  return (
    <article class={`card session ${isAsking ? 'asking' : session.state}`} aria-label={`Session ${session.name}`}>
      <header class="card-head">
        <h3>
          <Shown text={session.name} />
        </h3>
        <Status status={isAsking ? WAITS : session.state} />
        {isAsking && <a href={formatRoute('approvals')}>Answer in Approvals</a>}
        {session.principal !== undefined && (
          <Badge tone="calm">
            <Shown text={session.principal} />
          </Badge>
        )}
        {session.profile !== undefined && (
          <Badge tone="calm">
            profile <Shown text={session.profile} />
          </Badge>
        )}
        <span class="spring" />
        <SessionActions session={session} />
      </header>
      <SessionFacts session={session} bridge={bridge} />
      {session.names.length > 0 && <Variables session={session} />}
      {cell !== undefined && (isRunning || isOpen) && <CellPart cell={cell} />}
      {cell !== undefined && !isRunning && (
        <footer class="card-foot">
          <button type="button" class="link-button" aria-expanded={isOpen} onClick={() => setOpen(!isOpen)}>
            {isOpen ? 'Hide the last cell' : 'Show the last cell'}
          </button>
          <Status status={cell.status} />
          <span class="dim">{cell.durationMs === undefined ? '' : formatDuration(cell.durationMs)}</span>
          <a href={formatRoute('cells', {}, cell.id)}>Open in History</a>
        </footer>
      )}
    </article>
  );
}

function SessionActions({ session }: { readonly session: PageSession }) {
  const { bridge, name, state } = session;
  const request = (action: string) => post(pathTo(['bridges', bridge, 'sessions', name, action]) + whoseQuery(session));
  const end = async (): Promise<unknown> => {
    const text = 'Its sandbox is stopped, and what was not saved is lost.';
    return (await confirmFirst(`End session “${name}”?`, text, 'End session')) && request('end');
  };
  return (
    <div class="buttons">
      {state === 'running' && (
        <ActionButton
          label="Interrupt"
          name={`Interrupt the cell of ${name}`}
          act={() => request('interrupt')}
          done="Interrupted."
        />
      )}
      {state !== 'hibernated' && (
        <>
          <ActionButton
            label="Hibernate"
            name={`Hibernate ${name}`}
            title="Saves its variables and stops its sandbox; the next cell brings them back"
            disabled={state !== 'idle'}
            act={() => request('hibernate')}
            done="Saved and stopped."
          />
          <ActionButton label="End" name={`End ${name}`} kind="danger" act={end} done="Ended." />
        </>
      )}
    </div>
  );
}

function SessionFacts({ bridge, session }: { readonly session: PageSession; readonly bridge: UiBridge }) {
  const { age_ms: age, cells, engine, generation, idle_ms: idle, memory_bytes: memory, saved } = session;
  const { servers, variables, waiting } = session;
  return (
    <dl class="facts">
      <Fact label="Engine">{engine ?? 'none'}</Fact>
      <Fact label="Age">{age === undefined ? '–' : formatAge(age)}</Fact>
      <Fact label="Memory">
        {memory === undefined ? 'at most ' : `${formatBytes(memory)} of `}
        {formatBytes(bridge.settings.memory_bytes)}
      </Fact>
      <Fact label="Variables">{variables ?? '–'}</Fact>
      <Fact label="Cells">
        {cells}
        {waiting > 0 ? ` (${waiting} waiting)` : ''}
      </Fact>
      {generation > 1 && <Fact label="Sandbox no.">{generation}</Fact>}
      {session.state === 'idle' && idle !== undefined && <Fact label="Idle for">{formatAge(idle)}</Fact>}
      {saved !== undefined && <Fact label="Saved">{formatWhen(saved, clock.value)}</Fact>}
      {servers.length > 0 && (
        <Fact label="Servers">
          <Shown text={servers.join(', ')} />
        </Fact>
      )}
    </dl>
  );
}

function Variables({ session: { names, variables = names.length } }: { readonly session: PageSession }) {
  return (
    <details class="variables">
      <summary>{formatNumberOf(variables, 'variable')}</summary>
      <ul class="names">
        {names.map((name) => (
          <li key={name}>
            <code>
              <Shown text={name} />
            </code>
          </li>
        ))}
      </ul>
      {variables > names.length && <p class="dim">and {formatNumberOf(variables - names.length, 'other')}</p>}
    </details>
  );
}

function CellPart({ cell }: { readonly cell: LiveCell }) {
  const isRunning = cell.status === 'running';
  return (
    <div class="cell-part">
      <div class="cell-code">
        <h4>
          Code
          {isRunning && <CellClock cell={cell} />}
        </h4>
        <Code code={cell.code} label="Code of the cell" />
      </div>
      <div class="cell-output">
        <OutputPart cell={cell} />
      </div>
      {cell.steps.size > 0 && (
        <div class="cell-steps">
          <StepsPart cell={cell} />
        </div>
      )}
      <div class="cell-calls">
        <CallsPart cell={cell} />
      </div>
    </div>
  );
}

function CellClock({ cell }: { readonly cell: LiveCell }) {
  const { pausedMs } = cell;
  const left = pausedMs ?? cell.deadlineAt - clock.value;
  const deadline =
    pausedMs === undefined ? `deadline in ${formatAge(left)}` : `deadline paused with ${formatAge(left)} left`;
  return (
    <span class="dim cell-clock">
      running for {formatAge(clock.value - cell.startedAt)}
      {left > 0 ? `, ${deadline}` : ''}
    </span>
  );
}

function OutputPart({ cell: { output, status } }: { readonly cell: LiveCell }) {
  const { droppedChars, droppedLines, lines } = output;
  const missing = [
    ...(droppedLines > 0 ? [`the first ${formatNumberOf(droppedLines, 'line')}`] : []),
    ...(droppedChars > 0 ? [formatNumberOf(droppedChars, 'character')] : []),
  ];
  return (
    <>
      <h4>
        Output <span class="dim">{lines.length === 0 ? '' : formatNumberOf(lines.length + droppedLines, 'line')}</span>
      </h4>
      {missing.length > 0 && <p class="note">Not shown here: {missing.join(' and ')}.</p>}
      {lines.length === 0 ? (
        <p class="dim quiet-box">
          {status === 'running' ? 'Nothing printed yet.' : 'It printed nothing while this page was open.'}
        </p>
      ) : (
        <VirtualList
          class="output"
          label={`Output, ${formatNumberOf(lines.length, 'line')}`}
          count={lines.length}
          rowHeight={OUTPUT_ROW_PX}
          follows
          row={(index) => <OutputRow key={index} line={lines[index]} />}
        />
      )}
    </>
  );
}

function OutputRow({ line }: { readonly line: OutputLine | undefined }) {
  return (
    <div class={`output-line ${line?.stream ?? ''}`}>
      <Shown text={line?.text ?? ''} links />
    </div>
  );
}

function StepsPart({ cell }: { readonly cell: LiveCell }) {
  const steps = [...cell.steps.values()];
  return (
    <>
      <h4>
        Steps <span class="dim">{stepsSummary(steps)}</span>
      </h4>
      <StepsGraph steps={steps} now={clock.value} leftOut={cell.stepsLeftOut} />
    </>
  );
}

function CallsPart({ cell }: { readonly cell: LiveCell }) {
  const calls = [...cell.calls.values()].map((call) => ({ ...call, key: String(call.call) }));
  const end = cell.status === 'running' ? clock.value : cell.startedAt + (cell.durationMs ?? 0);
  const running = calls.filter(({ status }) => status === 'running').length;
  const facts = [
    ...(running > 0 ? [`${running} running`] : []),
    ...(cell.callsFailed > 0 ? [`${cell.callsFailed} failed`] : []),
    ...(cell.callsLeftOut > 0 ? [`${cell.callsLeftOut} not shown`] : []),
  ];
  return (
    <>
      <h4>
        Calls{' '}
        <span class="dim">{calls.length === 0 ? '' : [formatNumberOf(calls.length, 'call'), ...facts].join(', ')}</span>
      </h4>
      {calls.length === 0 ? (
        <p class="dim quiet-box">No call so far.</p>
      ) : (
        <Waterfall
          calls={calls}
          span={spanOf(calls, cell.startedAt, end)}
          label="Calls of the cell"
          follows={cell.status === 'running'}
        />
      )}
    </>
  );
}
