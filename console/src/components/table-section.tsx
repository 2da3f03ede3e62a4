/** A card with one table, and with a button that opens the dialog for a new row. */
import { type ButtonVariant, Text } from '@mantine/core';
import { type Icon, IconPlus } from '@tabler/icons-react';
import { type ReactNode, useState } from 'react';
import { GuardedButton } from './actions.tsx';
import { DataTable, type DataTableProps } from './data-table.tsx';
import { Section } from './page.tsx';
import { Empty } from './states.tsx';
import type { Creation } from './table-page.tsx';

interface TableSectionProps<Row> extends Pick<DataTableProps<Row>, 'list' | 'columns' | 'rowKey'> {
  title: string;
  hint: string;
  create: Creation & { icon?: Icon; variant?: ButtonVariant };
  empty: { title: string; hint: string };
  /** Further dialogs. */
  children?: ReactNode;
}

export function TableSection<Row>({ title, hint, create, empty, children, ...table }: TableSectionProps<Row>) {
  const [isCreating, setCreating] = useState(false);
  const { permission, label, icon: ButtonIcon = IconPlus, variant, dialog } = create;
  const button = (
    <GuardedButton
      permission={permission}
      variant={variant}
      size="xs"
      leftSection={<ButtonIcon size={14} />}
      onClick={() => setCreating(true)}
    >
      {label}
    </GuardedButton>
  );
  return (
    <Section title={title} aside={button} padded={false}>
      <Text size="sm" c="dimmed" px="md" pb="xs">
        {hint}
      </Text>
      <DataTable label={title} empty={<Empty title={empty.title}>{empty.hint}</Empty>} {...table} />
      {isCreating && dialog(() => setCreating(false))}
      {children}
    </Section>
  );
}
