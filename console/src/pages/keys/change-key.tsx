/** What can be changed of a key that exists, and its replacement by a new one. */
import { Button, NumberInput, Select, Stack, TagsInput, Text, TextInput } from '@mantine/core';
import { useState } from 'react';
import { api, take } from '../../api.ts';
import type { Key } from '../../api-types.ts';
import { useAction } from '../../components/actions.tsx';
import { FormButtons, FormFailure, fieldErrors } from '../../components/form.tsx';
import { exactTime } from '../../components/time.tsx';
import { useOrg } from '../../places.ts';
import { Expiry } from './expiry.tsx';
import { ShowKey } from './show-key.tsx';

interface ChangeProps {
  of: Key;
  onClose: () => void;
}

export function EditKey({ of: before, onClose }: ChangeProps) {
  const org = useOrg();
  const [name, setName] = useState(before.name);
  const [expiresAt, setExpiresAt] = useState(before.expires_at);
  const [rate, setRate] = useState(before.requests_per_second);
  const [networks, setNetworks] = useState(before.allowed_networks ?? []);
  const save = useAction({
    run: () =>
      take(
        api.PATCH('/api/o/{org}/k/{key}/', {
          params: { path: { org, key: before.id } },
          body: {
            name,
            expires_at: expiresAt,
            requests_per_second: rate,
            allowed_networks: networks.length > 0 ? networks : null,
          },
        }),
      ),
    done: 'Saved.',
    refresh: [[org, 'keys']],
    onDone: onClose,
    quiet: true,
  });
  const errors = fieldErrors(save.error);
  return (
    <form
      noValidate
      onSubmit={event => {
        event.preventDefault();
        save.mutate(undefined);
      }}
    >
      <Stack gap="sm">
        <TextInput
          label="Name"
          value={name}
          error={errors.name}
          onChange={event => setName(event.currentTarget.value)}
          data-autofocus
        />
        <Expiry value={expiresAt} onChange={setExpiresAt} error={errors.expires_at} />
        <NumberInput
          label="Requests a second"
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
        <FormFailure
          error={save.error}
          shown={['name', 'expires_at', 'requests_per_second', 'allowed_networks']}
          reload={onClose}
        />
        <FormButtons>
          <Button variant="default" onClick={onClose}>
            Cancel
          </Button>
          <Button type="submit" loading={save.isPending}>
            Save
          </Button>
        </FormButtons>
      </Stack>
    </form>
  );
}

const overlaps = [
  { value: '10m', label: '10 minutes' },
  { value: '1h', label: 'An hour' },
  { value: '24h', label: 'A day' },
  { value: '7d', label: 'A week' },
  { value: '30d', label: '30 days' },
];

export function RotateKey({ of: before, onClose }: ChangeProps) {
  const org = useOrg();
  const [overlap, setOverlap] = useState('24h');
  const rotate = useAction({
    run: () =>
      take(api.POST('/api/o/{org}/k/{key}/rotate/', { params: { path: { org, key: before.id } }, body: { overlap } })),
    refresh: [[org, 'keys']],
    quiet: true,
  });
  if (rotate.data) {
    const { key, previous } = rotate.data;
    const { permissions, project, application } = before;
    return (
      <ShowKey secret={key} permissions={permissions} project={project} application={application} onClose={onClose}>
        {previous.expires_at && (
          <Text size="sm" c="dimmed">
            The old key works until {exactTime(previous.expires_at)}. Put the new one in its place before then.
          </Text>
        )}
      </ShowKey>
    );
  }
  return (
    <form
      noValidate
      onSubmit={event => {
        event.preventDefault();
        rotate.mutate(undefined);
      }}
    >
      <Stack gap="sm">
        <Text size="sm">
          You get a new key with the same name, reach and permissions. The old one goes on working for a while, so that
          your programs can change over without a gap.
        </Text>
        <Select
          label="The old one works for"
          data={overlaps}
          value={overlap}
          onChange={value => setOverlap(value ?? '24h')}
          allowDeselect={false}
          error={fieldErrors(rotate.error).overlap}
        />
        <FormFailure error={rotate.error} shown={['overlap']} />
        <FormButtons>
          <Button variant="default" onClick={onClose}>
            Cancel
          </Button>
          <Button type="submit" loading={rotate.isPending}>
            Rotate
          </Button>
        </FormButtons>
      </Stack>
    </form>
  );
}
