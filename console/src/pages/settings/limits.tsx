/** Limits of the organization and their current use. Instance admins set them. */
import { Button, Group, NumberInput, Progress, SimpleGrid, Stack, Text } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { api, take } from '../../api.ts';
import type { Limits as OrganizationLimits } from '../../api-types.ts';
import { ApiForm, useApiForm } from '../../components/api-form.tsx';
import { count } from '../../components/counts.tsx';
import { Pending } from '../../components/pending.tsx';
import { useOrg } from '../../paths.ts';
import { readTagged } from '../../queries.ts';
import { useSession } from '../../session.tsx';
import { texts } from '../../texts/settings.ts';

const names = [
  'triggers_per_second',
  'deliveries_per_trigger',
  'users',
  'stored_messages',
  'attachment_bytes',
] as const;
type Name = (typeof names)[number];

const labels: Record<Name, string> = {
  triggers_per_second: texts.triggersPerSecond,
  deliveries_per_trigger: texts.deliveriesPerTrigger,
  users: texts.users,
  stored_messages: texts.storedMessages,
  attachment_bytes: texts.attachmentBytes,
};

const meanings: Record<Name, string> = {
  triggers_per_second: texts.triggersPerSecondHint,
  deliveries_per_trigger: texts.deliveriesPerTriggerHint,
  users: texts.usersHint,
  stored_messages: texts.storedMessagesHint,
  attachment_bytes: texts.attachmentBytesHint,
};

export function Limits() {
  const org = useOrg();
  const { admin } = useSession().account;
  const [editing, setEditing] = useState(false);
  const { data, error, refetch } = useQuery({
    ...readTagged('/api/o/{org}/limits/', { path: { org } }),
  });
  if (!data) return <Pending query={{ error, refetch }} />;
  if (editing) {
    const close = () => void refetch().then(() => setEditing(false));
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
          {admin ? texts.editLimitsHint : texts.limitsHint}
        </Text>
        {admin && (
          <Button variant="default" onClick={() => setEditing(true)}>
            {texts.editLimits}
          </Button>
        )}
      </Group>
    </Stack>
  );
}

function Limit({ name, limits }: { name: Name; limits: OrganizationLimits }) {
  const limit = limits[name];
  const used = name in limits.used ? limits.used[name as keyof typeof limits.used] : undefined;
  const most = limit === null ? texts.noLimit : count(limit);
  const share = used === undefined || limit === null ? undefined : Math.min(100, (100 * used) / Math.max(1, limit));
  return (
    <div>
      <Text size="sm" c="dimmed">
        {labels[name]}
      </Text>
      <Text size="sm" className="numbers">
        {used === undefined
          ? most
          : limit === null
            ? texts.usedWithoutLimit(count(used))
            : texts.usedOfLimit(count(used), most)}
      </Text>
      {share !== undefined && (
        <Progress.Root size="sm" mt={4}>
          <Progress.Section
            value={share}
            color={share >= 100 ? 'red' : share >= 80 ? 'yellow' : undefined}
            aria-label={texts.percentageOfLimit(labels[name])}
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
    draft: { key: `${org}/limits`, etag },
    run: (values, headers) =>
      take(
        api.PATCH('/api/o/{org}/limits/', {
          params: { path: { org } },
          body: Object.fromEntries(names.map(name => [name, values[name] === '' ? null : Number(values[name])])),
          headers,
        }),
      ),
    done: texts.saved,
    onDone: onClose,
  });
  return (
    <ApiForm of={editing} submit={texts.saveLimits} cancel={onClose} reload={onClose}>
      {names.map(name => (
        <NumberInput
          key={name}
          label={labels[name]}
          description={meanings[name]}
          placeholder={texts.noLimit}
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
