/** One cell of the history: its code, output, files and calls, as far as they are kept. */
import { useState } from 'preact/hooks';
import { makeVisible } from '../../../../core/catalog/visible.ts';
import type { UiCell } from '../../schema.ts';
import { pathTo, post, whoseQuery } from '../api.ts';
import { formatBytes, formatCount, formatDuration, formatNumberOf, formatWhen } from '../format.ts';
import { Attachment, Picture } from '../parts/attachment.tsx';
import { Code, LongText } from '../parts/code.tsx';
import { ActionButton, Badge, Fact, Problem, Status } from '../parts/controls.tsx';
import { StepsGraph, stepsSummary } from '../parts/step-graph.tsx';
import { Shown } from '../parts/text.tsx';
import { useLoad } from '../parts/use-load.ts';
import { pictureType } from '../picture-type.ts';
import { formatRoute } from '../route.ts';
import { neighboursOf, spanOfRun, statusesOf } from '../runs.ts';
import { clock, goTo, live, notify, route } from '../store.ts';
import { placeBar, spanOf, type TimeSpan } from '../waterfall.ts';

type CellCall = UiCell['calls'][number];

/** Rows that are drawn at first. */
const FIRST_CALLS = 50;

export function CellView() {
  const { id } = route.value;
  const { data, error, reload } = useLoad<UiCell>(pathTo(['cells'], { id }));
  return (
    <>
      <p class="back">
        <a href={formatRoute('history')}>← History</a>
      </p>
      {error !== undefined && <Problem error={error} retry={reload} />}
      {data === undefined ? (
        error === undefined && <p class="loading">Reading the cell…</p>
      ) : (
        <Cell key={data.id} cell={data} />
      )}
    </>
  );
}

function Cell({ cell }: { readonly cell: UiCell }) {
  return (
    <>
      <CellHead cell={cell} />
      <section aria-labelledby="code">
        <h2 id="code">Code</h2>
        <Code code={cell.code} label="Code of the cell" />
        <SaveAsTool cell={cell} />
      </section>
      <section aria-labelledby="output">
        <h2 id="output">Output</h2>
        <Output cell={cell} />
      </section>
      {cell.attachments.length > 0 && (
        <section aria-labelledby="files">
          <h2 id="files">Files</h2>
          <div class="attachments">
            {cell.attachments.map((attachment, index) => (
              <Attachment key={`${index}${attachment.name}`} attachment={attachment} />
            ))}
          </div>
        </section>
      )}
      {cell.steps !== undefined && (
        <section aria-labelledby="steps">
          <h2 id="steps">
            Steps <span class="dim">{stepsSummary(cell.steps)}</span>
          </h2>
          <StepsGraph steps={cell.steps} now={Date.parse(cell.at)} />
        </section>
      )}
      <section aria-labelledby="calls">
        <h2 id="calls">Calls</h2>
        <Calls cell={cell} />
      </section>
    </>
  );
}

function CellHead({ cell }: { readonly cell: UiCell }) {
  return (
    <header class="cell-head">
      <div class="card-head">
        <Status status={cell.status} />
        {[cell.error_code, cell.exception]
          .filter((text) => text !== undefined)
          .map((text) => (
            <Badge key={text} tone="bad">
              <Shown text={text} />
            </Badge>
          ))}
        {cell.run_by !== undefined && <Badge tone="calm">run by the operator</Badge>}
        <span class="spring" />
        <RunAgain cell={cell} />
      </div>
      <CellFacts cell={cell} />
    </header>
  );
}

function CellFacts({ cell }: { readonly cell: UiCell }) {
  const { at, calls, calls_left_out: others, client, duration_ms: duration, principal, servers, session } = cell;
  return (
    <dl class="facts">
      <Fact label="Began">{formatWhen(at, clock.peek())}</Fact>
      <Fact label="Took">{formatDuration(duration)}</Fact>
      <Fact label="Session">
        <a href={formatRoute('history', { session })}>
          <Shown text={session} />
        </a>
      </Fact>
      {client !== undefined && (
        <Fact label="Client">
          <Shown text={client} />
        </Fact>
      )}
      {principal !== undefined && (
        <Fact label="Principal">
          <Shown text={principal} />
        </Fact>
      )}
      <Fact label="Calls">{calls.length + others}</Fact>
      <Fact label="Servers">
        <Shown text={servers.join(', ') || 'none'} />
      </Fact>
    </dl>
  );
}

/** What the audit log has in place of a secret. */
const MASKED = '***';

function RunAgain({ cell: { can_run_in: places, code } }: { readonly cell: UiCell }) {
  const [chosen, choose] = useState(0);
  const place = places[chosen];
  if (place === undefined) {
    return <span class="dim">No session is free to run it again.</span>;
  }
  const run = async (): Promise<void> => {
    await post(pathTo(['bridges', place.bridge, 'sessions', place.session, 'run']) + whoseQuery(place), { code });
    notify(`It runs in session ${place.session}.`);
    goTo('now');
  };
  return (
    <div class="buttons">
      {code.includes(MASKED) && (
        <span class="dim">Secrets in the code were replaced by {MASKED}, and stay so when it runs.</span>
      )}
      {places.length > 1 && (
        <span class="inline">
          <span aria-hidden="true">in</span>
          <select
            aria-label="Session to run it in"
            value={String(chosen)}
            onChange={(event) => choose(Number(event.currentTarget.value))}
          >
            {places.map((each, index) => (
              <option key={index} value={String(index)}>
                {makeVisible(placeName(each))}
              </option>
            ))}
          </select>
        </span>
      )}
      <ActionButton kind="primary" label="Run again" name={`Run again in session ${place.session}`} act={run} />
    </div>
  );
}

/** Each client has a session `default`, so its name alone does not say which. */
function placeName({ bridge, principal, profile, session }: UiCell['can_run_in'][number]): string {
  const found = live().bridges.find((each) => each.bridge === bridge);
  const client = found && `${found.client ?? 'a client'}, process ${found.pid}`;
  const facts = [principal, profile, client].filter((fact) => fact !== undefined);
  return facts.length === 0 ? session : `${session} (${facts.join(', ')})`;
}

function SaveAsTool({ cell: { functions, id } }: { readonly cell: UiCell }) {
  if (functions.length === 0) {
    return <p class="dim">To save a function of a cell, define it at the top level: there is none in this one.</p>;
  }
  const save = async (name: string): Promise<void> => {
    const saved = await post<{ name: string }>(pathTo(['cells', 'save-as-tool']), { id, name });
    notify(`Saved as ${saved.name}. Sessions that start from now on can call it, and Stored lists it.`);
  };
  return (
    <div class="buttons">
      <span class="dim">Save function:</span>
      {functions.map((name) => (
        <ActionButton
          key={name}
          label={
            <code>
              <Shown text={name} />
            </code>
          }
          name={`Save the function ${name}`}
          act={() => save(name)}
        />
      ))}
    </div>
  );
}

function Output({ cell: { kept, output, output_bytes: bytes } }: { readonly cell: UiCell }) {
  if (output === undefined) {
    return (
      <p class="dim quiet-box">
        {bytes === undefined ? '' : `It wrote ${formatBytes(bytes)}. `}
        <Shown text={kept.why ?? 'The output is not kept.'} />
      </p>
    );
  }
  const { error, stdout, value } = output;
  const isEmpty = [error, stdout, value].every((text) => text === undefined || text === '');
  return (
    <>
      {isEmpty && <p class="dim quiet-box">It printed nothing.</p>}
      {stdout !== '' && <Part title="Printed" text={stdout} />}
      {value !== undefined && value !== '' && <Part title="Value" text={value} />}
      {error !== undefined && error !== '' && <Part title="Error" text={error} isError />}
    </>
  );
}

function Part({
  isError = false,
  text,
  title,
}: {
  readonly title: string;
  readonly text: string;
  readonly isError?: boolean;
}) {
  return (
    <div class={isError ? 'part bad' : 'part'}>
      <h3>{title}</h3>
      <LongText text={text} label={title} links />
    </div>
  );
}

function Calls({ cell }: { readonly cell: UiCell }) {
  const { calls } = cell;
  if (calls.length === 0) {
    return <p class="dim quiet-box">It made no calls.</p>;
  }
  const from = Date.parse(cell.at);
  const times = calls.map((call) => spanOfRun([call]));
  const span = spanOf(times, from, from + (cell.duration_ms ?? 0));
  const inOrder = calls.toSorted((a, b) => Date.parse(a.at) - Date.parse(b.at));
  return (
    <>
      {cell.calls_left_out > 0 && (
        <p class="note">{formatNumberOf(cell.calls_left_out, 'call')} more are only in the log.</p>
      )}
      {cell.kept.why !== undefined && (
        <p class="dim">
          <Shown text={cell.kept.why} />
        </p>
      )}
      <CallRows runs={neighboursOf(inOrder, ({ server, tool }) => JSON.stringify([server, tool]))} span={span} />
    </>
  );
}

/** Each row is a call, or the calls of a loop, which open. */
function CallRows({
  runs,
  span,
}: {
  readonly runs: readonly (readonly [CellCall, ...CellCall[]])[];
  readonly span: TimeSpan;
}) {
  const [shown, setShown] = useState(FIRST_CALLS);
  return (
    <>
      {runs.slice(0, shown).map((run) => (
        <CallRow key={run[0].id} run={run} span={span} />
      ))}
      {runs.length > shown && (
        <button type="button" class="button" onClick={() => setShown(shown + FIRST_CALLS * 4)}>
          Show more ({formatNumberOf(runs.length - shown, 'row')} left)
        </button>
      )}
    </>
  );
}

function CallRow({ run, span }: { readonly run: readonly [CellCall, ...CellCall[]]; readonly span: TimeSpan }) {
  const [isOpen, setOpen] = useState(false);
  const [call] = run;
  const { endedAt, startedAt } = spanOfRun(run);
  const { left, width } = placeBar({ startedAt, endedAt }, span);
  const statuses = statusesOf(run);
  const worst = statuses.map(([status]) => status).find((status) => status !== 'ok') ?? 'ok';
  return (
    <details class="call" onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>
        <code>
          <Shown text={`${call.server}.${call.tool}`} />
          {run.length > 1 && ` × ${formatCount(run.length)}`}
        </code>
        <span class="call-axis" title={`after ${formatDuration(Math.max(0, startedAt - span.from))}`}>
          <span class={`bar ${worst}`} style={{ left: `${left}%`, width: `${width}%` }} aria-hidden="true" />
        </span>
        <span class="call-status">
          {statuses.map(([status, count]) => (
            <Status
              key={status}
              status={statuses.length > 1 ? `${formatCount(count)} ${status}` : status}
              of={status}
            />
          ))}
          {run.length === 1 && call.error_code !== undefined && (
            <span class="dim">
              <Shown text={call.error_code} />
            </span>
          )}
        </span>
        <span class="dim number">{formatDuration(endedAt - startedAt)}</span>
      </summary>
      {isOpen && run.length > 1 && <CallRows runs={run.map((one) => [one])} span={span} />}
      {isOpen && run.length === 1 && <CallBody call={call} />}
    </details>
  );
}

function CallBody({ call }: { readonly call: CellCall }) {
  const { answer, approval, arguments: types, decision, job, kept, rule } = call;
  const clauses = [
    rule === undefined ? decision : `${decision} by ${rule}`,
    answer && `the person said: ${answer}${approval === undefined ? '' : ` (${approval})`}`,
    job && `made by the job ${job}`,
  ];
  return (
    <div class="call-body">
      <p class="dim">
        <Shown text={clauses.filter((clause) => clause !== undefined).join('; ')} />
      </p>
      <h3>Arguments</h3>
      {kept?.arguments === undefined ? (
        <Types types={types} />
      ) : (
        <LongText label="Arguments" text={JSON.stringify(kept.arguments, null, 2)} />
      )}
      {kept?.error !== undefined && (
        <>
          <h3>Error</h3>
          <LongText label="Error" text={kept.error} />
        </>
      )}
      {kept?.result !== undefined && (
        <>
          <h3>Result</h3>
          <Result result={kept.result} />
        </>
      )}
      {kept?.left_out_bytes !== undefined && (
        <p class="dim">The result of {formatBytes(kept.left_out_bytes)} was too large to keep.</p>
      )}
    </div>
  );
}

function Types({ types }: { readonly types: CellCall['arguments'] }) {
  const all = Object.entries(types);
  if (all.length === 0) {
    return <p class="dim">None.</p>;
  }
  return (
    <dl class="types">
      {all.map(([name, type]) => (
        <div key={name}>
          <dt>
            <code>
              <Shown text={name} />
            </code>
          </dt>
          <dd>
            <Shown text={type} />
          </dd>
        </div>
      ))}
    </dl>
  );
}

/** Texts and pictures of a `CallToolResult` as such, and anything else as JSON. */
function Result({ result }: { readonly result: unknown }) {
  const { content, structuredContent } = (typeof result === 'object' && result !== null ? result : {}) as {
    content?: unknown;
    structuredContent?: unknown;
  };
  if (!Array.isArray(content)) {
    return <LongText label="Result" text={JSON.stringify(result, null, 2)} />;
  }
  return (
    <>
      {content.map((block: unknown, index) => (
        <ContentBlock key={index} block={block} />
      ))}
      {structuredContent !== undefined && (
        <LongText label="Structured content" text={JSON.stringify(structuredContent, null, 2)} />
      )}
    </>
  );
}

function ContentBlock({ block }: { readonly block: unknown }) {
  const { data, mimeType, text, type } = (typeof block === 'object' && block !== null ? block : {}) as Record<
    string,
    unknown
  >;
  if (type === 'text' && typeof text === 'string') {
    return <LongText label="Text" text={text} links />;
  }
  if (
    type === 'image' &&
    typeof data === 'string' &&
    typeof mimeType === 'string' &&
    pictureType(mimeType) !== undefined
  ) {
    return <Picture base64={data} mimeType={mimeType} name="Picture in the result" />;
  }
  return <LongText label="Content" text={JSON.stringify(block, null, 2)} />;
}
