/** Members by pasting: whatever looks like an address is taken, with whatever between. */
import { Button, Group, Stack, Text, Textarea } from '@mantine/core';
import { useState } from 'react';
import { ApiError, api, take } from '../../api.ts';
import { useAction } from '../../components/actions.tsx';
import { count } from '../../components/counts.tsx';
import { FormButtons, FormFailure } from '../../components/form.tsx';
import { useOrg } from '../../places.ts';
import { listKey } from './list-key.ts';

/** `Jane <jane@acme.test>, joe@acme.test; …` */
export function readAddresses(text: string): string[] {
  const parts = text.split(/[\s,;<>"'()[\]]+/).filter(part => part.includes('@'));
  return [...new Set(parts.map(part => part.replace(/^mailto:/i, '')))];
}

export function AddMembers({ prj, pk, onClose }: { prj: string; pk: number; onClose: () => void }) {
  const org = useOrg();
  const [text, setText] = useState('');
  const addresses = readAddresses(text);
  const add = useAction({
    run: () =>
      take(api.POST('/api/o/{org}/p/{prj}/d/{pk}/add/', { params: { path: { org, prj, pk } }, body: addresses })),
    done: ({ added, existing, created_users }) =>
      `${count(added)} added (${count(created_users)} of them new people), ${count(existing)} were members already.`,
    refresh: [listKey(org, prj, pk), [org, 'users']],
    onDone: onClose,
    quiet: true,
  });
  const refused = refusedBy(add.error, addresses);
  return (
    <form
      noValidate
      onSubmit={event => {
        event.preventDefault();
        if (addresses.length > 0) add.mutate(undefined);
      }}
    >
      <Stack gap="sm">
        <Textarea
          label="Email addresses"
          description="Paste them from anywhere: a column, a line, a mail's recipients. Unknown ones become people."
          autosize
          minRows={6}
          maxRows={14}
          value={text}
          onChange={event => setText(event.currentTarget.value)}
          data-autofocus
        />
        <Text size="sm" c="dimmed" aria-live="polite">
          {addresses.length === 0 ? 'No address yet' : `${count(addresses.length)} addresses`}
        </Text>
        {refused.length > 0 ? (
          <Group gap="xs" role="alert">
            <Text size="sm" c="var(--mantine-color-error)" style={{ overflowWrap: 'anywhere' }}>
              Not valid: {refused.slice(0, 10).join(', ')}
              {refused.length > 10 && ` and ${refused.length - 10} more`}. Nobody was added.
            </Text>
            <Button
              variant="default"
              onClick={() => {
                setText(addresses.filter(address => !refused.includes(address)).join('\n'));
                add.reset();
              }}
            >
              Take those out
            </Button>
          </Group>
        ) : (
          <FormFailure error={add.error} />
        )}
        <FormButtons>
          <Button variant="default" onClick={onClose}>
            Cancel
          </Button>
          <Button type="submit" loading={add.isPending} disabled={addresses.length === 0}>
            {addresses.length > 0 ? `Add ${count(addresses.length)}` : 'Add'}
          </Button>
        </FormButtons>
      </Stack>
    </form>
  );
}

/** The service names each bad address by its index. */
function refusedBy(error: unknown, addresses: string[]): string[] {
  if (!(error instanceof ApiError)) return [];
  return Object.keys(error.errors).flatMap(field => addresses[Number(/^\d+$/.exec(field)?.[0] ?? Number.NaN)] ?? []);
}
