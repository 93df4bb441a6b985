/** A scrolling list of rows of one height that draws only those in sight, so its length does not matter. */
import type { ComponentChildren, RefObject } from 'preact';
import { useCallback, useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks';

/** Rows above and below those in sight, so that scrolling shows no gaps. */
const MARGIN = 12;
const FIRST_HEIGHT = 400;
/** How near the end counts as the end. */
const END_PX = 24;

export interface VirtualListProps {
  readonly count: number;
  readonly rowHeight: number;
  readonly row: (index: number) => ComponentChildren;
  readonly label: string;
  readonly class: string;
  /** Stays at the end while rows are added, until the reader scrolls up. */
  readonly follows?: boolean;
  /** Roles of the list and of the part that holds the rows. */
  readonly role?: 'table' | 'group';
  readonly header?: ComponentChildren;
}

export function VirtualList(props: VirtualListProps) {
  const { count, follows = false, header, label, role = 'group', row, rowHeight } = props;
  const box = useRef<HTMLDivElement>(null);
  const isAtEnd = useRef(true);
  const [sight, setSight] = useState({ top: 0, height: FIRST_HEIGHT });
  useSize(box, (height) => setSight((old) => (old.height === height ? old : { ...old, height })));
  useLayoutEffect(() => {
    if (follows && isAtEnd.current && box.current !== null) {
      box.current.scrollTop = box.current.scrollHeight;
    }
  }, [count, follows]);
  const onScroll = useCallback(() => {
    const element = box.current;
    if (element !== null) {
      isAtEnd.current = element.scrollHeight - element.scrollTop - element.clientHeight < END_PX;
      setSight({ top: element.scrollTop, height: element.clientHeight });
    }
  }, []);
  const first = Math.max(0, Math.floor(sight.top / rowHeight) - MARGIN);
  const last = Math.min(count, Math.ceil((sight.top + sight.height) / rowHeight) + MARGIN);
  // After a shorter list, the old position may be below its end.
  const start = Math.min(first, Math.max(0, count - 1));
  const rows = Array.from({ length: Math.max(0, last - start) }, (_, index) => row(start + index));
  const isTable = role === 'table';
  return (
    <div
      ref={box}
      class={`virtual ${props.class}`}
      role={role}
      aria-label={label}
      aria-rowcount={isTable ? count + (header === undefined ? 0 : 1) : undefined}
      tabIndex={0}
      onScroll={onScroll}
    >
      {header}
      <div class="virtual-space" style={{ height: `${count * rowHeight}px` }} role={isTable ? 'rowgroup' : undefined}>
        <div
          class="virtual-rows"
          style={{ transform: `translateY(${start * rowHeight}px)` }}
          role={isTable ? 'presentation' : undefined}
        >
          {rows}
        </div>
      </div>
    </div>
  );
}

function useSize(box: RefObject<HTMLElement | null>, changed: (height: number) => void): void {
  useEffect(() => {
    const element = box.current;
    if (element === null) {
      return undefined;
    }
    const observer = new ResizeObserver(() => changed(element.clientHeight));
    observer.observe(element);
    return () => observer.disconnect();
  }, [box]);
}
