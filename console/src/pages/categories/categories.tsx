/** The categories by which recipients choose what they get. */
import { Group, Text } from '@mantine/core';
import { IconTags } from '@tabler/icons-react';
import { useNavigate } from 'react-router';
import type { Category } from '../../api-types.ts';
import { generalSlug, useCategories } from '../../categories.ts';
import { getChannelType } from '../../channel-types.ts';
import { GuardedButton } from '../../components/actions.tsx';
import { type Column, DataTable } from '../../components/data-table.tsx';
import { Mark } from '../../components/mark.tsx';
import { Page } from '../../components/page.tsx';
import { Empty } from '../../components/states.tsx';
import { to, useOrg } from '../../paths.ts';
import { texts } from '../../texts/preferences.ts';
import { exceptionsOf } from './category-values.ts';

type Row = Category & { isBuiltIn?: boolean };

const general: Row = {
  slug: generalSlug,
  name: texts.general,
  description: texts.generalHint,
  kind: 'transactional',
  default: true,
  channel_defaults: {},
  channels: null,
  quiet_hours: 'respect',
  track: false,
  locales: {},
  isBuiltIn: true,
};

export function defaultOf(category: Category): string {
  if (category.kind === 'required') return texts.alwaysOn;
  const exceptions = exceptionsOf(category).map(type => getChannelType(type).name);
  if (exceptions.length === 0) return category.default ? texts.on : texts.off;
  return category.default ? texts.onExcept(exceptions.join(', ')) : texts.offExcept(exceptions.join(', '));
}

const kindColors: Record<string, string> = { required: 'red', transactional: 'blue', promotional: 'violet' };

export function KindMark({ kind }: { kind: string }) {
  return (
    <Mark color={kindColors[kind] ?? 'gray'} meaning={texts.kindMeanings[kind]}>
      {texts.kinds[kind] ?? kind}
    </Mark>
  );
}

const columns: Column<Row>[] = [
  {
    head: texts.category,
    cell: ({ name, description, isBuiltIn }) => (
      <>
        <Group component="span" gap="xs">
          <Text component="span" size="sm" fw={500}>
            {name}
          </Text>
          {isBuiltIn && <Mark color="gray">{texts.builtIn}</Mark>}
        </Group>
        {description && (
          <Text component="span" display="block" size="xs" c="dimmed">
            {description}
          </Text>
        )}
      </>
    ),
  },
  { head: texts.kind, width: 150, cell: ({ kind }) => <KindMark kind={kind} /> },
  { head: texts.byDefault, from: 'xs', width: '25%', cell: category => <Text size="sm">{defaultOf(category)}</Text> },
  {
    head: texts.offeredChannels,
    from: 'md',
    width: '25%',
    cell: ({ channels }) => (
      <Text size="sm">{channels?.map(type => getChannelType(type).name).join(', ') ?? texts.allChannelTypes}</Text>
    ),
  },
];

export default function Categories() {
  const org = useOrg();
  const navigate = useNavigate();
  const { data, error, isPending, refetch } = useCategories();
  const create = (
    <GuardedButton permission="category:write" onClick={() => void navigate(to.newCategory(org))}>
      {texts.newCategory}
    </GuardedButton>
  );
  const own: Row[] = data ?? [];
  const rows = own.length === 0 || own.some(({ slug }) => slug === generalSlug) ? own : [...own, general];
  return (
    <Page title={texts.categories} description={texts.categoriesDescription} actions={create}>
      <div className="card">
        <DataTable
          label={texts.categories}
          list={{ rows, loading: isPending, error: data ? null : error, retry: () => void refetch() }}
          columns={columns}
          rowKey={({ slug }) => slug}
          rowTo={({ slug }) => to.category(org, slug)}
          empty={
            <Empty icon={<IconTags size={26} stroke={1.4} />} title={texts.noCategoriesYet} action={create}>
              {texts.noCategoriesHint}
            </Empty>
          }
        />
      </div>
    </Page>
  );
}
