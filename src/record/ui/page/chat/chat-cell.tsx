/** A cell in the chat: its status, what it shows, its calls and its code. Everything from code and servers is text or a raster picture. */
import type { ComponentChildren } from 'preact';
import { makeVisible } from '../../../../core/catalog/visible.ts';
import { formatCount, formatDuration, formatNumberOf } from '../format.ts';
import { Waterfall } from '../parts/call-waterfall.tsx';
import { DataTable } from '../parts/data-table.tsx';
import { CodeLines, TextLines } from '../parts/lines.tsx';
import { Shown } from '../parts/text.tsx';
import { spanOf } from '../waterfall.ts';
import { type FrameTable, readFrame } from './frame-table.ts';
import type { ShownCell, ShownResult, ShownText } from './shown-result.ts';

/** Longer code is closed at first: what came out of it is worth more room. */
const OPEN_LINES = 12;

export interface CellState {
  /** Undefined until the host says it. */
  readonly code?: string | undefined;
  readonly result?: ShownResult | undefined;
  readonly isCancelled?: boolean;
}

export function ChatCell({ code, isCancelled = false, result }: CellState) {
  const shownCode = result?.cell?.code ?? code;
  const status = result?.status ?? (isCancelled ? 'cancelled' : 'running');
  return (
    <main>
      <h1 class="quiet">Cell</h1>
      <Head status={status} result={result} />
      {result !== undefined && <Output result={result} />}
      {result?.cell !== undefined && <Calls cell={result.cell} />}
      {shownCode !== undefined && shownCode !== '' && (
        <CodeSection code={shownCode} chars={result?.cell?.codeChars} isOpen={result === undefined} />
      )}
    </main>
  );
}

const TONES: Readonly<Record<string, string>> = { success: 'good', running: 'busy', cancelled: 'warn' };

function Head({ result, status }: { readonly status: string; readonly result: ShownResult | undefined }) {
  const calls = result?.cell && result.cell.calls.length + result.cell.callsLeftOut;
  const facts = [
    result?.errorCode,
    result?.cell && formatDuration(result.cell.durationMs),
    calls === undefined || calls === 0 ? undefined : formatNumberOf(calls, 'call'),
    result?.session && `session ${result.session}`,
  ].filter((fact) => fact !== undefined && fact !== '');
  return (
    <p class="chat-head" role="status">
      <span class={`badge ${TONES[status] ?? 'bad'}`}>{makeVisible(status.replaceAll('_', ' '))}</span>
      {facts.map((fact, index) => (
        <span key={index} class="dim">
          <Shown text={fact ?? ''} />
        </span>
      ))}
    </p>
  );
}

function Output({ result: { others, pictures, texts } }: { readonly result: ShownResult }) {
  return (
    <>
      {pictures.map((address, index) => (
        <img key={index} class="picture" src={address} alt={`Picture ${index + 1} of the answer`} />
      ))}
      {texts.map((part) => (
        <TextPart key={part.title} part={part} />
      ))}
      {others.map((text, index) => (
        <p key={index} class="dim quiet-box">
          <Shown text={text} />
        </p>
      ))}
    </>
  );
}

function TextPart({ part: { text, title } }: { readonly part: ShownText }) {
  const frame = title === 'Value' ? readFrame(text) : undefined;
  return (
    <Section title={title} isBad={title === 'Error'}>
      {frame === undefined ? <TextLines text={text} label={title} /> : <Frame frame={frame} />}
    </Section>
  );
}

function Frame({ frame: { columns, heading, rows } }: { readonly frame: FrameTable }) {
  return (
    <DataTable
      caption={heading}
      showsCaption
      columns={columns.map(({ isNumber, title }, index) =>
        title === ''
          ? { title: index === 0 ? 'Index' : `Column ${index}`, isQuiet: true }
          : { title: makeVisible(title), isNumber },
      )}
      rows={rows.map((cells, index) => ({
        key: String(index),
        cells: cells.map((cell, column) => <Shown key={column} text={cell} />),
      }))}
    />
  );
}

function Calls({ cell: { calls, callsLeftOut, durationMs } }: { readonly cell: ShownCell }) {
  if (calls.length === 0) {
    return null;
  }
  const timed = calls.map(({ durationMs: took, startMs, ...call }, index) => ({
    ...call,
    key: String(index),
    startedAt: startMs,
    endedAt: startMs + took,
  }));
  return (
    <Section title="Calls">
      <Waterfall calls={timed} span={spanOf(timed, 0, durationMs)} label="Calls of the cell" />
      {callsLeftOut > 0 && <p class="dim">{formatNumberOf(callsLeftOut, 'call')} more are not shown.</p>}
    </Section>
  );
}

interface CodeProps {
  readonly code: string;
  readonly chars: number | undefined;
  readonly isOpen: boolean;
}

function CodeSection({ chars, code, isOpen }: CodeProps) {
  const lines = code.replace(/\n$/, '').split('\n').length;
  return (
    <details class="part" open={isOpen || lines <= OPEN_LINES}>
      <summary>
        <h2>Code</h2> <span class="dim">{formatNumberOf(lines, 'line')}</span>
      </summary>
      <CodeLines code={code} label="Code of the cell" />
      {chars !== undefined && <p class="dim">The code has {formatCount(chars)} characters; its end is not shown.</p>}
    </details>
  );
}

interface SectionProps {
  readonly title: string;
  readonly isBad?: boolean;
  readonly children: ComponentChildren;
}

function Section({ children, isBad = false, title }: SectionProps) {
  return (
    <section class={isBad ? 'part bad' : 'part'} aria-label={title}>
      <h2>{title}</h2>
      {children}
    </section>
  );
}
