/** The frame around the views: navigation, connection, notices, shortcuts. */
import type { ComponentChildren, ComponentType } from 'preact';
import { useEffect, useErrorBoundary, useLayoutEffect, useRef, useState } from 'preact/hooks';
import { retryNow } from './connection.ts';
import { ConfirmDialog, Dialog, Problem } from './parts/controls.tsx';
import { Shown } from './parts/text.tsx';
import { formatRoute, type Route, VIEWS, type ViewName } from './route.ts';
import { areKeysOn, KEYS, setKeysOn, useKeys } from './shortcuts.ts';
import { about, connection, dismiss, live, notices, politeMessage, route } from './store.ts';
import { ApprovalsView } from './views/approvals.tsx';
import { CellView } from './views/cell.tsx';
import { HistoryView } from './views/history.tsx';
import { NowView } from './views/now.tsx';
import { SavingsView } from './views/savings.tsx';
import { ServersView } from './views/servers.tsx';
import { StoredView } from './views/stored.tsx';

const PAGES: Readonly<Record<Route['view'], { readonly title: string; readonly view: ComponentType }>> = {
  now: { title: 'Now', view: NowView },
  approvals: { title: 'Approvals', view: ApprovalsView },
  history: { title: 'History', view: HistoryView },
  cells: { title: 'Cell', view: CellView },
  servers: { title: 'Servers', view: ServersView },
  savings: { title: 'Savings', view: SavingsView },
  stored: { title: 'Stored', view: StoredView },
};

export function App() {
  const { view } = route.value;
  const { title, view: View } = PAGES[view];
  const waiting = live().approvals.length;
  const [showsKeys, setShowsKeys] = useState(false);
  const heading = useRef<HTMLHeadingElement>(null);
  const isFirst = useRef(true);
  useKeys(() => setShowsKeys(true));
  useEffect(() => {
    document.title = `${waiting > 0 ? `(${waiting}) ` : ''}${title} · MCP bridge`;
  }, [title, waiting]);
  // Before the search field can take the focus.
  useLayoutEffect(() => {
    // Screen readers hear the new view; the first one is read anyway.
    if (!isFirst.current) {
      window.scrollTo(0, 0);
      heading.current?.focus();
    }
    isFirst.current = false;
  }, [view, route.value.id]);
  if (connection.value === 'refused') {
    return <Refused />;
  }
  return (
    <>
      <a class="skip" href="#main" onClick={skip(heading)}>
        Skip to the content
      </a>
      <SideBar view={view} waiting={waiting} showKeys={() => setShowsKeys(true)} />
      <main id="main" tabIndex={-1}>
        <ConnectionBar />
        <h1 ref={heading} tabIndex={-1}>
          {title}
        </h1>
        <Guard key={`${view}${route.value.id}`}>
          <View />
        </Guard>
      </main>
      <Notices />
      <div class="quiet" role="status" aria-live="polite">
        {politeMessage.value}
      </div>
      <ConfirmDialog />
      {showsKeys && <KeysDialog close={() => setShowsKeys(false)} />}
    </>
  );
}

/** The fragment of the address is the view, so it must not change. */
function skip(heading: { readonly current: HTMLElement | null }) {
  return (event: Event): void => {
    event.preventDefault();
    heading.current?.focus();
  };
}

interface SideBarProps {
  readonly view: Route['view'];
  readonly waiting: number;
  readonly showKeys: () => void;
}

function SideBar({ showKeys, view, waiting }: SideBarProps) {
  const isCurrent = (name: ViewName): boolean => name === view || (name === 'history' && view === 'cells');
  return (
    <header class="side">
      <p class="brand">
        <img src="/favicon.svg" alt="" width="22" height="22" /> MCP bridge
      </p>
      <nav aria-label="Views">
        <ul>
          {VIEWS.map((name) => (
            <li key={name}>
              <a href={formatRoute(name)} aria-current={isCurrent(name) ? 'page' : undefined}>
                {PAGES[name].title}
                {name === 'approvals' && waiting > 0 && (
                  <span class="count">
                    {waiting}
                    <span class="quiet"> waiting</span>
                  </span>
                )}
              </a>
            </li>
          ))}
        </ul>
      </nav>
      <div class="side-foot">
        <ConnectionLight />
        <button type="button" class="link-button" onClick={showKeys}>
          Keys <kbd>?</kbd>
        </button>
        {about.value !== undefined && (
          <p class="dim about">
            <Shown text={about.value.version} />
            <span class="path" title="State directory">
              <Shown text={about.value.state_dir} />
            </span>
          </p>
        )}
      </div>
    </header>
  );
}

const LIGHTS = { connecting: 'Connecting', live: 'Live', lost: 'Not connected', refused: 'Refused' } as const;

function ConnectionLight() {
  return <span class={`light ${connection.value}`}>{LIGHTS[connection.value]}</span>;
}

/** A live region has to be there before its text. */
function ConnectionBar() {
  const isLost = connection.value === 'lost';
  return (
    <div role="alert">
      {isLost && (
        <div class="lost">
          <span>The connection is lost, so what you see may be old. Trying again…</span>
          <button type="button" class="button" onClick={retryNow}>
            Try now
          </button>
        </div>
      )}
    </div>
  );
}

function Notices() {
  return (
    <div class="notices" role="region" aria-label="Messages">
      <div aria-live="polite">
        {notices.value.map(({ id, isError, text }) => (
          <div key={id} class={isError ? 'notice bad' : 'notice'}>
            <span>
              <Shown text={text} />
            </span>
            <button type="button" class="link-button" aria-label="Close this message" onClick={() => dismiss(id)}>
              ✕
            </button>
          </div>
        ))}
      </div>
    </div>
  );
}

/** A view that fails does not take the navigation with it. */
function Guard({ children }: { readonly children: ComponentChildren }) {
  const [error, reset] = useErrorBoundary();
  return error === undefined ? <>{children}</> : <Problem error={error} retry={reset} />;
}

function Refused() {
  return (
    <main class="refused">
      <h1>This link is no longer valid</h1>
      <p>
        Open the address that <code>mcp-server-code-execution-mode ui</code> has printed. It has a new token each time
        the command starts.
      </p>
      <button type="button" class="button" onClick={() => location.reload()}>
        Try again
      </button>
    </main>
  );
}

function KeysDialog({ close }: { readonly close: () => void }) {
  return (
    <Dialog title="Keys" onClose={close}>
      <dl class="keys">
        {KEYS.map(({ key, text }) => (
          <div key={key}>
            <dt>
              <kbd>{key}</kbd>
            </dt>
            <dd>{text}</dd>
          </div>
        ))}
      </dl>
      <label class="check">
        <input type="checkbox" checked={areKeysOn.value} onChange={(event) => setKeysOn(event.currentTarget.checked)} />{' '}
        Use these keys
      </label>
      <div class="buttons end">
        <button type="button" class="button primary" onClick={close}>
          Close
        </button>
      </div>
    </Dialog>
  );
}
