import { Button, NumberInput, Select, SimpleGrid, Stack, TagsInput, TextInput } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { api, take } from '../../api.ts';
import { useAction } from '../../components/actions.tsx';
import { FormButtons, FormFailure, fieldErrors } from '../../components/form.tsx';
import { useProjects } from '../../components/switchers.tsx';
import { useOrg, useProject } from '../../places.ts';
import { useOrganization } from '../../session.tsx';
import { Expiry } from './expiry.tsx';
import { PermissionPicker } from './permission-picker.tsx';
import { ShowKey } from './show-key.tsx';

const fields = [
  'name',
  'permissions',
  'project',
  'application',
  'expires_at',
  'requests_per_second',
  'allowed_networks',
];

export function NewKey({ onClose }: { onClose: () => void }) {
  const org = useOrg();
  const [chosen] = useProject();
  const { data: projects = [] } = useProjects();
  const own = useOrganization()?.permissions ?? [];
  const grantable = own.filter(permission => permission !== '*');
  const [name, setName] = useState('');
  const [permissions, setPermissions] = useState<string[]>(() => grantable.filter(each => each === 'event:trigger'));
  const [project, setProject] = useState<string | null>(chosen ?? null);
  const [application, setApplication] = useState<string | null>(null);
  const [expiresAt, setExpiresAt] = useState<string | null>(null);
  const [rate, setRate] = useState<number | null>(null);
  const [networks, setNetworks] = useState<string[]>([]);
  const applications = useQuery({
    queryKey: [org, 'applications', project],
    enabled: project !== null,
    queryFn: ({ signal }) =>
      take(api.GET('/api/o/{org}/p/{prj}/a/', { params: { path: { org, prj: project! } }, signal })),
  });
  const create = useAction({
    run: () =>
      take(
        api.POST('/api/o/{org}/k/', {
          params: { path: { org } },
          body: {
            name,
            permissions,
            expires_at: expiresAt,
            requests_per_second: rate,
            allowed_networks: networks.length > 0 ? networks : null,
            ...(project && { project }),
            ...(project && application && { application }),
          },
        }),
      ),
    refresh: [[org, 'keys']],
    quiet: true,
  });
  const errors = fieldErrors(create.error);
  const wrong = Object.entries(errors).find(([field]) => field.startsWith('permissions'))?.[1];
  if (create.data) {
    const scope = { project, application };
    return <ShowKey secret={create.data.key} permissions={permissions} {...scope} onClose={onClose} />;
  }
  return (
    <form
      noValidate
      onSubmit={event => {
        event.preventDefault();
        create.mutate(undefined);
      }}
    >
      <Stack gap="sm">
        <TextInput
          label="Name"
          description="Who will use it: it stands in the audit log."
          withAsterisk
          value={name}
          error={errors.name}
          onChange={event => setName(event.currentTarget.value)}
          data-autofocus
        />
        <SimpleGrid cols={{ base: 1, xs: 2 }}>
          <Select
            label="Reaches"
            data={[
              { value: '', label: 'The whole organization' },
              ...projects.map(({ slug, name: label }) => ({ value: slug, label: `Project ${label}` })),
            ]}
            value={project ?? ''}
            error={errors.project}
            onChange={value => {
              setProject(value || null);
              setApplication(null);
            }}
            allowDeselect={false}
          />
          <Select
            label="Of it"
            disabled={project === null}
            data={[
              { value: '', label: 'All applications' },
              ...(applications.data ?? []).map(({ slug, name: label }) => ({ value: slug, label })),
            ]}
            value={application ?? ''}
            error={errors.application}
            onChange={value => setApplication(value || null)}
            allowDeselect={false}
          />
        </SimpleGrid>
        <PermissionPicker grantable={grantable} value={permissions} onChange={setPermissions} error={wrong} />
        <Expiry value={expiresAt} onChange={setExpiresAt} error={errors.expires_at} />
        <NumberInput
          label="Requests a second"
          description="Beyond that, it is told to wait."
          placeholder="No limit"
          min={1}
          allowDecimal={false}
          clampBehavior="none"
          value={rate ?? ''}
          error={errors.requests_per_second}
          onChange={value => setRate(value === '' ? null : Number(value))}
        />
        <TagsInput
          label="Allowed addresses"
          description="Addresses and networks it may be used from, such as 203.0.113.7 or 10.0.0.0/8."
          placeholder={networks.length === 0 ? 'Anywhere' : ''}
          value={networks}
          error={Object.entries(errors).find(([field]) => field.startsWith('allowed_networks'))?.[1]}
          onChange={setNetworks}
          splitChars={[',', ' ']}
        />
        <FormFailure error={create.error} shown={fields} />
        <FormButtons>
          <Button variant="default" onClick={onClose}>
            Cancel
          </Button>
          <Button type="submit" loading={create.isPending} disabled={permissions.length === 0}>
            Create key
          </Button>
        </FormButtons>
      </Stack>
    </form>
  );
}
