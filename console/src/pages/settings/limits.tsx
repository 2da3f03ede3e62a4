/** What the organization may take of the installation, and what it has taken. Admins of the instance set it. */
import { Button, Group, NumberInput, Progress, SimpleGrid, Stack, Text } from '@mantine/core';
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { api, take, takeTagged } from '../../api.ts';
import type { Limits as OrganizationLimits } from '../../api-types.ts';
import { ApiForm, useApiForm } from '../../components/api-form.tsx';
import { count } from '../../components/counts.tsx';
import { Failure, Waiting } from '../../components/states.tsx';
import { useOrg } from '../../places.ts';
import { useSession } from '../../session.tsx';

const names = ['triggers_per_second', 'deliveries_per_trigger', 'users', 'stored_messages'] as const;
type Name = (typeof names)[number];

const labels: Record<Name, string> = {
  triggers_per_second: 'Triggers per second',
  deliveries_per_trigger: 'Deliveries per trigger',
  users: 'People',
  stored_messages: 'Stored messages',
};

const meanings: Record<Name, string> = {
  triggers_per_second: 'Per API process. Triggers over the limit get 429 Too Many Requests.',
  deliveries_per_trigger: 'Deliveries over the limit are not sent; the occurrence says so.',
  users: 'No more people can be added.',
  stored_messages: 'At the limit, triggers are refused until older messages are deleted.',
};

export function Limits() {
  const org = useOrg();
  const queries = useQueryClient();
  const { admin } = useSession().account;
  const [editing, setEditing] = useState(false);
  const key = [org, 'limits'];
  const { data, error, refetch } = useQuery({
    queryKey: key,
    queryFn: ({ signal }) => takeTagged(api.GET('/api/o/{org}/limits/', { params: { path: { org } }, signal })),
  });
  if (!data) return error ? <Failure error={error} retry={() => void refetch()} /> : <Waiting />;
  if (editing) {
    const close = () => void queries.refetchQueries({ queryKey: key }).then(() => setEditing(false));
    return <LimitsForm limits={data.value} etag={data.etag} onClose={close} />;
  }
  return (
    <Stack gap="sm">
      <SimpleGrid cols={{ base: 1, xs: 2 }}>
        {names.map(name => (
          <Limit key={name} name={name} limits={data.value} />
        ))}
      </SimpleGrid>
      <Group justify="space-between">
        <Text size="sm" c="dimmed">
          {admin
            ? 'You can change these as an administrator of this installation.'
            : 'Set by the administrator of this installation.'}
        </Text>
        {admin && (
          <Button variant="default" onClick={() => setEditing(true)}>
            Edit limits
          </Button>
        )}
      </Group>
    </Stack>
  );
}

function Limit({ name, limits }: { name: Name; limits: OrganizationLimits }) {
  const limit = limits[name];
  const used = name === 'users' || name === 'stored_messages' ? limits.used[name] : undefined;
  const most = limit === null ? 'No limit' : count(limit);
  const share = used === undefined || limit === null ? undefined : Math.min(100, (100 * used) / limit);
  return (
    <div>
      <Text size="sm" c="dimmed">
        {labels[name]}
      </Text>
      <Text size="sm" className="numbers">
        {used === undefined ? most : limit === null ? `${count(used)}, no limit` : `${count(used)} of ${most}`}
      </Text>
      {share !== undefined && (
        <Progress.Root size="sm" mt={4}>
          <Progress.Section
            value={share}
            color={share >= 100 ? 'red' : share >= 80 ? 'yellow' : undefined}
            aria-label={`${labels[name]}, percentage of the limit`}
          />
        </Progress.Root>
      )}
    </div>
  );
}

interface FormProps {
  limits: OrganizationLimits;
  etag: string | null;
  onClose: () => void;
}

function LimitsForm({ limits, etag, onClose }: FormProps) {
  const org = useOrg();
  const editing = useApiForm({
    initialValues: Object.fromEntries(names.map(name => [name, limits[name] ?? ''])) as Record<Name, number | string>,
    run: values =>
      take(
        api.PATCH('/api/o/{org}/limits/', {
          params: { path: { org } },
          body: Object.fromEntries(names.map(name => [name, values[name] === '' ? null : Number(values[name])])),
          headers: etag ? { 'if-match': etag } : {},
        }),
      ),
    done: 'Saved.',
    onDone: onClose,
  });
  return (
    <ApiForm of={editing} submit="Save limits" cancel={onClose} reload={onClose}>
      {names.map(name => (
        <NumberInput
          key={name}
          label={labels[name]}
          description={meanings[name]}
          placeholder="No limit"
          thousandSeparator=","
          min={1}
          allowDecimal={false}
          clampBehavior="none"
          maw={320}
          {...editing.form.getInputProps(name)}
        />
      ))}
    </ApiForm>
  );
}
