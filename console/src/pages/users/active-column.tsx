/** Table column that marks inactive rows. */
import type { Column } from '../../components/data-table.tsx';
import { Mark } from '../../components/mark.tsx';
import { texts } from '../../texts/users.ts';

export const activeColumn: Column<{ active: boolean }> = {
  head: texts.state,
  align: 'right',
  width: 80,
  hidesHeader: true,
  cell: ({ active }) => active || <Mark color="gray">{texts.inactive}</Mark>,
};
