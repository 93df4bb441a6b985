/** Lines of Python with colors and numbers, and of other long texts. */
import type { ComponentChildren } from 'preact';
import { useMemo } from 'preact/hooks';
import { formatNumberOf } from '../format.ts';
import { type CodeToken, tokenizePython } from '../python-tokens.ts';
import { Shown } from './text.tsx';
import { VirtualList } from './virtual-list.tsx';

const LINE_PX = 20;
/** Longer texts draw only the lines in sight. */
const MAX_PLAIN_LINES = 400;
const MAX_LINE_CHARS = 2_000;

interface LinesProps {
  readonly label: string;
  /** Beside the lines, such as a button. */
  readonly beside?: ComponentChildren;
}

export function CodeLines({ beside, code, label }: LinesProps & { readonly code: string }) {
  const lines = useMemo(() => tokenizePython(withoutEnd(code)), [code]);
  return (
    <LineBox
      label={label}
      beside={beside}
      count={lines.length}
      hasNumbers
      line={(index) => lines[index]?.map((token, position) => <Piece key={position} token={token} />)}
    />
  );
}

/** Any text, with line ends as they are. */
export function TextLines({ beside, label, links = false, text }: LinesProps & { text: string; links?: boolean }) {
  const lines = useMemo(
    () =>
      withoutEnd(text)
        .split(/\r\n|\n|\r/)
        .flatMap(inPieces),
    [text],
  );
  const line = (index: number) => <Shown text={lines[index] ?? ''} links={links} />;
  return <LineBox label={label} beside={beside} count={lines.length} line={line} />;
}

/** A line feed at the end is no line of its own. */
function withoutEnd(text: string): string {
  return text.replace(/\r?\n$/, '');
}

/** One very long line would make the browser lay out all of it. */
function inPieces(line: string): string[] {
  const count = Math.max(1, Math.ceil(line.length / MAX_LINE_CHARS));
  return Array.from({ length: count }, (_, index) => line.slice(index * MAX_LINE_CHARS, (index + 1) * MAX_LINE_CHARS));
}

function Piece({ token: { kind, text } }: { readonly token: CodeToken }) {
  return kind === 'text' ? (
    <Shown text={text} />
  ) : (
    <span class={`py-${kind}`}>
      <Shown text={text} />
    </span>
  );
}

interface LineBoxProps extends LinesProps {
  readonly count: number;
  readonly hasNumbers?: boolean;
  readonly line: (index: number) => ComponentChildren;
}

function LineBox({ beside, count, hasNumbers = false, label, line }: LineBoxProps) {
  const row = (index: number) => (
    <div class="line" key={index}>
      {hasNumbers && (
        <span class="line-number" aria-hidden="true">
          {index + 1}
        </span>
      )}
      <code>{line(index)}</code>
    </div>
  );
  const isLong = count > MAX_PLAIN_LINES;
  return (
    <div class="code-box">
      {isLong ? (
        <VirtualList
          class="code"
          count={count}
          rowHeight={LINE_PX}
          row={row}
          label={`${label}, ${formatNumberOf(count, 'line')}`}
        />
      ) : (
        <div class="code" tabIndex={0} role="group" aria-label={label}>
          {Array.from({ length: count }, (_, index) => row(index))}
        </div>
      )}
      {beside}
    </div>
  );
}
