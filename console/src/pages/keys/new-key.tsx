import { Select, SimpleGrid, TextInput } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { api, take } from '../../api.ts';
import { FormModal, useApiForm } from '../../components/api-form.tsx';
import { useProjects } from '../../components/switchers.tsx';
import { useOrg, useProject } from '../../paths.ts';
import { read } from '../../queries.ts';
import { useOrganization } from '../../session.tsx';
import { texts } from '../../texts/keys.ts';
import { KeyFields, rulesToSend } from './key-fields.tsx';
import { PermissionPicker } from './permission-picker.tsx';
import { ShowKey } from './show-key.tsx';

export function NewKey({ close, name = '' }: { close: () => void; name?: string }) {
  const org = useOrg();
  const [chosen] = useProject();
  const { data: projects = [] } = useProjects();
  const own = useOrganization()?.permissions ?? [];
  const grantable = own.filter(permission => permission !== '*');
  const creating = useApiForm({
    initialValues: {
      name,
      permissions: grantable.filter(each => each === 'event:trigger') as string[],
      project: chosen ?? '',
      application: '',
      expires_at: null as string | null,
      requests_per_second: null as number | null,
      allowed_networks: [] as string[],
    },
    run: ({ name, permissions, project, application, ...rules }) =>
      take(
        api.POST('/api/o/{org}/k/', {
          params: { path: { org } },
          body: {
            name,
            permissions,
            ...rulesToSend(rules),
            ...(project && { project }),
            ...(project && application && { application }),
          },
        }),
      ),
    refresh: ['/api/o/{org}/k/'],
  });
  const { form, action } = creating;
  const { permissions, project, application } = form.values;
  const applications = useQuery({
    ...read('/api/o/{org}/p/{prj}/a/', { path: { org, prj: project } }),
    enabled: project !== '',
  });
  const wrong = Object.entries(form.errors).find(([field]) => field.startsWith('permissions'))?.[1];
  return (
    <FormModal
      of={creating}
      title={texts.newKey}
      submit={texts.createKey}
      size="lg"
      isDisabled={permissions.length === 0}
      close={close}
      result={
        action.data && (
          <ShowKey
            secret={action.data.key}
            permissions={permissions}
            project={project}
            application={application}
            onClose={close}
          />
        )
      }
    >
      <TextInput
        label={texts.name}
        description={texts.nameHint}
        withAsterisk
        data-autofocus
        {...form.getInputProps('name')}
      />
      <SimpleGrid cols={{ base: 1, xs: 2 }}>
        <Select
          label={texts.scope}
          data={[
            { value: '', label: texts.wholeOrganization },
            ...projects.map(({ slug, name: label }) => ({ value: slug, label: texts.project(label) })),
          ]}
          allowDeselect={false}
          {...form.getInputProps('project')}
          onChange={value => form.setValues({ project: value ?? '', application: '' })}
        />
        <Select
          label={texts.application}
          disabled={project === ''}
          data={[
            { value: '', label: texts.allApplications },
            ...(applications.data ?? []).map(({ slug, name: label }) => ({ value: slug, label })),
          ]}
          allowDeselect={false}
          {...form.getInputProps('application')}
        />
      </SimpleGrid>
      <PermissionPicker
        grantable={grantable}
        value={permissions}
        onChange={value => form.setFieldValue('permissions', value)}
        error={wrong as string | undefined}
      />
      <KeyFields form={form} />
    </FormModal>
  );
}
