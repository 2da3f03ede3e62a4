/** One category: its settings and its events. */
import { Grid, Text } from '@mantine/core';
import { useState } from 'react';
import { useNavigate, useParams } from 'react-router';
import { ApiError, api, take } from '../../api.ts';
import type { Category as CategoryData, OrganizationEvent } from '../../api-types.ts';
import { generalSlug } from '../../categories.ts';
import { GuardedButton } from '../../components/actions.tsx';
import { ApiForm, useApiForm } from '../../components/api-form.tsx';
import { CopyText } from '../../components/copy.tsx';
import { type Column, DataTable } from '../../components/data-table.tsx';
import { Deletion } from '../../components/deletion.tsx';
import { Mark } from '../../components/mark.tsx';
import { MoreMenu } from '../../components/more-menu.tsx';
import { NameWithAddress } from '../../components/name-with-address.tsx';
import { Page, Section } from '../../components/page.tsx';
import { pendingPage } from '../../components/pending.tsx';
import { useEditable } from '../../components/use-editable.ts';
import { useList } from '../../components/use-list.ts';
import { linkToEvent, to, useOrg } from '../../paths.ts';
import { pages, readTagged } from '../../queries.ts';
import { useCan, useRefusal } from '../../session.tsx';
import { texts } from '../../texts/preferences.ts';
import { KindMark } from './categories.tsx';
import { CategoryFields } from './category-fields.tsx';
import { fieldsOf, validate, valuesOf } from './category-values.ts';

export default function Category() {
  const org = useOrg();
  const { category: slug = '' } = useParams();
  const { query, filled, refill } = useEditable(
    readTagged('/api/o/{org}/categories/{category}/', { path: { org, category: slug } }),
  );
  const { data, error } = query;
  const parents = [{ label: texts.categories, to: to.categories(org) }];
  if (error instanceof ApiError && error.status === 404 && slug === generalSlug) return <General parents={parents} />;
  if (!data) return pendingPage(slug, parents, query);
  const { value, etag } = data;
  return (
    <Page
      title={value.name}
      parents={parents}
      aside={<KindMark kind={value.kind} />}
      description={<CopyText value={slug} label={texts.copySlug} />}
      actions={<Actions category={value} />}
    >
      <Grid>
        <Grid.Col span={{ base: 12, md: 7 }}>
          <Section title={texts.category}>
            <Form key={`${slug} ${filled}`} category={value} etag={etag} refill={refill} />
          </Section>
        </Grid.Col>
        <Grid.Col span={{ base: 12, md: 5 }}>
          <Events slug={slug} name={value.name} />
        </Grid.Col>
      </Grid>
    </Page>
  );
}

function Form({
  category,
  etag,
  refill,
}: {
  category: CategoryData;
  etag: string | null;
  refill: () => Promise<void>;
}) {
  const org = useOrg();
  const refusal = useRefusal()('category:write');
  const editing = useApiForm({
    initialValues: valuesOf(category),
    validate,
    draft: { key: `${org}/categories/${category.slug}`, etag },
    run: (values, headers) =>
      take(
        api.PATCH('/api/o/{org}/categories/{category}/', {
          params: { path: { org, category: category.slug } },
          body: fieldsOf(values),
          headers,
        }),
      ),
    done: texts.saved,
    refresh: ['/api/o/{org}/categories/'],
    onDone: refill,
  });
  return (
    <ApiForm of={editing} isLong submit={texts.save} permission="category:write" reload={refill}>
      <CategoryFields form={editing.form} isNew={false} isDisabled={refusal !== undefined} />
    </ApiForm>
  );
}

/** The built-in category that exists without being created. */
function General({ parents }: { parents: { label: string; to: string }[] }) {
  const org = useOrg();
  const navigate = useNavigate();
  return (
    <Page
      title={texts.general}
      parents={parents}
      aside={<Mark color="gray">{texts.builtIn}</Mark>}
      description={texts.generalHint}
      actions={
        <GuardedButton
          permission="category:write"
          variant="default"
          onClick={() => void navigate(`${to.newCategory(org)}?slug=${generalSlug}`)}
        >
          {texts.customizeGeneral}
        </GuardedButton>
      }
    >
      <Events slug={generalSlug} name={texts.general} />
    </Page>
  );
}

const columns: Column<OrganizationEvent>[] = [
  {
    head: texts.event,
    cell: ({ name, path }) => <NameWithAddress name={name} address={path} />,
  },
  {
    head: texts.inactive,
    hidesHeader: true,
    align: 'right',
    width: 90,
    cell: ({ active }) => active || <Mark color="gray">{texts.inactive}</Mark>,
  },
];

function Events({ slug, name }: { slug: string; name: string }) {
  const org = useOrg();
  const can = useCan();
  const list = useList(pages('/api/o/{org}/event/', { path: { org }, query: { category: slug } }), {
    enabled: can('event:list'),
  });
  return (
    <Section title={texts.events} padded={false}>
      <DataTable
        label={texts.eventsOfCategory(name)}
        list={list}
        columns={columns}
        rowKey={({ path }) => path}
        rowTo={({ path }) => linkToEvent(org, path) ?? to.events(org)}
        empty={
          <Text size="sm" c="dimmed" px="md" pb="md">
            {texts.noEventsInCategory}
          </Text>
        }
      />
    </Section>
  );
}

function Actions({ category: { slug, name } }: { category: CategoryData }) {
  const org = useOrg();
  const navigate = useNavigate();
  const [deleting, setDeleting] = useState(false);
  return (
    <>
      <MoreMenu permission="category:write" onDelete={() => setDeleting(true)} />
      <Deletion
        opened={deleting}
        onClose={() => setDeleting(false)}
        what={texts.theCategory(name)}
        run={({ dryRun }) =>
          take(
            api.DELETE('/api/o/{org}/categories/{category}/', {
              params: { path: { org, category: slug }, query: dryRun ? { dry_run: true } : {} },
            }),
          )
        }
        refresh={['/api/o/{org}/categories/']}
        leaves
        onDeleted={() => void navigate(to.categories(org))}
      >
        {texts.deletionHint}
      </Deletion>
    </>
  );
}
