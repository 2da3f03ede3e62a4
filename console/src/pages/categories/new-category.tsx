import { Box } from '@mantine/core';
import { useNavigate, useSearchParams } from 'react-router';
import { api, take } from '../../api.ts';
import { generalSlug } from '../../categories.ts';
import { ApiForm, useApiForm } from '../../components/api-form.tsx';
import { Page, Section } from '../../components/page.tsx';
import { slugFrom } from '../../components/slug.ts';
import { to, useOrg } from '../../paths.ts';
import { useRefusal } from '../../session.tsx';
import { texts } from '../../texts/preferences.ts';
import { CategoryFields } from './category-fields.tsx';
import { fieldsOf, newCategory, validate } from './category-values.ts';

export default function NewCategory() {
  const org = useOrg();
  const navigate = useNavigate();
  const refusal = useRefusal()('category:write');
  const [search] = useSearchParams();
  const slug = search.get('slug') ?? '';
  const creating = useApiForm({
    initialValues: { ...newCategory, slug, name: slug === generalSlug ? texts.general : '' },
    validate,
    run: values => {
      const { channels, ...fields } = fieldsOf(values);
      const body = { ...fields, slug: values.slug || slugFrom(values.name), ...(channels && { channels }) };
      return take(api.POST('/api/o/{org}/categories/', { params: { path: { org } }, body }));
    },
    done: ({ name }) => texts.createdCategory(name),
    refresh: ['/api/o/{org}/categories/'],
    onDone: created => void navigate(to.category(org, created.slug)),
  });
  return (
    <Page title={texts.newCategory} parents={[{ label: texts.categories, to: to.categories(org) }]}>
      <Box maw={720}>
        <Section title={texts.category}>
          <ApiForm
            of={creating}
            isLong
            submit={texts.createCategory}
            permission="category:write"
            cancel={() => void navigate(to.categories(org))}
            isDisabled={creating.form.values.name.trim() === ''}
          >
            <CategoryFields form={creating.form} isNew isDisabled={refusal !== undefined} />
          </ApiForm>
        </Section>
      </Box>
    </Page>
  );
}
