/** A page with one table, and with a button that opens the dialog for a new row. */
import { Box, Group } from '@mantine/core';
import { type Icon, IconPlus } from '@tabler/icons-react';
import type { ReactNode } from 'react';
import { GuardedButton } from './actions.tsx';
import { DataTable, type DataTableProps } from './data-table.tsx';
import { Page } from './page.tsx';
import { Empty } from './states.tsx';
import { useDialogParam } from './use-dialog-param.ts';

export interface Creation {
  permission: string;
  /** Label of the button. */
  label: string;
  dialog: (close: () => void) => ReactNode;
}

interface TablePageProps<Row> extends Pick<DataTableProps<Row>, 'list' | 'columns' | 'rowKey' | 'rowTo'> {
  title: string;
  description: string;
  create: Creation;
  /** Buttons before the one that creates. */
  actions?: ReactNode;
  filters?: ReactNode;
  empty: { icon: Icon; title: string; hint: string };
  /** Shown instead of `empty`, while filters are set. */
  noMatches?: { title: string; hint: string } | false;
  /** Further dialogs. */
  children?: ReactNode;
}

export function TablePage<Row>(props: TablePageProps<Row>) {
  const { title, description, create, actions, filters, empty, noMatches, children, ...table } = props;
  const [isCreating, setCreating] = useDialogParam();
  const button = (
    <GuardedButton
      permission={create.permission}
      leftSection={<IconPlus size={14} />}
      onClick={() => setCreating(true)}
    >
      {create.label}
    </GuardedButton>
  );
  const emptyState = noMatches ? (
    <Empty title={noMatches.title}>{noMatches.hint}</Empty>
  ) : (
    <Empty icon={<empty.icon size={28} stroke={1.4} />} title={empty.title} action={button}>
      {empty.hint}
    </Empty>
  );
  return (
    <Page
      title={title}
      description={description}
      actions={
        <>
          {actions}
          {button}
        </>
      }
    >
      <Box className="card">
        {filters && (
          <Group p="sm" role="search">
            {filters}
          </Group>
        )}
        <DataTable label={title} empty={emptyState} {...table} />
      </Box>
      {isCreating && create.dialog(() => setCreating(false))}
      {children}
    </Page>
  );
}
