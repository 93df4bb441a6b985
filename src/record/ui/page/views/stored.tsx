/** Stored: packages, saved functions, saved sessions and artifacts, with their sizes; each can be removed. */
import { useState } from 'preact/hooks';
import type { UiStoredItem, UiStoredKind } from '../../schema.ts';
import { pathTo, send } from '../api.ts';
import { formatBytes, formatNumberOf, formatWhen } from '../format.ts';
import { Attachment, download } from '../parts/attachment.tsx';
import { ActionButton, confirmFirst, Empty, Problem } from '../parts/controls.tsx';
import { DataTable, type TableColumn } from '../parts/data-table.tsx';
import { Shown } from '../parts/text.tsx';
import { useLoad } from '../parts/use-load.ts';
import { clock, focusHeading } from '../store.ts';

interface StoredList {
  readonly items: readonly UiStoredItem[];
  readonly problem?: string;
}

interface Kind {
  readonly kind: UiStoredKind;
  readonly title: string;
  readonly noun: string;
  readonly empty: string;
  readonly loss: string;
}

const KINDS: readonly Kind[] = [
  {
    kind: 'packages',
    title: 'Packages',
    noun: 'package',
    empty: 'Packages that code installs are kept here, so that they are fetched only once.',
    loss: 'The next session that needs it fetches it again.',
  },
  {
    kind: 'functions',
    title: 'Saved functions',
    noun: 'function',
    empty: 'Save a function from a cell in History, or let code call runtime.save_tool.',
    loss: 'Code can no longer call it. It cannot be brought back.',
  },
  {
    kind: 'checkpoints',
    title: 'Saved sessions',
    noun: 'saved session',
    empty: 'Sessions with a name are saved here soon after each cell, so that later bridges can continue them.',
    loss: 'A later bridge starts this session without its variables and files. Checkpoints that it has named are removed, too.',
  },
  {
    kind: 'artifacts',
    title: 'Artifacts',
    noun: 'artifact',
    empty: 'Files that code saves with runtime.save_artifact are listed here.',
    loss: 'The file is deleted. Links to it in answers no longer work.',
  },
];

export function StoredView() {
  return (
    <>
      {KINDS.map((kind) => (
        <StoredPart key={kind.kind} {...kind} />
      ))}
    </>
  );
}

function StoredPart(props: Kind) {
  const { empty, kind, noun, title } = props;
  const { data, error, reload } = useLoad<StoredList>(pathTo(['stored', kind]));
  const items = data?.items ?? [];
  const bytes = items.reduce((sum, item) => sum + item.bytes, 0);
  return (
    <section aria-labelledby={kind} class="stored">
      <h2 id={kind} tabIndex={-1}>
        {title}{' '}
        {items.length > 0 && <span class="dim">{`${formatNumberOf(items.length, noun)}, ${formatBytes(bytes)}`}</span>}
      </h2>
      {error !== undefined && <Problem error={error} retry={reload} />}
      {data === undefined && error === undefined && <p class="loading">Reading…</p>}
      {data?.problem !== undefined && (
        <p class="note">
          <Shown text={data.problem} />
        </p>
      )}
      {data !== undefined && items.length === 0 && data.problem === undefined && (
        <Empty title={`There is no ${noun}.`}>{empty}</Empty>
      )}
      {items.length > 0 && <ItemTable {...props} items={items} reload={reload} />}
    </section>
  );
}

const COLUMNS: readonly TableColumn[] = [
  { title: 'Name' },
  { title: 'About' },
  { title: 'Stored or used' },
  { title: 'Size', isNumber: true },
  { title: 'Actions', isQuiet: true },
];

interface ItemsProps extends Kind {
  readonly items: readonly UiStoredItem[];
  readonly reload: () => void;
}

/** Kinds whose content can be read. */
const SHOWN: readonly UiStoredKind[] = ['functions', 'artifacts'];

function ItemTable(props: ItemsProps) {
  const [shown, setShown] = useState<string>();
  return (
    <DataTable
      caption={props.title}
      columns={COLUMNS}
      rows={props.items.map((item) => ({
        key: item.id,
        below: shown === item.id ? <Preview kind={props.kind} item={item} /> : undefined,
        cells: [
          SHOWN.includes(props.kind) ? (
            <OpeningName
              key="name"
              name={item.name}
              isOpen={shown === item.id}
              press={() => setShown(shown === item.id ? undefined : item.id)}
            />
          ) : (
            <Shown key="name" text={item.name} />
          ),
          <Shown key="about" text={item.detail ?? item.mime_type ?? ''} />,
          item.at === undefined ? '' : formatWhen(item.at, clock.peek()),
          formatBytes(item.bytes),
          <ItemActions key="actions" {...props} item={item} />,
        ],
      }))}
    />
  );
}

function OpeningName({
  isOpen,
  name,
  press,
}: {
  readonly name: string;
  readonly isOpen: boolean;
  readonly press: () => void;
}) {
  return (
    <button type="button" class="link-button" aria-expanded={isOpen} onClick={press}>
      <span aria-hidden="true">{isOpen ? '▾ ' : '▸ '}</span>
      <Shown text={name} />
    </button>
  );
}

function Preview({ item, kind }: { readonly item: UiStoredItem; readonly kind: UiStoredKind }) {
  const type = kind === 'functions' ? 'text/x-python' : (item.mime_type ?? '');
  const url = pathTo(['stored', kind, 'content'], { id: item.id });
  return <Attachment attachment={{ name: item.name, mime_type: type, size: item.bytes, url }} isOpen />;
}

function ItemActions({ item, kind, loss, noun, reload }: ItemsProps & { readonly item: UiStoredItem }) {
  const { id, name, removable, why_not: whyNot } = item;
  const remove = async (): Promise<unknown> => {
    if (!(await confirmFirst(`Remove this ${noun}?`, <RemovalText name={name} loss={loss} />, 'Remove'))) {
      return false;
    }
    await send(pathTo(['stored', kind], { id }), { method: 'DELETE' });
    reload();
    focusHeading(kind);
    return true;
  };
  const content = pathTo(['stored', 'artifacts', 'content'], { id });
  return (
    <div class="buttons end">
      {kind === 'artifacts' && (
        <ActionButton label="Download" name={`Download ${name}`} act={() => download(content, name)} />
      )}
      <ActionButton
        label="Remove"
        kind="danger"
        name={`Remove ${name}`}
        disabled={!removable}
        title={whyNot}
        act={remove}
        done="Removed."
      />
      {whyNot !== undefined && (
        <span class="under dim">
          <Shown text={whyNot} />
        </span>
      )}
    </div>
  );
}

function RemovalText({ loss, name }: { readonly name: string; readonly loss: string }) {
  return (
    <>
      <p>
        <strong>
          <Shown text={name} />
        </strong>
      </p>
      <p>{loss}</p>
    </>
  );
}
