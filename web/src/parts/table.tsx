/** A table that can be sorted, and that becomes a list of cards where there is little room. */

import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";

export interface Column<T> {
  title: string;
  cell: (row: T) => ComponentChildren;
  /** Figures stand at the right. */
  figure?: boolean;
  /** By what it is sorted; none: it cannot be. */
  sort?: (row: T) => number | string | null | undefined;
  /** The heading is only for screen readers. */
  quiet?: boolean;
}

interface Props<T> {
  caption: string;
  columns: Column<T>[];
  rows: T[];
  rowKey: (row: T) => string | number;
  rowClass?: (row: T) => string;
  /** Where a row becomes a card, three short cells stand side by side. */
  dense?: boolean;
  /** Further classes: columns that are as wide as those of another table, or a table that stays one on a phone. */
  kind?: "jobs" | "sides" | "differences";
}

interface Order {
  column: number;
  down: boolean;
}

// The roles are named because a table that is displayed as anything else loses them.
export function Table<T>({ caption, columns, rows, rowKey, rowClass, dense = false, kind }: Props<T>) {
  const [order, setOrder] = useState<Order | null>(null);
  const by = order === null ? undefined : columns[order.column]?.sort;
  const shown = by && order ? sorted(rows, by, order.down) : rows;
  return (
    <div class={["table", dense && "dense", kind].filter(Boolean).join(" ")} tabIndex={0} role="region" aria-label={caption}>
      <table role="table">
        <caption class="hidden">{caption}</caption>
        <thead role="rowgroup">
          <tr role="row">
            {columns.map((column, index) => (
              <th
                key={column.title}
                role="columnheader"
                scope="col"
                class={column.figure ? "figure" : undefined}
                aria-sort={order?.column === index ? (order.down ? "descending" : "ascending") : undefined}
              >
                {column.sort ? (
                  <button type="button" class="sort" onClick={() => setOrder(turned(order, index))}>
                    {column.title}
                  </button>
                ) : (
                  <span class={column.quiet ? "hidden" : undefined}>{column.title}</span>
                )}
              </th>
            ))}
          </tr>
        </thead>
        <tbody role="rowgroup">
          {shown.map((row) => (
            <tr key={rowKey(row)} role="row" class={rowClass?.(row)}>
              {columns.map((column) => (
                <td
                  key={column.title}
                  role="cell"
                  data-title={column.quiet ? "" : column.title}
                  class={column.figure ? "figure" : undefined}
                >
                  {column.cell(row)}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

function turned(order: Order | null, column: number): Order | null {
  if (order?.column !== column) return { column, down: true };
  return order.down ? { column, down: false } : null;
}

function sorted<T>(rows: T[], by: NonNullable<Column<T>["sort"]>, down: boolean): T[] {
  const sign = down ? -1 : 1;
  return [...rows].sort((a, b) => {
    const [left, right] = [by(a), by(b)];
    // what is not known is last, whichever way round
    if (left === null || left === undefined) return right === null || right === undefined ? 0 : 1;
    if (right === null || right === undefined) return -1;
    return sign * (left < right ? -1 : left > right ? 1 : 0);
  });
}
