/** A table with a caption, headers, and room to scroll in narrow windows. */
import { type ComponentChildren, Fragment } from 'preact';
import { makeVisible } from '../../../../core/catalog/visible.ts';

export interface TableColumn {
  readonly title: string;
  /** Numbers are aligned on the right. */
  readonly isNumber?: boolean;
  /** A column whose title is only for screen readers. */
  readonly isQuiet?: boolean;
  /** The title is then a button that sorts by this column. */
  readonly sort?: { readonly by: 'ascending' | 'descending' | 'none'; readonly press: () => void };
}

const MARKS = { ascending: ' ▲', descending: ' ▼', none: '' } as const;

interface DataTableProps {
  readonly caption: string;
  readonly columns: readonly TableColumn[];
  /** The first cell of a row is its header. */
  readonly rows: readonly {
    readonly key: string;
    readonly cells: readonly ComponentChildren[];
    /** A row of its own below, as wide as the table. */
    readonly below?: ComponentChildren;
  }[];
  readonly showsCaption?: boolean;
}

export function DataTable({ caption, columns, rows, showsCaption = false }: DataTableProps) {
  return (
    <div class="table-box" tabIndex={0} role="group" aria-label={makeVisible(caption)}>
      <table>
        <caption class={showsCaption ? '' : 'quiet'}>{makeVisible(caption)}</caption>
        <thead>
          <tr>
            {columns.map(({ isNumber, isQuiet, sort, title }) => (
              <th key={title} scope="col" class={isNumber === true ? 'number' : ''} aria-sort={sort?.by}>
                <ColumnTitle isQuiet={isQuiet} sort={sort} title={title} />
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map(({ below, cells, key }) => (
            <Fragment key={key}>
              <tr>
                {cells.map((cell, index) =>
                  index === 0 ? (
                    <th key={index} scope="row">
                      {cell}
                    </th>
                  ) : (
                    <td
                      key={index}
                      class={columns[index]?.isNumber === true ? 'number' : ''}
                      data-label={columns[index]?.title}
                    >
                      {cell}
                    </td>
                  ),
                )}
              </tr>
              {below !== undefined && (
                <tr>
                  <td colSpan={columns.length}>{below}</td>
                </tr>
              )}
            </Fragment>
          ))}
        </tbody>
      </table>
    </div>
  );
}

function ColumnTitle({
  isQuiet = false,
  sort,
  title,
}: Pick<TableColumn, 'title'> & {
  readonly isQuiet: boolean | undefined;
  readonly sort: TableColumn['sort'] | undefined;
}) {
  if (sort === undefined) {
    return isQuiet ? <span class="quiet">{title}</span> : <>{title}</>;
  }
  return (
    <button type="button" class="link-button" onClick={sort.press}>
      {title}
      <span aria-hidden="true">{MARKS[sort.by]}</span>
    </button>
  );
}
