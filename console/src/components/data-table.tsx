/**
 * A table over a list query: skeleton, empty and error states, rows, and further pages as the end scrolls into view.
 */
import { Box, Button, Center, Checkbox, Skeleton, Table, VisuallyHidden } from '@mantine/core';
import { useIntersection } from '@mantine/hooks';
import { type MouseEvent, type ReactNode, useEffect } from 'react';
import { Link } from 'react-router';
import { texts } from '../texts/common.ts';
import { Failure } from './states.tsx';
import type { List } from './use-list.ts';

export interface Column<Row> {
  /** Header of the column; also its key. */
  head: string;
  cell: (row: Row) => ReactNode;
  align?: 'left' | 'right';
  width?: number | string;
  /** Smallest breakpoint at which the column is shown. */
  from?: 'xs' | 'sm' | 'md' | 'lg';
  /** Hides the header visually, for columns of buttons. */
  hidesHeader?: boolean;
}

export interface DataTableProps<Row> {
  /** Accessible name of the table, instead of a visible caption. */
  label: string;
  list: Pick<List<Row>, 'rows' | 'loading' | 'error'> & Partial<List<Row>>;
  columns: Column<Row>[];
  rowKey: (row: Row) => string | number;
  /** Makes the first cell a link that covers the row. */
  rowTo?: (row: Row) => string;
  empty: ReactNode;
  /** Loads further rows only on request, for tables with other content below them. */
  loadsManually?: boolean;
  selection?: Selection<Row>;
}

/** Row selection by checkboxes; the keys are those of `rowKey`. */
export interface Selection<Row> {
  selected: ReadonlySet<string>;
  onChange: (selected: ReadonlySet<string>) => void;
  /** Accessible name of a row's checkbox. */
  label: (row: Row) => string;
}

export function DataTable<Row>(props: DataTableProps<Row>) {
  const { label, list, columns, rowKey, rowTo, empty, loadsManually = false, selection } = props;
  const { ref, entry } = useIntersection({ rootMargin: '400px' });
  const { rows, loading, error, retry, hasMore = false, loadingMore = false, loadMore } = list;
  const atEnd = !loadsManually && (entry?.isIntersecting ?? false);
  useEffect(() => {
    if (atEnd && hasMore && !loadingMore) loadMore?.();
  }, [atEnd, hasMore, loadingMore, loadMore]);

  if (error) return <Failure error={error} retry={retry} />;
  // Rare rows may not be on the pages that were searched so far.
  if (!loading && rows.length === 0 && !hasMore) return empty;
  const keys = selection ? rows.map(row => String(rowKey(row))) : [];
  const chosen = keys.filter(key => selection?.selected.has(key)).length;
  return (
    <Box style={{ overflowX: 'auto' }} aria-busy={loading}>
      <Table className="table" layout={columns.some(column => column.width) ? 'auto' : undefined}>
        <caption hidden>{label}</caption>
        <Table.Thead>
          <Table.Tr>
            {selection && (
              <Table.Th w={40} scope="col">
                <Checkbox
                  size="xs"
                  aria-label={texts.selectAllRows}
                  checked={chosen > 0 && chosen === keys.length}
                  indeterminate={chosen > 0 && chosen < keys.length}
                  onChange={event => selection.onChange(new Set(event.currentTarget.checked ? keys : []))}
                />
              </Table.Th>
            )}
            {columns.map(({ head, align, width, from, hidesHeader }) => (
              <Table.Th key={head} w={width} ta={align} visibleFrom={from} scope="col">
                {hidesHeader ? <VisuallyHidden>{head}</VisuallyHidden> : head}
              </Table.Th>
            ))}
          </Table.Tr>
        </Table.Thead>
        <Table.Tbody>
          {loading
            ? skeletonRows.map(row => (
                <Table.Tr key={row}>
                  {selection && <Table.Td />}
                  {columns.map(({ head, from }) => (
                    <Table.Td key={head} visibleFrom={from}>
                      <Skeleton height={10} my={5} width={`${45 + ((row * 17 + head.length * 7) % 45)}%`} />
                    </Table.Td>
                  ))}
                </Table.Tr>
              ))
            : rows.map(row => (
                <Table.Tr key={rowKey(row)} className={rowTo && 'linked'} onClick={rowTo && followFromTip}>
                  {selection && (
                    <Table.Td>
                      <Checkbox
                        size="xs"
                        aria-label={selection.label(row)}
                        checked={selection.selected.has(String(rowKey(row)))}
                        onChange={event =>
                          selection.onChange(
                            toggled(selection.selected, String(rowKey(row)), event.currentTarget.checked),
                          )
                        }
                      />
                    </Table.Td>
                  )}
                  {columns.map(({ head, cell, align, from }, i) => (
                    <Table.Td key={head} ta={align} visibleFrom={from}>
                      {i === 0 && rowTo ? (
                        <Link to={rowTo(row)} className="rowlink">
                          {cell(row)}
                        </Link>
                      ) : (
                        cell(row)
                      )}
                    </Table.Td>
                  ))}
                </Table.Tr>
              ))}
        </Table.Tbody>
      </Table>
      {hasMore && (
        <Center ref={ref} py="sm">
          <Button variant="subtle" loading={loadingMore} onClick={() => loadMore?.()}>
            {texts.loadMore}
          </Button>
        </Center>
      )}
    </Box>
  );
}

/** Elements with a tooltip are above the row's link; a click on one follows the link, in a new tab if a key says so. */
function followFromTip({ target, currentTarget, nativeEvent }: MouseEvent<HTMLTableRowElement>): void {
  if (!(target instanceof Element) || !target.closest('.tip') || target.closest('.rowlink')) return;
  currentTarget.querySelector('.rowlink')?.dispatchEvent(new window.MouseEvent('click', nativeEvent));
}

function toggled(selected: ReadonlySet<string>, key: string, isOn: boolean): ReadonlySet<string> {
  const after = new Set(selected);
  if (isOn) after.add(key);
  else after.delete(key);
  return after;
}

const skeletonRows = [0, 1, 2, 3, 4, 5, 6, 7];
