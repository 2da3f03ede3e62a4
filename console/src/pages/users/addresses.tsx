/** A user's addresses. */
import { Anchor, Autocomplete, Box, Group, Text, TextInput } from '@mantine/core';
import { IconTrash, IconX } from '@tabler/icons-react';
import { useState } from 'react';
import { Link } from 'react-router';
import { api, take } from '../../api.ts';
import type { WholeAddress } from '../../api-types.ts';
import { GuardedButton, useAction } from '../../components/actions.tsx';
import { ApiForm, useApiForm } from '../../components/api-form.tsx';
import { type Column, DataTable } from '../../components/data-table.tsx';
import { Deletion } from '../../components/deletion.tsx';
import { GuardedIcon, GuardedSwitch } from '../../components/guarded.tsx';
import { Mark } from '../../components/mark.tsx';
import { Section } from '../../components/page.tsx';
import { TimeAgo } from '../../components/time.tsx';
import { useList } from '../../components/use-list.ts';
import { to, useOrg } from '../../paths.ts';
import { pages } from '../../queries.ts';
import { texts } from '../../texts/users.ts';
import { Verification } from './verification.tsx';

const types = ['email', 'phone', 'sms', 'slack', 'telegram', 'chat', 'webhook', 'webpush'];

export function Addresses({ username }: { username: string }) {
  const org = useOrg();
  const [adding, setAdding] = useState(false);
  const path = { org, username };
  const list = useList(pages('/api/o/{org}/u/{username}/addresses/', { path }));
  const enable = useAction({
    run: ({ address, enabled }: { address: WholeAddress; enabled: boolean }) =>
      take(
        api.PATCH('/api/o/{org}/u/{username}/addresses/{address}/', {
          params: { path: { ...path, address: address.id } },
          body: { enabled },
        }),
      ),
    done: (_, { address, enabled }) =>
      enabled ? texts.enabledAddress(address.value) : texts.disabledAddress(address.value),
    refresh: ['/api/o/{org}/u/{username}/addresses/'],
  });
  const unverify = useAction({
    run: ({ id }: WholeAddress) =>
      take(
        api.PATCH('/api/o/{org}/u/{username}/addresses/{address}/', {
          params: { path: { ...path, address: id } },
          body: { verified: false },
        }),
      ),
    done: ({ value }) => texts.unverifiedAddress(value),
    refresh: ['/api/o/{org}/u/{username}/addresses/'],
  });
  const [removed, setRemoved] = useState<WholeAddress>();
  const [verifying, setVerifying] = useState<WholeAddress>();
  const columns: Column<WholeAddress>[] = [
    { head: texts.type, cell: ({ name }) => name, width: 70, from: 'xs' },
    {
      head: texts.address,
      cell: ({ name, value, disabled_at, disabled_reason, suppression }) => (
        <>
          <span style={{ overflowWrap: 'anywhere' }}>{value}</span>
          <Text size="xs" c="dimmed" hiddenFrom="xs">
            {name}
          </Text>
          {disabled_at && (
            <Group gap={6}>
              <Mark color="gray" meaning={texts.disabledMeaning}>
                {texts.disabled}
              </Mark>
              <Text size="xs" c="dimmed">
                {disabled_reason && `${disabled_reason}, `}
                <TimeAgo at={disabled_at} />
              </Text>
            </Group>
          )}
          {suppression && (
            <Group gap={6}>
              {suppression.projects ? (
                <Mark color="yellow" meaning={texts.suppressedInMeaning}>
                  {texts.suppressedIn(suppression.projects.join(', '))}
                </Mark>
              ) : (
                <Mark color="red" meaning={texts.suppressedMeaning}>
                  {texts.suppressed}
                </Mark>
              )}
              <Anchor component={Link} to={to.suppressions(org, suppression.target)} size="xs">
                {texts.suppressedBecause(suppression.reason, suppression.source)}
                <TimeAgo at={suppression.since} />
              </Anchor>
            </Group>
          )}
        </>
      ),
    },
    {
      head: texts.verified,
      cell: address =>
        address.verified_at ? (
          <Group gap={6} wrap="nowrap">
            <Mark color="teal" meaning={texts.verifiedMeaning}>
              {texts.verified}
            </Mark>
            <GuardedIcon
              permission="user:write"
              label={texts.unverify(address.value)}
              onClick={() => unverify.mutate(address)}
            >
              <IconX size={15} stroke={1.6} />
            </GuardedIcon>
          </Group>
        ) : (
          <GuardedButton
            permission="user:write"
            variant="default"
            size="compact-sm"
            aria-label={texts.verifyAddress(address.value)}
            onClick={() => setVerifying(address)}
          >
            {texts.verify}
          </GuardedButton>
        ),
    },
    {
      head: texts.enabled,
      width: 80,
      cell: address => (
        <GuardedSwitch
          permission="user:write"
          label={texts.sendTo(address.value)}
          checked={address.disabled_at === null}
          onChange={enabled => enable.mutate({ address, enabled })}
        />
      ),
    },
    {
      head: texts.remove,
      hidesHeader: true,
      width: 40,
      align: 'right',
      cell: address => (
        <GuardedIcon
          permission="user:write"
          label={texts.removeAddress(address.value)}
          onClick={() => setRemoved(address)}
        >
          <IconTrash size={15} stroke={1.6} />
        </GuardedIcon>
      ),
    },
  ];
  return (
    <Section
      title={texts.addresses}
      padded={false}
      aside={
        <GuardedButton permission="user:write" variant="default" onClick={() => setAdding(!adding)}>
          {adding ? texts.done : texts.addAddress}
        </GuardedButton>
      }
    >
      {adding && <NewAddress username={username} />}
      <DataTable
        label={texts.addresses}
        list={list}
        columns={columns}
        rowKey={({ id }) => id}
        empty={
          <Text size="sm" c="dimmed" px="md" pb="md">
            {texts.noAddressesHint}
          </Text>
        }
      />
      {verifying && <Verification username={username} address={verifying} close={() => setVerifying(undefined)} />}
      <Deletion
        opened={removed !== undefined}
        onClose={() => setRemoved(undefined)}
        what={texts.theAddress(removed?.value ?? '')}
        run={({ dryRun }) =>
          take(
            api.DELETE('/api/o/{org}/u/{username}/addresses/{address}/', {
              params: {
                path: { ...path, address: removed!.id },
                query: { cascade: true, ...(dryRun && { dry_run: true }) },
              },
            }),
          )
        }
        refresh={['/api/o/{org}/u/{username}/']}
        onDeleted={() => {}}
      >
        {texts.removeAddressHint}
      </Deletion>
    </Section>
  );
}

function NewAddress({ username }: { username: string }) {
  const org = useOrg();
  const adding = useApiForm({
    initialValues: { name: 'phone', value: '' },
    run: body => take(api.POST('/api/o/{org}/u/{username}/address/', { params: { path: { org, username } }, body })),
    done: added => texts.addedAddress(added.value),
    refresh: ['/api/o/{org}/u/{username}/'],
    onDone: (): void => form.setFieldValue('value', ''),
  });
  const { form } = adding;
  return (
    <Box px="md" pb="md">
      <ApiForm of={adding} submit={texts.add} label={texts.addAddress}>
        <Group align="flex-start" gap="xs">
          <Autocomplete
            label={texts.type}
            data={types}
            w={140}
            // The options are suggestions; any name is allowed.
            filter={({ options }) => options}
            {...form.getInputProps('name')}
          />
          <TextInput
            label={texts.address}
            placeholder={/^(phone|sms)/.test(form.values.name) ? '+15555550100' : undefined}
            flex={1}
            miw={200}
            {...form.getInputProps('value')}
          />
        </Group>
      </ApiForm>
    </Box>
  );
}
