/** Adds members from pasted text: anything that looks like an email address is used. */
import { Button, Group, Text, Textarea } from '@mantine/core';
import { ApiError, api, take } from '../../api.ts';
import { FormModal, useApiForm } from '../../components/api-form.tsx';
import { count } from '../../components/counts.tsx';
import { useOrg } from '../../paths.ts';
import { countOf } from '../../texts/count-of.ts';
import { texts } from '../../texts/lists.ts';

/** Extracts the addresses from a text such as `Jane <jane@acme.test>, joe@acme.test; …`. */
export function readAddresses(text: string): string[] {
  const parts = text.split(/[\s,;<>"'()[\]]+/).filter(part => part.includes('@'));
  return [...new Set(parts.map(part => part.replace(/^mailto:/i, '')))];
}

export function AddMembers({ prj, pk, name, close }: { prj: string; pk: number; name: string; close: () => void }) {
  const org = useOrg();
  const adding = useApiForm({
    initialValues: { addresses: '' },
    run: ({ addresses: text }) =>
      take(
        api.POST('/api/o/{org}/p/{prj}/d/{pk}/add/', { params: { path: { org, prj, pk } }, body: readAddresses(text) }),
      ),
    done: ({ added, existing, created_users }) => texts.addedMembers(added, created_users, existing),
    refresh: ['/api/o/{org}/p/{prj}/d/', '/api/o/{org}/u/'],
    onDone: close,
  });
  const { form, action } = adding;
  const addresses = readAddresses(form.values.addresses);
  const refused = refusedBy(action.error, addresses);
  return (
    <FormModal
      of={{ ...adding, action: { isPending: action.isPending, error: refused.length > 0 ? null : action.error } }}
      title={texts.addMembersTo(name)}
      submit={addresses.length > 0 ? texts.addCount(count(addresses.length)) : texts.add}
      size="lg"
      isDisabled={addresses.length === 0}
      close={close}
    >
      <Textarea
        label={texts.emailAddresses}
        description={texts.emailAddressesHint}
        autosize
        minRows={6}
        maxRows={14}
        data-autofocus
        {...form.getInputProps('addresses')}
      />
      <Text size="sm" c="dimmed" aria-live="polite">
        {addresses.length === 0 ? texts.noAddressesYet : countOf(addresses.length, 'address')}
      </Text>
      {refused.length > 0 && (
        <Group gap="xs" role="alert">
          <Text size="sm" c="var(--mantine-color-error)" style={{ overflowWrap: 'anywhere' }}>
            {texts.notValid(refused)}
          </Text>
          <Button
            variant="default"
            onClick={() => {
              form.setFieldValue('addresses', addresses.filter(address => !refused.includes(address)).join('\n'));
              action.reset();
            }}
          >
            {texts.removeInvalidAddresses}
          </Button>
        </Group>
      )}
    </FormModal>
  );
}

/** Returns the rejected addresses; the API names each by its index. */
function refusedBy(error: unknown, addresses: string[]): string[] {
  if (!(error instanceof ApiError)) return [];
  return Object.keys(error.errors).flatMap(field => addresses[Number(/^\d+$/.exec(field)?.[0] ?? Number.NaN)] ?? []);
}
