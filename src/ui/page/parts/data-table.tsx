/** A table with a caption, headers, and room to scroll in narrow windows. */
import type { ComponentChildren } from 'preact';
import { makeVisible } from '../../../catalog/visible.ts';

export interface TableColumn {
  readonly title: string;
  /** Numbers are aligned on the right. */
  readonly isNumber?: boolean;
  /** A column whose title is only for screen readers. */
  readonly isQuiet?: boolean;
}

interface DataTableProps {
  readonly caption: string;
  readonly columns: readonly TableColumn[];
  /** The first cell of a row is its header. */
  readonly rows: readonly { readonly key: string; readonly cells: readonly ComponentChildren[] }[];
  readonly showsCaption?: boolean;
}

export function DataTable({ caption, columns, rows, showsCaption = false }: DataTableProps) {
  return (
    <div class="table-box" tabIndex={0} role="group" aria-label={makeVisible(caption)}>
      <table>
        <caption class={showsCaption ? '' : 'quiet'}>{makeVisible(caption)}</caption>
        <thead>
          <tr>
            {columns.map(({ isNumber, isQuiet, title }) => (
              <th key={title} scope="col" class={isNumber === true ? 'number' : ''}>
                {isQuiet === true ? <span class="quiet">{title}</span> : title}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map(({ cells, key }) => (
            <tr key={key}>
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
          ))}
        </tbody>
      </table>
    </div>
  );
}
